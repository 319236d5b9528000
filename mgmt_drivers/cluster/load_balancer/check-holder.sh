#!/bin/bash
# Fail if this control-plane node must not hold the virtual IP. keepalived asks. Arguments: the port of
# HAProxy's health on the loopback address, HAProxy's port, the other control-plane nodes' addresses.
# Written by tacker-mgmt-drivers.
#
# A node whose HAProxy does not answer cannot serve. Neither can a node that is cut off from the others:
# it hears no advertisement, so it would hold the virtual IP beside the next holder, and clients that
# still send to it would wait for the end of the partition. It is cut off if its HAProxy knows no
# apiserver that is ready and no other HAProxy answers. The first of these is not enough: the first
# apiserver starts behind the virtual IP.
health=$1 port=$2
shift 2
exec 3<>"/dev/tcp/127.0.0.1/$health" || exit 1
printf 'GET /healthz HTTP/1.0\r\n\r\n' >&3
read -r _ status _ <&3
case $status in
200) exit 0 ;;
503) [ $# -gt 0 ] || exit 0 ;;
*) exit 1 ;;
esac
attempts=()
for other; do
    timeout 1 bash -c ": <>/dev/tcp/$other/$port" &
    attempts+=($!)
done
for attempt in "${attempts[@]}"; do
    wait "$attempt" && exit 0
done
exit 1
