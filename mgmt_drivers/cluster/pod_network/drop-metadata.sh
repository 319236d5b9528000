#!/bin/sh
# Drop what pods send to the cloud's metadata service: packets that the machine forwards, after
# kube-proxy has translated their addresses. The machine's own packets pass. No other program uses
# nft's table or iptables' chain: kube-proxy and CNIs have their own, and an accept there is not the
# last word.
set -e
address=169.254.169.254
with_nft() {
    nft -f - <<END
table ip tacker-metadata
delete table ip tacker-metadata
table ip tacker-metadata {
    chain forward {
        type filter hook forward priority 0
        ip daddr $address drop
    }
}
END
}
if command -v nft >/dev/null && with_nft; then
    exit
fi
set -- --destination "$address" --jump DROP
iptables --wait --table mangle --check FORWARD "$@" 2>/dev/null ||
    iptables --wait --table mangle --append FORWARD "$@"
