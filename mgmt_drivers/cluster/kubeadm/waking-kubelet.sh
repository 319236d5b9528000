#!/bin/sh
# Run the words after the first three, which change static pods of the node $2, and wake kubelet
# meanwhile every two seconds by annotation $3 of their mirror pods; $1 is the administrator's
# kubeconfig. When the old pod has ended, kubelet starts the new one only when it looks again, after
# 10 to 15 seconds, or when the mirror pod changes (allowPodStart in kubelet's pod_workers.go).
kubeconfig=$1 node=$2 annotation=$3
shift 3
# The loop ends with this shell, should somebody kill it.
while sleep 2 && kill -0 $$ 2>/dev/null; do
    kubectl --kubeconfig "$kubeconfig" --request-timeout 5s --namespace kube-system annotate pods \
        --field-selector "spec.nodeName=$node" --selector tier=control-plane --overwrite \
        "$annotation=$(date +%s)" >/dev/null 2>&1
done </dev/null >/dev/null 2>&1 &
"$@"
status=$?
kill -s KILL $! 2>/dev/null # which may have ended, or ignore SIGTERM
wait $! 2>/dev/null
exit $status
