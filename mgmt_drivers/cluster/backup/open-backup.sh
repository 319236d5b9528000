#!/bin/bash
# Decrypt the data of the backup of etcd in the file $1 into the file $2, by the password on standard
# input, and remove the encrypted file.
set -euo pipefail
umask 077
trap 'rm -f "$2.part"' EXIT
exec 3<&0
tar --extract --to-stdout --occurrence=1 --file "$1" data.enc |
    openssl enc -d -aes-256-cbc -pbkdf2 -md sha256 -pass fd:3 -out "$2.part"
mv "$2.part" "$2"
rm -f "$1"
