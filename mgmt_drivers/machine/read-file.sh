#!/bin/sh
# Print the file $1; nothing where there is none.
[ ! -e "$1" ] || cat "$1"
