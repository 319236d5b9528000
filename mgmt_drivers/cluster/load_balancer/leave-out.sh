#!/bin/bash
# Tell HAProxy at its socket $2 about the apiserver of the control-plane node $3:
#   out SOCKET NAME STATE  send it no new connection; the state maint also ends those that it has, and
#                          drain keeps them. An apiserver beside which no other one is up stays
#   in SOCKET NAME         send it connections again, if it is ready
#   guard SOCKET           let each one in again when the connection ends, which ends the input; the
#                          lines that it writes notice a client whose host has died
# A HAProxy of earlier drivers has no socket: nothing is left out.
set -euo pipefail
verb=$1 socket=$2
[ -S "$socket" ] || exit 0

ask() {
    python3 -c 'import socket, sys
with socket.socket(socket.AF_UNIX) as connection:
    connection.settimeout(10)
    connection.connect(sys.argv[1])
    connection.sendall(sys.argv[2].encode() + b"\n")
    sys.stdout.writelines(connection.makefile())' "$socket" "$1"
}

# The apiservers besides HAProxy's lines on the whole, with their states.
list() {
    ask "show stat" | awk -F, '$1 == "apiservers" && $2 != "BACKEND" { print $2, $18 }'
}

case $verb in
out)
    if list | awk -v name="$3" '$1 != name && $2 == "UP" { found = 1 } END { exit !found }'; then
        ask "set server apiservers/$3 state $4"
        [ "$4" != maint ] || ask "shutdown sessions server apiservers/$3"
    fi
    ;;
in) ask "set server apiservers/$3 state ready" ;;
guard)
    trap '' PIPE
    echo guarding
    while read -r -t 30 _ || [ $? -gt 128 ]; do
        echo || break
    done
    exec >/dev/null 2>&1
    for name in $(list | cut -d " " -f 1); do
        ask "set server apiservers/$name state ready"
    done
    ;;
esac
