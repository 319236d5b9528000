#!/bin/bash
# Print what the backup of etcd in the file $1 says of itself, when it is whole.
set -euo pipefail
gzip --test "$1"
tar --extract --gzip --to-stdout --file "$1" metadata.json
