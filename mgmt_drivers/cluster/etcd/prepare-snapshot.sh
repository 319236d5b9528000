#!/bin/sh
# Remove what a snapshot of etcd that failed has left, and check the space for another: etcd stops
# when its disk is full. Arguments: etcd's folder, the snapshot's name in it, the folder that the
# snapshot is moved to.
set -e
rm -f "$1/$2" "$1/$2.part"
size=$(stat -c %s "$1/member/snap/db")
for place in "$1" "$3"; do
    if [ "$(df --output=avail --block-size=1 "$place" | tail -n 1)" -lt $((2 * size)) ]; then
        echo "$place has too little space left for a snapshot of etcd: remove what nobody needs" >&2
        exit 1
    fi
done
