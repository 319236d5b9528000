#!/bin/bash
# Hold the lock $1 for the operation $2 until the connection ends, which ends the input. If another
# operation holds the lock for more than $3 seconds, print that operation; exit status 75.
# If the client's host dies, nothing ends the connection: the kernel closes it some minutes after
# the next line that it cannot deliver.
# shellcheck disable=SC2174 # the folders above exist, or belong to the drivers alone
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
