#!/bin/sh
# Create the folder $1. If it belongs to root and is empty, give it to the user and group $2.
# A client may have replaced the folder by a link: the link's target is not changed.
set -e
mkdir -p "$1"
content=$(find "$1" -mindepth 1 -maxdepth 1 ! -name lost+found -print -quit)
if [ -z "$content" ] && [ "$(stat -c %u "$1")" = 0 ]; then
    chown -h "$2" "$1"
fi
