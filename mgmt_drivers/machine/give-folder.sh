#!/bin/sh
# Make the folder $1. While it is root's and has nothing in it, give it to the user and group $2.
# Clients may have put a link in its place: what that leads to is not touched.
set -e
mkdir -p "$1"
content=$(find "$1" -mindepth 1 -maxdepth 1 ! -name lost+found -print -quit)
if [ -z "$content" ] && [ "$(stat -c %u "$1")" = 0 ]; then
    chown -h "$2" "$1"
fi
