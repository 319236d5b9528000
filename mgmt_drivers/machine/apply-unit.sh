#!/bin/sh
# Let the unit $1 read new files: run the command after $2, which writes them; enable the unit; reload
# it, or restart a unit that cannot reload. The file $2 marks that the unit has not read its files: it
# lies in the folder of the lock, and is removed at last.
set -e
unit=$1 pending=$2
shift 2
touch "$pending"
"$@"
# Both take a busy machine seconds, and a package has done them for its unit.
case "$*" in *" /etc/systemd/system/"*) systemctl daemon-reload ;; esac
systemctl is-enabled --quiet "$unit" || systemctl enable --quiet "$unit"
systemctl reload-or-restart "$unit"
rm "$pending"
