#!/bin/bash
# Print the objects of a chart: its archive is on standard input, $4 bytes, and its values follow,
# $5 bytes. $1 is the name of the release, $2 its namespace, and $3 the version of Kubernetes.
set -e
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
head -c "$4" >"$folder/chart.tgz"
cat >"$folder/values.yaml"
test "$(stat -c %s "$folder/chart.tgz" "$folder/values.yaml" | xargs)" = "$4 $5"
helm template "$1" "$folder/chart.tgz" --namespace "$2" --kube-version "$3" \
    --values "$folder/values.yaml" --include-crds --no-hooks
