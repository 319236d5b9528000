#!/bin/sh
# Installs from Debian what the control plane stands on: MariaDB, RabbitMQ, memcached, Open vSwitch,
# OVN, libvirt and QEMU.
set -eu
export DEBIAN_FRONTEND=noninteractive
# What is installed here is started by the cloud's own units only.
printf '#!/bin/sh\nexit 101\n' >/usr/sbin/policy-rc.d
chmod 0755 /usr/sbin/policy-rc.d
apt-get update -qq
apt-get install -y -qq --no-install-recommends ethtool genisoimage iptables mariadb-server \
    memcached rabbitmq-server python3 python3-venv >/dev/null
echo "devcloud: databases and queues installed"
apt-get install -y -qq --no-install-recommends openvswitch-switch ovn-central ovn-host \
    libvirt-daemon libvirt-daemon-driver-qemu libvirt-daemon-system python3-libvirt \
    qemu-system-x86 qemu-utils >/dev/null
echo "devcloud: Open vSwitch, OVN, libvirt and QEMU installed"
rm /usr/sbin/policy-rc.d
for unit in /lib/systemd/system/libvirt*.socket /lib/systemd/system/libvirt*.service \
    /lib/systemd/system/virt*.socket /lib/systemd/system/virt*.service \
    /lib/systemd/system/ov[ns]*.service /lib/systemd/system/openvswitch*.service; do
    systemctl mask --quiet "$(basename "$unit")"
done
systemctl disable --quiet rabbitmq-server mariadb memcached
apt-get clean
rm -rf /var/lib/apt/lists/*
