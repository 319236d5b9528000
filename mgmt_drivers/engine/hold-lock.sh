#!/bin/bash
# Hold the lock $1 until the connection ends, which is the end of the input; $2 tells who does. Whom
# another leaves waiting for more than $3 seconds is told who that is: exit status 75.
# When the other machine dies nobody ends the connection: the kernel gives up some minutes after
# the next line that it cannot deliver.
# shellcheck disable=SC2174 # the folders above it are there, or are nobody else's
mkdir -p -m 0755 "${1%/*}" || exit
exec 9>>"$1" || exit
if ! flock --timeout "$3" 9; then
    cat "$1" >&2
    exit 75
fi
printf '%s\n' "$2" >"$1"
echo held
while read -r -t 30 _ || [ $? -gt 128 ]; do
    echo
done
