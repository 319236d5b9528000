#!/bin/sh
# Describe the machine in four parts with an empty line between: whether cloud-init is installed, and
# the type of the file system of cgroups; the names of the files in the folder $1; the address from
# which the SSH client comes, and those of the name servers; /etc/os-release.
if command -v cloud-init >/dev/null; then
    echo cloud-init
else
    echo none
fi
stat --file-system --format=%T /sys/fs/cgroup
echo
ls "$1" 2>/dev/null
echo .
echo
# Of sudo, which keeps the variable from its command.
tr '\0' '\n' <"/proc/$PPID/environ" 2>/dev/null |
    sed -n 's/^SSH_CONNECTION=\([^ ]*\) .*/client \1/p'
cat /run/systemd/resolve/resolv.conf /etc/resolv.conf 2>/dev/null |
    sed -n 's/^nameserver[[:space:]]*\([^[:space:]]*\).*/nameserver \1/p'
echo .
echo
cat /etc/os-release
