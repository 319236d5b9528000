#!/bin/bash
# The running containers of the static pods of the control-plane node $3, with the container runtime
# $2 (docker or containerd). Users' pods may have containers of the same names.
#   exec RUNTIME NODE NAME WORD...  run a program in the container NAME, with its own exit status
#   show RUNTIME NODE NAME...       print the name and the id of each container, one in a line
#   end RUNTIME NODE NAME...        as show, and end the programs (SIGTERM), one after another, while
#                                   kubelet is stopped, which starts them anew
set -euo pipefail
verb=$1 runtime=$2 node=$3
shift 3

# Set ids to the containers of the pod $1. kubelet gives them the labels.
find_containers() {
    local label=io.kubernetes filter made running
    if [ "$runtime" = docker ]; then
        running=$(docker ps --quiet --filter "label=$label.container.name=$1" \
            --filter "label=$label.pod.namespace=kube-system" \
            --filter "label=$label.pod.name=$1-$node")
        made=$running
    else
        filter="labels.\"$label.container.name\"==$1,labels.\"$label.pod.name\"==$1-$node"
        filter+=",labels.\"$label.pod.namespace\"==kube-system"
        made=$(ctr --namespace k8s.io containers list --quiet "$filter")
        running=$(ctr --namespace k8s.io tasks list | awk '$NF == "RUNNING" { print $1 }')
    fi
    ids=$(grep -xE '[A-Za-z0-9][A-Za-z0-9._-]{0,127}' <<<"$running" | grep -xF -- "$made") || true
}

if [ "$verb" = exec ]; then
    # A container that is restarted is away for a moment; on a busy machine containerd reports the
    # state of one that runs as unknown.
    for _ in {1..10}; do
        find_containers "$1"
        id=${ids%%$'\n'*}
        [ -z "$id" ] || break
        sleep 1
    done
    if [ -z "$id" ]; then
        echo "no container of the static pod $1-$node runs on the machine" >&2
        exit 1
    fi
    shift
    [ "$runtime" != docker ] || exec docker exec "$id" "$@"
    exec ctr --namespace k8s.io tasks exec --exec-id "exec-$$-$RANDOM" "$id" "$@"
fi
if [ "$verb" = end ]; then
    trap 'systemctl start kubelet' EXIT
    systemctl stop kubelet
fi
kill="ctr --namespace k8s.io tasks kill --signal SIGTERM"
[ "$runtime" != docker ] || kill="docker kill --signal TERM"
for name; do
    find_containers "$name"
    for id in $ids; do
        echo "$name $id"
        # One that has ended meanwhile is fine.
        [ "$verb" != end ] || $kill "$id" >/dev/null || true
    done
    [ "$verb" = end ] || continue
    for _ in {1..300}; do # a minute; kubelet kills what goes on
        find_containers "$name"
        [ -n "$ids" ] || break
        sleep 0.2
    done
done
