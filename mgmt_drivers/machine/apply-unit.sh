#!/bin/sh
# Enable the unit $1 and let it read its files; then remove the file $2, which marks that the unit
# has not read them. A unit that can reload is not restarted.
set -e
systemctl daemon-reload
systemctl enable --quiet "$1"
systemctl reload-or-restart "$1"
rm "$2"
