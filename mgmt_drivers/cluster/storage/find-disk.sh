#!/bin/sh
# Print the device whose id contains $1; partitions are ignored.
for link in /dev/disk/by-id/*"$1"*; do
    case $link in *-part[0-9]*) continue ;; esac
    [ ! -e "$link" ] || {
        echo "$link"
        exit
    }
done
exit 1
