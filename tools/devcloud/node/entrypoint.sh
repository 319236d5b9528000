#!/bin/sh
# First process of every container of the embedded cloud. It gives systemd the
# view a virtual machine would have, then becomes systemd.
set -eu

# A server starts without a network; Nova's compute driver then plugs its interfaces.
while [ "$(find /sys/class/net -name 'eth*' | wc -l)" -lt "${DEVCLOUD_INTERFACES:-0}" ]; do
    sleep 0.05
done

# /sys and the cgroup trees come read-only from Docker; systemd manages both.
mount -o remount,rw /sys
awk '$2 ~ "^/sys/fs/cgroup" { print $2 }' /proc/self/mounts | while read -r tree; do
    mount -o remount,bind,rw "$tree" || true
done
[ -e /dev/kmsg ] || mknod /dev/kmsg c 1 11
mount --make-rshared /

# The host's swap is none of this machine's, and kubelet refuses to run beside swap.
if [ "$(wc -l </proc/swaps)" -gt 1 ]; then
    head -n 1 /proc/swaps >/run/no-swaps
    mount --bind /run/no-swaps /proc/swaps
fi

# Docker bind-mounts these, so that renaming a new version over one of them
# fails as it never does on a virtual machine: make them ordinary files. From
# the second boot on, the machine's own lie below the mounts.
booted=/etc/devcloud-booted
for file in /etc/hosts /etc/hostname /etc/resolv.conf; do
    [ -e "$booted" ] || cp "$file" "$file.copy"
    attempt=0
    # An unmount may take effect a moment after umount has returned.
    until ! grep -q " $file " /proc/self/mounts &&
        { [ -e "$booted" ] || mv -T "$file.copy" "$file" 2>/dev/null; }; do
        umount "$file" 2>/dev/null || sleep 0.05
        attempt=$((attempt + 1))
        [ "$attempt" -lt 100 ] || exit 1
    done
done
touch "$booted"

exec /sbin/init
