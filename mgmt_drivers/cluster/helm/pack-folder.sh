#!/bin/bash
# Print what the folder $1 has, as a tar.gz in base64; nothing where there is none. Left out are
# the files whose names match the pattern $2, if there is one.
set -e -o pipefail
[ -d "$1" ] || exit 0
cd -- "$1"
[ -z "$(ls -A)" ] || tar -cz ${2:+--exclude="$2"} . | base64 -w 0
