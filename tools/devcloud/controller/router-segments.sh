#!/bin/sh
# Takes from routers the check of packets' lengths, which Neutron asks for at a gateway, each time
# that Neutron writes a router's port.
#
# Inside this machine packets of TCP travel as segments of up to 64 KiB, which are cut where they
# leave. A router that compares them with the MTU drops all of them, and what gets through does so
# at some kilobytes a second.
set -eu
ovsdb-client monitor "$1" OVN_Northbound Logical_Router_Port options |
    while read -r change; do
        case "$change" in *gateway_mtu*) ;; *) continue ;; esac
        for port in $(ovn-nbctl --bare --columns=name list Logical_Router_Port); do
            ovn-nbctl remove Logical_Router_Port "$port" options gateway_mtu
        done
    done
exit 1 # the database has gone: systemd begins anew
