#!/bin/sh
# Let the unit $1 read new files: run the command after $2, which writes them; enable the unit; reload
# it, or restart a unit that cannot reload. The file $2 marks that the unit has not read its files: it
# lies in the folder of the lock, and is removed at last.
set -e
unit=$1 pending=$2
shift 2
touch "$pending"
"$@"
# systemd reads all units anew, which takes a busy machine a second: only for files that it does not
# know, and once, since enable does it, too. A package has enabled its unit.
if ! systemctl is-enabled --quiet "$unit"; then
    systemctl enable --quiet "$unit"
else
    case "$*" in *" /etc/systemd/system/"*) systemctl daemon-reload ;; esac
fi
systemctl reload-or-restart "$unit"
rm "$pending"
