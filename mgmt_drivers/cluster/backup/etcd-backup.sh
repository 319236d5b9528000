#!/bin/bash
# Backups of etcd on a control-plane node: a snapshot and the PKI that belongs to it, in one file.
#   save             save one, unless the newest is younger than the interval
#   save now         save one
#   list             the names of all, the newest last
#   read NAME [FILE] copy one into a file, or to standard output
# The settings lie in etcd-backup.conf beside this file.
set -euo pipefail
umask 077
here=${BASH_SOURCE[0]%/*}
# shellcheck source=/dev/null
. "$here/etcd-backup.conf"
data=/var/lib/etcd # the same folder in etcd's container
snapshot=$data/etcd-backup.db
pki=/etc/kubernetes/pki
files=(ca.crt ca.key front-proxy-ca.crt front-proxy-ca.key etcd/ca.crt etcd/ca.key sa.key sa.pub)

# What keeps the backups: a folder of this machine's, or the storage server, which knows this
# machine by its SSH host keys.
store() {
    if [ -z "$SERVER" ]; then
        bash "$here/backup-store.sh" "$FOLDER" "$*"
        return
    fi
    local options=(
        -F /dev/null -o BatchMode=yes -o StrictHostKeyChecking=yes -o GlobalKnownHostsFile=/dev/null
        -o "UserKnownHostsFile=$here/etcd-backup.known_hosts" -o IdentitiesOnly=yes
        -o ConnectTimeout=15 -o ServerAliveInterval=15 -o ServerAliveCountMax=4 -o LogLevel=ERROR
    )
    for key in /etc/ssh/ssh_host_*_key; do
        options+=(-i "$key")
    done
    # shellcheck disable=SC2029 # a word of ours, or the name of a backup
    ssh "${options[@]}" "$SERVER" "$*"
}

# Run a program of etcd's own image in its container.
in_etcd() {
    bash "$here/static-pods.sh" exec "$RUNTIME" "$NODE" etcd "$@"
}

# Run etcdctl on this machine's member, for at most $1.
etcdctl() {
    in_etcd etcdctl --cacert="$pki/etcd/ca.crt" --cert="$pki/etcd/healthcheck-client.crt" \
        --key="$pki/etcd/healthcheck-client.key" --endpoints=https://127.0.0.1:2379 \
        --command-timeout="$1" "${@:2}"
}

fail() {
    echo "$*" >&2
    exit 1
}

# Seconds since the backup $1 was saved; nothing where there is none, or one of the future.
age() {
    local moment
    [ -n "$1" ] || return 0
    moment=$(date --utc --date "$(sed -E \
        's/^etcd-(.{4})(..)(..)T(..)(..)(..)Z.*/\1-\2-\3 \4:\5:\6/' <<<"$1")" +%s)
    [ "$moment" -gt "$(date +%s)" ] || echo $(($(date +%s) - moment))
}

save() {
    exec 8>"$here/etcd-backup.lock"
    flock 8
    local listed seconds alarms release name shown work
    listed=$(store list)
    seconds=$(age "$(tail -n 1 <<<"$listed")")
    if [ "$1" != now ] && [ -n "$seconds" ] && [ "$seconds" -lt "$INTERVAL" ]; then
        echo "the newest backup is $seconds s old"
        return
    fi
    # etcd must not run out of space for it.
    if [ "$(df --output=avail --block-size=1 "$data" | tail -n 1)" -lt \
        $((2 * $(stat -c %s "$data/member/snap/db"))) ]; then
        fail "$data has too little space left for a snapshot beside the data"
    fi
    work=$(mktemp -d "$here/etcd-backup.XXXXXX")
    # shellcheck disable=SC2064 # as they are now
    trap "rm -rf '$work' '$snapshot' '$snapshot.part'" EXIT
    rm -f "$snapshot" "$snapshot.part"
    alarms=$(etcdctl 10s alarm list 2>/dev/null) || true
    [ -z "$alarms" ] || echo "etcd has alarms, and a backup is saved all the same: $alarms" >&2
    etcdctl 10m snapshot save "$snapshot" >"$work/log" 2>&1 ||
        fail "etcdctl: $(tail -c 1000 "$work/log")"
    # etcdctl lost it in 3.6 to etcdutl, new in 3.5.
    shown=$(in_etcd etcdutl snapshot status "$snapshot" --write-out=json 2>"$work/log" ||
        in_etcd etcdctl snapshot status "$snapshot" --write-out=json 2>>"$work/log") ||
        fail "the snapshot of etcd is not whole: $(tail -c 1000 "$work/log")"
    release=$(grep -oE 'kube-apiserver:v[0-9]+\.[0-9]+\.[0-9]+' \
        /etc/kubernetes/manifests/kube-apiserver.yaml | head -n 1)
    release=${release#*:}
    name=etcd-$(date --utc +%Y%m%dT%H%M%SZ)-$release-$NODE.tar.gz
    printf '{"release": "%s", "pod_cidr": "%s", "cluster_cidr": "%s", "etcd": %s}\n' \
        "$release" "$POD_CIDR" "$CLUSTER_CIDR" "$shown" >"$work/metadata.json"
    tar --create --use-compress-program 'gzip -1' --directory "$work" metadata.json \
        --directory "$pki" "${files[@]/#/./}" --directory "$data" "${snapshot##*/}" |
        store "save $name $KEEP"
    echo "saved $name"
}

case ${1-} in
save) save "${2-}" ;;
list) store list ;;
read)
    if [ $# -eq 2 ]; then
        store "read $2"
    else
        store "read $2" >"$3.part"
        mv "$3.part" "$3"
    fi
    ;;
*) fail "save, list or read is wanted" ;;
esac
