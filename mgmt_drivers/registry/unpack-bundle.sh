#!/bin/bash
# Unpack a bundle from standard input into the registry's folder $1: images into its storage, and
# packages beside it. Links lead from a series to its newest release, and from a system to its newest
# packages. Clients that read the folder meanwhile see whole files.
set -euo pipefail
umask 022 # apt and the server of packages are not root
new=$1/new
mkdir -p "$1/packages"
exec 9< "$1"
flock 9 # an attempt whose connection has broken may still be working
trap 'rm -rf "$new"' EXIT
rm -rf "$new"
mkdir "$new"
tar --extract --no-same-owner --directory="$new" images packages
cp --recursive --link --force "$new/images/." "$new/packages" "$1"
cd "$1/packages"
for folder in $(printf '%s\n' [0-9]*.*.*/*/ | sort -V); do # the newest release at last
    release=${folder%%/*} system=${folder#*/}
    ln -sfn "$release" "${release%.*}"
    ln -sfn "${folder%/}" "${system%/}"
done
