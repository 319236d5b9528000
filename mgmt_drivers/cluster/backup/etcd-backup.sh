#!/bin/bash
# Backups of etcd on a control-plane node: a snapshot and the PKI that belongs to it, encrypted and
# signed, in one file.
#   save             save one, unless the newest is younger than the interval, or etcd has no quorum
#   save now         save one
#   list             print the names of all, by their times
#   read NAME [FILE] copy one into a file, or to standard output
# The settings are in etcd-backup.conf beside this file, the public key to which backups are encrypted
# in etcd-backup.pem.
set -euo pipefail
umask 077
here=${BASH_SOURCE[0]%/*}
# shellcheck source=/dev/null
. "$here/etcd-backup.conf"
data=/var/lib/etcd # the same folder in etcd's container
snapshot=$data/etcd-backup.db
pki=/etc/kubernetes/pki
files=(ca.crt ca.key front-proxy-ca.crt front-proxy-ca.key etcd/ca.crt etcd/ca.key sa.key sa.pub)

# The place of the backups: a folder of this machine, or the storage server.
store() {
    if [ -z "$SERVER" ]; then
        bash "$here/backup-store.sh" "$FOLDER" "$NODE" "$KEEP" "$*"
        return
    fi
    # shellcheck disable=SC2029 # words of ours, or the name of a backup
    ssh -F /dev/null -i "$here/etcd-backup-$NODE" -o IdentitiesOnly=yes -o BatchMode=yes \
        -o StrictHostKeyChecking=yes -o GlobalKnownHostsFile=/dev/null \
        -o "UserKnownHostsFile=$here/etcd-backup.known_hosts" -o ConnectTimeout=15 \
        -o ServerAliveInterval=15 -o ServerAliveCountMax=4 -o LogLevel=ERROR "$SERVER" "$*"
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

# Seconds since the newest backup of the names on standard input that Tacker can open; nothing if
# there is none. Clocks may differ by some minutes, and names from later are wrong.
age() {
    local name moment now seconds
    now=$(date +%s)
    while read -r name; do
        moment=$(sed -E 's/^etcd-(.{4})(..)(..)T(..)(..)(..)Z.*/\1-\2-\3 \4:\5:\6/' <<<"$name")
        moment=$(date --utc --date "$moment" +%s 2>/dev/null) || continue
        seconds=$((now - moment))
        if [ "$seconds" -gt -600 ]; then
            echo "$seconds"
            return
        fi
    done < <(grep -F -e "-$KEY-" | tac)
}

save() {
    exec 8>"$here/etcd-backup.lock"
    flock 8
    # Of a save that was killed: it takes space that this one needs.
    rm -rf "$here"/etcd-backup.?????? "$snapshot" "$snapshot.part"
    local listed seconds own alarms release shown work
    listed=$(store list)
    seconds=$(age <<<"$listed")
    # Other nodes' backups are relied on, but not for ever: a node that was taken over may save anything.
    own=$({ grep -F -e "-$NODE.tar" <<<"$listed" || true; } | age)
    if [ "$1" != now ] && [ -n "$seconds" ] && [ "$seconds" -lt "$INTERVAL" ] &&
        [ -n "$own" ] && [ "$own" -lt $((4 * INTERVAL)) ]; then
        echo "the newest backup is $seconds s old"
        return
    fi
    # etcd must not run out of space for the snapshot and the archive.
    local size
    size=$(stat -c %s "$data/member/snap/db")
    for place in "$data" "$here"; do
        if [ "$(df --output=avail --block-size=1 "$place" | tail -n 1)" -lt $((3 * size)) ]; then
            fail "$place has too little space left for a snapshot and its archive"
        fi
    done
    work=$(mktemp -d "$here/etcd-backup.XXXXXX")
    # shellcheck disable=SC2064 # as they are now
    trap "rm -rf '$work' '$snapshot' '$snapshot.part'" EXIT
    # etcd lists alarms with a quorum only, and saves snapshots without. The data of a member that is
    # cut off are old, and would be the newest backup; by hand they are what is left of a lost cluster.
    if ! alarms=$(etcdctl 10s alarm list 2>"$work/log"); then
        shown="etcd of this machine reaches no quorum: $(tail -c 1000 "$work/log")"
        [ "$1" = now ] || fail "nothing is saved, since $shown"
        echo "a backup is saved that may be old, since $shown" >&2
    fi
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
    seal
    tar --create --directory "$work" manifest.json manifest.json.sig password.enc data.enc |
        store "save $release $KEY"
    echo "saved a backup of $release"
}

# Encrypt the snapshot and the PKI so that only Tacker opens them, and sign what they are.
seal() {
    [ ! -e "$pki/encryption.yaml" ] || files+=(encryption.yaml) # the key of the Secrets in etcd
    head --bytes=32 /dev/urandom | base64 --wrap=0 >"$work/password"
    tar --create --use-compress-program 'gzip -1' --directory "$pki" "${files[@]/#/./}" \
        --directory "$data" "${snapshot##*/}" |
        openssl enc -aes-256-cbc -salt -pbkdf2 -md sha256 -pass "file:$work/password" \
            -out "$work/data.enc"
    openssl pkeyutl -encrypt -pubin -inkey "$here/etcd-backup.pem" -in "$work/password" \
        -pkeyopt rsa_padding_mode:oaep -pkeyopt rsa_oaep_md:sha256 \
        -pkeyopt rsa_mgf1_md:sha256 -out "$work/password.enc"
    printf '{"format": 2, "release": "%s", "node": "%s", "time": %s, "key": "%s", "pod_cidr": "%s", "cluster_cidr": "%s", "alarms": "%s", "password": "%s", "data": "%s", "etcd": %s}\n' \
        "$release" "$NODE" "$(date +%s)" "$KEY" "$POD_CIDR" "$CLUSTER_CIDR" \
        "${alarms//[^A-Za-z0-9: ]/ }" "$(digest password.enc)" "$(digest data.enc)" "$shown" >"$work/manifest.json"
    ssh-keygen -q -Y sign -f "$here/etcd-backup-$NODE" -n tacker-etcd-backup \
        "$work/manifest.json" 2>"$work/log" || fail "ssh-keygen: $(tail -c 1000 "$work/log")"
}

digest() {
    sha256sum "$work/$1" | cut -d ' ' -f 1
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
