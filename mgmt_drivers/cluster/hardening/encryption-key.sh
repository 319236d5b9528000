#!/bin/bash
# Give the apiserver the file $2, by which it encrypts Secrets in etcd, and run the words after it.
# If $1 is new, the file gets a new key, unless a backup has brought the file; if $1 is joined,
# the file is what stands on the standard input before a line of three dashes. The file lies beside
# the cluster's other keys, with which kubeadm resets it.
set -euo pipefail
how=$1 file=$2
shift 2
mkdir -p "${file%/*}"
(
    umask 077
    if [ "$how" = joined ]; then
        while IFS= read -r line && [ "$line" != --- ]; do
            printf '%s\n' "$line"
        done >"$file.new"
        [ "$line" = --- ] || { echo "the standard input ended early" >&2 && exit 1; }
    elif [ -e "$file" ]; then
        exit
    else
        cat >"$file.new" <<EOF
apiVersion: apiserver.config.k8s.io/v1
kind: EncryptionConfiguration
resources:
  - resources: [secrets]
    providers:
      - secretbox:
          keys:
            - name: key1
              secret: $(head --bytes=32 /dev/urandom | base64 --wrap=0)
      - identity: {}
EOF
    fi
    mv "$file.new" "$file"
)
exec "$@"
