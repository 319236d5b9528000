#!/bin/bash
# Print the running containers of programs of the control plane, which are named behind $2: in each
# line the name and an id, as the container runtime $2 (docker or containerd) tells them. When $1 is
# "end", the programs are told to end (SIGTERM); kubelet starts them anew.
set -euo pipefail
verb=$1 runtime=$2
shift 2
# Given by kubelet. Others' pods may run such programs, too.
label=io.kubernetes.container.name namespace=io.kubernetes.pod.namespace
for name; do
    if [ "$runtime" = docker ]; then
        ids=$(docker ps --quiet --filter "label=$label=$name" \
            --filter "label=$namespace=kube-system")
        kill="docker kill --signal TERM"
    else
        made=$(ctr --namespace k8s.io containers list --quiet \
            "labels.\"$label\"==$name,labels.\"$namespace\"==kube-system")
        running=$(ctr --namespace k8s.io tasks list | awk '$NF == "RUNNING" { print $1 }')
        ids=$(grep -xF -- "$made" <<<"$running") || true
        kill="ctr --namespace k8s.io tasks kill --signal SIGTERM"
    fi
    for id in $ids; do
        echo "$name $id"
        # One that has ended meanwhile is fine. One that goes on is still there at the next look.
        [ "$verb" != end ] || $kill "$id" >/dev/null || true
    done
done
