#!/bin/bash
# Print the metadata of the backup of etcd in the file $1; fail if the file is not complete.
set -euo pipefail
gzip --test "$1"
tar --extract --gzip --to-stdout --file "$1" metadata.json
