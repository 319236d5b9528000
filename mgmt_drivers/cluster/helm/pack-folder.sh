#!/bin/bash
# Print the content of the folder $1 as a tar.gz in base64; nothing if the folder is missing or
# empty. Files whose names match the optional pattern $2 are left out.
set -e -o pipefail
[ -d "$1" ] || exit 0
cd -- "$1"
[ -z "$(ls -A)" ] || tar -cz ${2:+--exclude="$2"} . | base64 -w 0
