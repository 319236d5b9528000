#!/bin/sh
# What every container of the embedded cloud needs to run systemd as a guest.
set -eu
systemctl mask --quiet systemd-udevd.service systemd-udevd-kernel.socket \
    systemd-udevd-control.socket systemd-modules-load.service getty@tty1.service \
    console-getty.service systemd-logind.service systemd-networkd-wait-online.service \
    systemd-firstboot.service systemd-sysusers.service
chmod 0755 /devcloud-entrypoint
rm -f /etc/machine-id && touch /etc/machine-id
