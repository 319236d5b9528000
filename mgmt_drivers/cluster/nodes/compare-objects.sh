#!/bin/bash
# Print the names of those objects on the standard input that the cluster has, and compare them all
# with the cluster's as if field manager $1 applied them. The exit status is that of kubectl diff: 0 if
# none would change, 1 if one would, more after an error. After $1 come kubectl and its options.
manager=$1
shift
objects=$(cat)
"$@" get --filename - --ignore-not-found --output name <<<"$objects" 2>/dev/null
"$@" diff --server-side --field-manager "$manager" --filename - <<<"$objects" >/dev/null
