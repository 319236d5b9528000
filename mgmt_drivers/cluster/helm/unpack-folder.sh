#!/bin/bash
# Unpack the output of pack-folder.sh, $2 bytes on standard input, into the folder $1.
set -e -o pipefail
umask 022
mkdir -p -- "$1"
new=$(mktemp)
trap 'rm -f "$new"' EXIT
cat >"$new"
test "$(stat -c %s "$new")" -eq "$2"
base64 -d <"$new" | tar -xz --no-same-permissions -C "$1"
