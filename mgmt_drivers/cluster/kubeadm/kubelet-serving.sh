#!/bin/bash
# Serving certificates of kubelets, each in PEM with its key, signed by the CA of the cluster, which
# lies on control-plane nodes. $1 tells what to do:
#   issue    prints a certificate, and a line of three dashes, for each node, of which the arguments
#            are name and address;
#   install  puts the certificate that stands on the standard input before such a line into folder
#            $2, where kubelet looks for it, and runs the words after $2;
#   begin    does both for this machine, with name $3 and address $4, before the words after $4: a
#            kubeadm that makes a cluster. kubeadm makes the CA first, unless a backup has brought
#            it, since a kubelet that finds no certificate when it starts signs one itself;
#   list     prints those of the addresses after $2 where a kubelet shows a certificate of the CA that
#            ends within $2 seconds.
set -euo pipefail
shopt -s inherit_errexit
pki=/etc/kubernetes/pki

issue() {
    umask 077
    folder=$(mktemp -d)
    trap 'rm -rf "$folder"' EXIT
    while [ $# -gt 0 ]; do
        cat >"$folder/config" <<END
[req]
distinguished_name = node
prompt = no
[node]
O = system:nodes
CN = system:node:$1
[serving]
basicConstraints = critical, CA:FALSE
keyUsage = critical, digitalSignature
extendedKeyUsage = serverAuth
subjectAltName = DNS:$1, IP:$2
END
        openssl req -new -config "$folder/config" -nodes -newkey ec \
            -pkeyopt ec_paramgen_curve:prime256v1 -keyout "$folder/key" -out "$folder/request" >&2
        openssl x509 -req -in "$folder/request" -CA $pki/ca.crt -CAkey $pki/ca.key -sha256 -days 365 \
            -set_serial "0x$(openssl rand -hex 16)" -extfile "$folder/config" -extensions serving \
            -out "$folder/certificate" >&2
        cat "$folder/key" "$folder/certificate" - <<<--- >>"$folder/issued"
        shift 2
    done
    cat "$folder/issued" # after the last error, of which the output is told
}

install() {
    mkdir -p "$1"
    (
        umask 077
        while IFS= read -r line && [ "$line" != --- ]; do
            printf '%s\n' "$line"
        done >"$1/kubelet-serving.new"
        [ "$line" = --- ] || { echo "the standard input ended early" >&2 && exit 1; }
    )
    # Key and certificate change in one step.
    mv "$1/kubelet-serving.new" "$1/kubelet-serving.pem"
    for name in kubelet.crt kubelet.key; do
        ln -sfn kubelet-serving.pem "$1/$name"
    done
}

list() {
    until=$1 authority=$(openssl x509 -in $pki/ca.crt -noout -subject_hash)
    shift
    for address; do
        (
            shown=$(timeout 5 openssl s_client -connect "$address:10250" </dev/null 2>/dev/null || true)
            signed=$(openssl x509 -noout -issuer_hash <<<"$shown" 2>/dev/null) || exit 0
            [ "$signed" != "$authority" ] ||
                openssl x509 -noout -checkend "$until" <<<"$shown" >/dev/null || echo "$address"
        ) &
    done
    wait
}

verb=$1
shift
case $verb in
issue) issue "$@" ;;
install)
    install "$1"
    shift
    exec "$@"
    ;;
begin)
    config=$(cat)
    kubeadm init phase certs ca --config /dev/stdin <<<"$config" >&2
    issued=$(issue "$2" "$3")
    install "$1" <<<"$issued"
    shift 3
    exec "$@" < <(printf '%s\n' "$config")
    ;;
list) list "$@" ;;
esac
