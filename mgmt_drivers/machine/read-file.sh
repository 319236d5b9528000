#!/bin/sh
# Print the file $1; nothing if it does not exist.
[ ! -e "$1" ] || cat "$1"
