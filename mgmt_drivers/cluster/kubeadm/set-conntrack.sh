#!/bin/sh
# Whether the kernel lets this machine set what kube-proxy sets (a container may not):
# writing back the value that is there tells. The module is not loaded before anything needs it.
modprobe nf_conntrack 2>/dev/null
for name in /proc/sys/net/netfilter/nf_conntrack_max /sys/module/nf_conntrack/parameters/hashsize; do
    value=$(cat "$name") && printf '%s' "$value" >"$name" || exit 1
done
