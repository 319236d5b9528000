#!/bin/sh
# Describe the machine in three parts with an empty line between: whether cloud-init is installed;
# the names of the files in the folder $1; /etc/os-release.
if command -v cloud-init >/dev/null; then
    echo cloud-init
else
    echo none
fi
echo
ls "$1" 2>/dev/null
echo .
echo
cat /etc/os-release
