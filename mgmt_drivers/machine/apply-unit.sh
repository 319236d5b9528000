#!/bin/sh
# Let the unit $1, from now on started at boot, read its files; then remove the file $2, which tells
# that it has not. A unit that can reload goes on running.
set -e
systemctl daemon-reload
systemctl enable --quiet "$1"
systemctl reload-or-restart "$1"
rm "$2"
