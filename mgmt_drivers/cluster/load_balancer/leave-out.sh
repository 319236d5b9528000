#!/bin/bash
# Tell HAProxy at its socket $2 about the apiserver of the control-plane node $3:
#   guard SOCKET LOCK      let each one in again, in the background, when the operation's LOCK is
#                          free: however its connection ends
#   out SOCKET NAME STATE  send it no new connection; the state maint also ends those that it has, and
#                          drain keeps them
#   in SOCKET [NAME]       send it, or each one, connections again, if it is ready
# Exit status 1 without a word: there is nothing to tell. A HAProxy of earlier drivers has no socket,
# and the last apiserver that is up stays in.
set -euo pipefail
verb=$1 socket=$2
[ -S "$socket" ] || exit 1

ask() {
    python3 -c 'import socket, sys
try:
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(10)
        connection.connect(sys.argv[1])
        connection.sendall(sys.argv[2].encode() + b"\n")
        sys.stdout.writelines(connection.makefile())
except OSError as error:
    sys.exit(f"no answer at {sys.argv[1]}: {error}")' "$socket" "$1"
}

# HAProxy says nothing but an empty line, or else why it does not obey.
tell() {
    local complaint
    complaint=$(ask "$1")
    [ -z "$complaint" ] || { echo "$1: $complaint" >&2 && exit 1; }
}

# The apiservers besides HAProxy's lines on the whole, with their states.
list() {
    ask "show stat" | awk -F, '$1 == "apiservers" && $2 != "BACKEND" { print $2, $18 }'
}

known=$(list)
case $verb in
guard)
    # The lock has an SSH session for as long as the operation; sshd may allow no other one.
    setsid --fork flock "$3" bash -c "$BASH_EXECUTION_STRING" leave-out in "$socket" \
        </dev/null >/dev/null 2>&1
    ;;
out)
    awk -v name="$3" '$1 != name && $2 == "UP" { found = 1 } END { exit !found }' <<<"$known"
    tell "set server apiservers/$3 state $4"
    [ "$4" != maint ] || tell "shutdown sessions server apiservers/$3"
    ;;
in)
    for name in ${3:-$(cut -d " " -f 1 <<<"$known")}; do
        tell "set server apiservers/$name state ready"
    done
    ;;
esac
