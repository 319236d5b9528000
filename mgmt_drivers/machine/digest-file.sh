#!/bin/sh
# Print SHA-256 and mode of the file $1.
sha256sum <"$1" && stat -c %a "$1"
