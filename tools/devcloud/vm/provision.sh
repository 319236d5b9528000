#!/bin/sh
# Makes the disk of a QEMU machine, a copy of this very node image with a kernel, and leaves
# kernel, initial RAM disk and disk in /vm.
set -eu
export DEBIAN_FRONTEND=noninteractive
apt-get update -qq
systemctl unmask --quiet systemd-udevd.service systemd-udevd-kernel.socket \
    systemd-udevd-control.socket systemd-modules-load.service systemd-logind.service \
    getty@tty1.service
apt-get install -y -qq --no-install-recommends linux-image-cloud-amd64 initramfs-tools \
    udev e2fsprogs >/dev/null
# What a storage server and a node install first. Emulated, it would take minutes.
apt-get install -y -qq --no-install-recommends nfs-kernel-server nfs-common containerd \
    conntrack containernetworking-plugins ebtables ethtool socat >/dev/null
# Nodes enable it when they are installed; a storage server would only boot slower by it.
systemctl disable --quiet containerd
printf '/dev/vda / ext4 defaults 0 1\n' >/etc/fstab
# Seconds of an emulated boot: a stage of cloud-init that has nothing to do, and a look at LVM.
systemctl mask --quiet cloud-config.service e2scrub_reap.service
# cloud-init writes the interfaces that ifupdown reads; dhclient writes the name servers.
rm /etc/cloud/cloud.cfg.d/container.cfg
apt-get install -y -qq --no-install-recommends ifupdown isc-dhcp-client >/dev/null

# Without .dockerenv, by which systemd would take the guest for a container.
mkdir -p /vm/root
cp -L /vmlinuz /vm/vmlinuz
cp -L /initrd.img /vm/initrd
tar --create --one-file-system --exclude=./vm --exclude=./provision --exclude=./provision-host \
    --exclude=./proc/* --exclude=./sys/* --exclude=./dev/* --exclude=./boot/* \
    --exclude=./var/cache/apt/* --exclude=./var/lib/apt/lists/* --exclude=./etc/resolv.conf \
    --exclude=./etc/hosts --exclude=./etc/hostname --exclude=./devcloud-entrypoint \
    --exclude=./.dockerenv --directory=/ . | tar --extract --directory=/vm/root
mkdir -p /vm/root/boot /vm/root/dev /vm/root/proc /vm/root/sys
# By which kubeadm knows what the kernel can do.
cp /boot/config-* /vm/root/boot/
printf '127.0.0.1 localhost\n' >/vm/root/etc/hosts
truncate -s 8G /root.ext4
mke2fs -q -t ext4 -d /vm/root /root.ext4
rm -rf /vm/root
apt-get install -y -qq --no-install-recommends qemu-utils >/dev/null
qemu-img convert -c -m 4 -W -O qcow2 /root.ext4 /vm/root.qcow2
rm /root.ext4
apt-get clean
rm -rf /var/lib/apt/lists/*
