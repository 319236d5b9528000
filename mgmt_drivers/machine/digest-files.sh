#!/bin/sh
# Print SHA-256 and mode of each file; fail at the first missing file.
set -e
for file; do
    sha256sum <"$file"
    stat -c %a "$file"
done
