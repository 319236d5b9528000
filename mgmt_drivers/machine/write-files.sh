#!/bin/sh
# Write files whose contents are concatenated on standard input. The arguments are three words for
# each file: path, mode, and length in bytes. A connection that breaks leaves each file in its old
# or its new state: the input ends with the connection, and the length shows whether all of the
# content has arrived. Other users cannot read the content before it has its mode. A path that ends
# with a slash is a folder, of length 0: a folder that exists keeps its mode.
set -e
umask 077
new=
trap 'rm -f "$new"' EXIT
while [ $# -gt 0 ]; do
    if [ -z "${1##*/}" ]; then
        # shellcheck disable=SC2174 # the folders above are open to all
        (umask 022 && mkdir -p -m "$2" "$1")
        shift 3
        continue
    fi
    (umask 022 && mkdir -p "${1%/*}") # the folders above, too, such as /etc/kubernetes
    new=$(mktemp "$1.XXXXXX")
    head -c "$3" >"$new"
    test "$(stat -c %s "$new")" -eq "$3"
    chmod "$2" "$new"
    if cmp -s "$new" "$1" && [ "$(stat -c %a "$new")" = "$(stat -c %a "$1")" ]; then
        rm "$new"
    else
        mv "$new" "$1"
    fi
    shift 3
done
