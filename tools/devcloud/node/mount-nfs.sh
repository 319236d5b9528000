#!/bin/sh
# mount.nfs for machines that are containers: by the kernel if it has NFS, else in user space.
set -eu
if grep -qw nfs /proc/filesystems; then
    exec /usr/sbin/mount.nfs.real "$@"
fi
[ -e /dev/fuse ] || mknod /dev/fuse c 10 229
exec python3 /usr/local/lib/mount_nfs.py "$@"
