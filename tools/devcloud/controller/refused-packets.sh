#!/bin/sh
# Tells of the packets that security groups do not let leave servers:
# refused-packets.sh start|stop|show. Between start and stop OVN logs each packet, also of servers
# that are deleted meanwhile; show prints a line for each, with its addresses and ports.
set -eu
began=/run/refused-packets

# Neutron has one rule, for the ports of all security groups, that drops what no other rule allows.
log() {
    for rule in $(ovn-nbctl --bare --columns=_uuid find ACL action=drop direction=from-lport); do
        ovn-nbctl --timeout=60 --wait=hv set ACL "$rule" "log=$1" severity=info
    done
}

case $1 in
start)
    date +%s >"$began"
    log true
    ;;
stop) log false ;;
show)
    # The journal has each line twice: as ovn-controller prints it, and as its syslog has it,
    # without a time.
    journalctl --unit ovn-agent --output cat --since "@$(cat "$began")" |
        sed -n 's/^[0-9][^|]*|[0-9]*|acl_log[^|]*|INFO|//p'
    ;;
esac
