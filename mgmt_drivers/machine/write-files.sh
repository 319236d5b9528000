#!/bin/sh
# Write the files that standard input holds one behind another. The arguments are three words for
# each: path, mode, and length in bytes. A connection that breaks leaves each file as it was or as it
# is to be: the end of a connection is also the end of the input, and the length tells whether all of
# it came. The content is never readable by others before it has its mode.
set -e
umask 077
new=
trap 'rm -f "$new"' EXIT
while [ $# -gt 0 ]; do
    # shellcheck disable=SC2174 # the folders above it are there, or are nobody else's
    mkdir -p -m 0755 "${1%/*}"
    new=$(mktemp "$1.XXXXXX")
    head -c "$3" >"$new"
    test "$(stat -c %s "$new")" -eq "$3"
    chmod "$2" "$new"
    if cmp -s "$new" "$1" && [ "$(stat -c %a "$new")" = "$(stat -c %a "$1")" ]; then
        rm "$new"
    else
        mv "$new" "$1"
    fi
    shift 3
done
