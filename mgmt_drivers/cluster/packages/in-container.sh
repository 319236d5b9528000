#!/bin/bash
# Run the program and words behind $2 in the container that a pod calls $2, with the container
# runtime $1 (docker or containerd), and with the program's own exit status.
set -euo pipefail
runtime=$1 name=$2
shift 2
label=io.kubernetes.container.name # given by kubelet
if [ "$runtime" = docker ]; then
    ids=$(docker ps --quiet --filter "label=$label=$name")
else
    made=$(ctr --namespace k8s.io containers list --quiet "labels.\"$label\"==$name")
    running=$(ctr --namespace k8s.io tasks list | awk '$NF == "RUNNING" { print $1 }')
    ids=$(grep -xF -- "$made" <<<"$running") || true
fi
id=$(grep -xE '[A-Za-z0-9][A-Za-z0-9._-]{0,127}' <<<"$ids" | head -n 1) || true
if [ -z "$id" ]; then
    echo "no container $name runs on the machine" >&2
    exit 1
fi
if [ "$runtime" = docker ]; then
    exec docker exec "$id" "$@"
fi
exec ctr --namespace k8s.io tasks exec --exec-id "exec-$$-$RANDOM" "$id" "$@"
