#!/bin/bash
# Restore the backup $1: the cluster's PKI, and the data of an etcd with a single member, called $2,
# with the peer URL $3. $4 is the number of words of the command that restores a snapshot in etcd's
# own image; $5 is a folder of this machine that the image can use. After these arguments come the
# words of that command, and then the command to run at the end.
# The caller has checked that the machine has no data of a running cluster.
set -euo pipefail
umask 077
archive=$1 name=$2 peer=$3 count=$4 work=$5
shift 5
restore=("${@:1:count}")
shift "$count"
rm -rf "$work"
trap 'rm -rf "$work"' EXIT
mkdir -p "$work"
# The known members only, as files of no more than 16 GiB.
members=(etcd-backup.db ./ca.crt ./ca.key ./front-proxy-ca.crt ./front-proxy-ca.key ./etcd/ca.crt
    ./etcd/ca.key ./sa.key ./sa.pub)
# The key of the Secrets in etcd, if the cluster encrypted them.
if tar --list --gzip --file "$archive" | grep -cx '\./encryption\.yaml' >/dev/null; then
    members+=(./encryption.yaml)
fi
(
    ulimit -f $((16 << 20))
    tar --extract --gzip --no-same-owner --no-same-permissions --file "$archive" \
        --directory "$work" "${members[@]}"
)
for member in "${members[@]}"; do
    if [ ! -f "$work/$member" ] || [ -L "$work/$member" ]; then
        echo "$member in the backup is not a file" >&2
        exit 1
    fi
done
"${restore[@]}" "$work/etcd-backup.db" --name "$name" --initial-cluster "$name=$peer" \
    --initial-cluster-token "$(basename "$archive" .tar.gz)-$(date +%s)" \
    --initial-advertise-peer-urls "$peer" --data-dir "$work/data" </dev/null >&2
[ -e "$work/data/member/snap/db" ]
mkdir -p /var/lib/etcd /etc/kubernetes/pki/etcd
rm -rf /var/lib/etcd/member
for path in ca front-proxy-ca etcd/ca; do
    install -m 0644 "$work/$path.crt" "/etc/kubernetes/pki/$path.crt"
    install -m 0600 "$work/$path.key" "/etc/kubernetes/pki/$path.key"
done
install -m 0600 "$work/sa.key" /etc/kubernetes/pki/sa.key
install -m 0644 "$work/sa.pub" /etc/kubernetes/pki/sa.pub
[ ! -e "$work/encryption.yaml" ] ||
    install -m 0600 "$work/encryption.yaml" /etc/kubernetes/pki/encryption.yaml
mv "$work/data/member" /var/lib/etcd/member
rm -rf "$work"
exec "$@"
