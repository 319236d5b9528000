#!/bin/sh
# Write standard input to the file $1 in folder $2, with mode $3; $4 is its length in bytes.
# One command, so that a connection that breaks leaves the old file or the new one. The content
# is never readable by others before it has its mode. Its length tells whether all of it came:
# the end of a connection is also the end of the input.
set -e
umask 077
# shellcheck disable=SC2174 # the folders above it are there, or are nobody else's
mkdir -p -m 0755 "$2"
new=$(mktemp "$1.XXXXXX")
trap 'rm -f "$new"' EXIT
cat >"$new"
test "$(stat -c %s "$new")" -eq "$4"
chmod "$3" "$new"
mv "$new" "$1"
