#!/bin/sh
# Create the folder $1. If it belongs to root and is empty, give it the mode $3, and to the user and
# group $2. A client may replace the folder by a link at any time: the link's target stays as it is.
set -e
umask 022 # users of the folder pass through the folders above
mkdir -p "$1"
cd "$1"
[ "$(stat -c %d:%i "$1")" = "$(stat -c %d:%i .)" ] || exit 0
content=$(find . -mindepth 1 -maxdepth 1 ! -name lost+found -print -quit)
if [ -z "$content" ] && [ "$(stat -c %u .)" = 0 ]; then
    chmod "$3" .
    chown "$2" .
fi
