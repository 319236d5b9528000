#!/bin/sh
# First process of every container of the embedded cloud. It gives systemd the
# view a virtual machine would have, then becomes systemd.
set -eu

# /sys and the cgroup trees come read-only from Docker; systemd manages both.
mount -o remount,rw /sys
for tree in $(awk '$2 ~ "^/sys/fs/cgroup" { print $2 }' /proc/self/mounts); do
    mount -o remount,bind,rw "$tree" || true
done
[ -e /dev/kmsg ] || mknod /dev/kmsg c 1 11
mount --make-rshared /

# Docker bind-mounts these, so that renaming a new version over one of them
# fails as it never does on a virtual machine: make them ordinary files.
for file in /etc/hosts /etc/hostname /etc/resolv.conf; do
    cp "$file" "$file.copy"
    # There may be more than one mount on it.
    while grep -q " $file " /proc/self/mounts; do
        umount "$file"
    done
    cat "$file.copy" >"$file"
    rm "$file.copy"
done

exec /sbin/init
