#!/bin/bash
# Unpack a bundle from standard input into the registry's folder $1: images into its storage, and
# packages beside it. Links lead from a series to its newest release, and from a system to its newest
# packages. The file $2 notes the end.
set -euo pipefail
umask 022 # apt and the server of packages are not root
mkdir -p "$1/packages"
tar --extract --no-same-owner --directory="$1" --transform='s,^images/,,' images packages
cd "$1/packages"
for folder in $(printf '%s\n' [0-9]*.*.*/*/ | sort -V); do # the newest release at last
    release=${folder%%/*} system=${folder#*/}
    ln -sfn "$release" "${release%.*}"
    ln -sfn "${folder%/}" "${system%/}"
done
mkdir -p "${2%/*}"
touch "$2"
