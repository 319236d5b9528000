#!/bin/bash
# Let kubeadm validate configurations, and run the words after $1. The standard input begins with $1
# configurations, each with a line of three dots behind it; the rest is the command's.
set -euo pipefail
for ((left = $1; left > 0; left--)); do
    while IFS= read -r line && [ "$line" != ... ]; do
        printf '%s\n' "$line"
    done | kubeadm config validate --config /dev/stdin >/dev/null || {
        echo "kubeadm refuses a kubelet_config of the request" >&2
        exit 1
    }
done
shift
exec "$@"
