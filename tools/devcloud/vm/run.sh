#!/bin/sh
# First process of a container that runs a QEMU machine. The guest takes over
# the container's addresses and MACs; the container is left with none.
#
# DEVCLOUD_HOSTNAME     the guest's host name
# DEVCLOUD_NAMESERVERS  its name servers, separated by blanks
# DEVCLOUD_VOLUMES      its volumes as ID:GIB, separated by blanks; each has its
#                       folder below /volumes
set -eu

mkdir -p /dev/net /disk
[ -e /dev/net/tun ] || mknod /dev/net/tun c 10 200
[ -e /dev/kvm ] || mknod /dev/kvm c 10 232 2>/dev/null || true

append="root=/dev/vda rw console=ttyS0 net.ifnames=0 devcloud.hostname=$DEVCLOUD_HOSTNAME"
for server in $DEVCLOUD_NAMESERVERS; do
    append="$append devcloud.nameserver=$server"
done

# Some hosts have a /dev/kvm on which a kernel does not run. Where it does, one
# without a root file system panics, and so ends the probe, within a second.
accelerator=tcg
if [ -w /dev/kvm ] && timeout 5 qemu-system-x86_64 -nographic -no-reboot -m 256 \
    -machine q35,accel=kvm -cpu max -kernel /vm/vmlinuz \
    -append "console=ttyS0 quiet panic=-1" >/dev/null 2>&1; then
    accelerator=kvm
fi
echo "accelerator: $accelerator"

set -- -nographic -m 1536 -smp 2 -machine "q35,accel=$accelerator" -cpu max \
    -kernel /vm/vmlinuz -initrd /vm/initrd

gateway=$(ip -4 route show default | awk '{ print $3; exit }')
number=0
for interface in $(ip -o link show type veth | awk -F'[ :@]+' '{ print $2 }' | sort); do
    address=$(ip -4 -o address show dev "$interface" | awk '{ print $4; exit }')
    mac=$(cat "/sys/class/net/$interface/address")
    route=""
    [ "$number" -eq 0 ] && route="$gateway"
    append="$append ip=${address%/*}::$route:${address#*/}::eth$number:none"

    ip address flush dev "$interface"
    ip link set "$interface" down
    ip link set "$interface" address "02:00:00:00:00:0$number"
    ip link add "br$number" type bridge
    ip tuntap add dev "tap$number" mode tap
    for port in "$interface" "tap$number"; do
        ip link set "$port" master "br$number"
        ip link set "$port" up
    done
    ip link set "br$number" up
    set -- "$@" -netdev "tap,id=net$number,ifname=tap$number,script=no,downscript=no" \
        -device "virtio-net-pci,netdev=net$number,mac=$mac"
    number=$((number + 1))
done

# A reboot keeps the disk; a new container begins with the image's.
[ -e /disk/root.qcow2 ] || qemu-img create -q -f qcow2 -F qcow2 -b /vm/root.qcow2 /disk/root.qcow2
set -- "$@" -drive file=/disk/root.qcow2,if=none,id=root -device virtio-blk-pci,drive=root
for volume in $DEVCLOUD_VOLUMES; do
    id="${volume%:*}"
    file="/volumes/$id/disk.raw"
    [ -e "$file" ] || truncate -s "${volume#*:}G" "$file"
    # As Nova does: the disk's serial is the first 20 characters of the volume's id.
    serial=$(printf '%.20s' "$id")
    set -- "$@" -drive "file=$file,format=raw,if=none,id=volume-$id" \
        -device "virtio-blk-pci,drive=volume-$id,serial=$serial"
done

exec qemu-system-x86_64 "$@" -append "$append"
