#!/bin/bash
# Print what the backup of etcd in the file $1 says of itself, if it is whole: its manifest, the
# manifest's signature and the encrypted password, each as one line of base64, and the SHA-256 of its
# data.
set -euo pipefail
limit=65536 # bytes of a part
ulimit -v 500000 # the name of a member may be as large as the file
part() {
    tar --extract --to-stdout --occurrence=1 --file "$1" "$2" | head --bytes="$limit"
}
for name in manifest.json manifest.json.sig password.enc; do
    part "$1" "$name" | base64 --wrap=0
    echo
done
tar --extract --to-stdout --occurrence=1 --file "$1" data.enc | sha256sum | cut -d ' ' -f 1
