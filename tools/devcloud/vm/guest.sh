#!/bin/sh
# In the guest, at boot: host name and name servers as the kernel's command line
# gives them. Addresses are systemd-network-generator's work.
set -eu
# shellcheck disable=SC2013  # words are what is wanted
for word in $(cat /proc/cmdline); do
    case "$word" in
    devcloud.hostname=*)
        name="${word#*=}"
        printf '%s\n' "$name" >/etc/hostname
        printf '127.0.0.1 localhost\n127.0.1.1 %s\n' "$name" >/etc/hosts
        hostname "$name"
        ;;
    devcloud.nameserver=*)
        printf 'nameserver %s\n' "${word#*=}" >>/run/devcloud-resolv.conf
        ;;
    esac
done
if [ -e /run/devcloud-resolv.conf ]; then
    cp /run/devcloud-resolv.conf /etc/resolv.conf
fi
