#!/bin/sh
# Starts, kills or shows the log of one of two conductors: conductor.sh start|kill|log 1|2.
# Conductor 2 runs as if on another host: with a host name and with folders of its own, except the
# shared folders. A conductor that was killed stays dead until it is started.
set -eu
own=/srv/conductor-2 # the disk of the other host
shared="/etc/tacker/vim/fernet_keys /var/lib/tacker/coordination /var/lib/tacker/csar_files
    /var/log/tacker/mgmt_drivers"
program="/opt/openstack/bin/tacker-conductor --config-file /etc/tacker/tacker.conf"
case $2 in
1) unit=tacker-conductor host=$(hostname) ;;
2) unit=tacker-conductor-2 host=conductor-2 ;;
esac

start() {
    if [ "$unit" = tacker-conductor ]; then
        systemctl restart "$unit"
    else
        systemctl stop "$unit" 2>/dev/null || true
        systemd-run --quiet --collect --unit="$unit" --property=TimeoutStopSec=5 \
            --setenv="PATH=/opt/openstack/bin:$PATH" unshare --mount --uts sh "$0" run 2
    fi
    # Until then the other conductor gets all operations.
    running=$(systemctl is-active tacker-conductor tacker-conductor-2 | grep --count '^active' || true)
    for _ in $(seq 60); do
        queues=$(rabbitmqctl --quiet list_queues name consumers)
        echo "$queues" | grep -q "^TACKER_CONDUCTOR[[:space:]]$running\$" && return
        sleep 1
    done
    echo "conductor $host takes no operations" >&2
    return 1
}

# In name spaces of its own.
run() {
    mkdir -p "$own/etc/tacker" "$own/var/lib/tacker/vnfpackages" "$own/var/log/tacker" "$own/tmp"
    cp /etc/tacker/tacker.conf "$own/etc/tacker"
    for folder in $shared; do
        mkdir -p "$folder" "$own$folder"
        mount --bind "$folder" "$own$folder"
    done
    for folder in /etc/tacker /var/lib/tacker /var/log/tacker /tmp; do
        mount --rbind "$own$folder" "$folder"
    done
    hostname "$host"
    # shellcheck disable=SC2086 # words
    exec $program
}

case $1 in
start) start ;;
run) run ;;
kill)
    systemctl kill --signal=KILL "$unit"
    systemctl stop "$unit" 2>/dev/null || true # before systemd starts it again
    ;;
log)
    journalctl --unit "$unit" --output cat
    cat "/var/log/tacker/mgmt_drivers/v2-$host.log" 2>/dev/null || true
    ;;
esac
