#!/bin/sh
# Print the device whose id has $1 in it; partitions do not count.
for link in /dev/disk/by-id/*"$1"*; do
    case $link in *-part[0-9]*) continue ;; esac
    [ ! -e "$link" ] || {
        echo "$link"
        exit
    }
done
exit 1
