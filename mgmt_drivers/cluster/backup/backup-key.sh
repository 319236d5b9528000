#!/bin/sh
# Make the key pair $1 of this node, unless it is there, and print the public half. The node logs in to
# the storage server with it, and signs backups.
set -e
umask 077
if [ ! -s "$1.pub" ] || [ ! -s "$1" ]; then
    rm -f "$1" "$1.pub"
    ssh-keygen -q -t ed25519 -N '' -C '' -f "$1"
fi
cat "$1.pub"
