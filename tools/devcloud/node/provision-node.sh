#!/bin/sh
# Makes a node look like a cloud image: cloud-init, user ubuntu with password login and sudo,
# an SSH server, Python and curl; no container engine.
set -eu
export DEBIAN_FRONTEND=noninteractive
apt-get update -qq
apt-get install -y -qq --no-install-recommends cloud-init openssh-server sudo python3 curl \
    ethtool gnupg kmod iptables netbase lsof vim-tiny >/dev/null
useradd --create-home --shell /bin/bash --groups sudo ubuntu
printf 'ubuntu:ubuntu\n' | chpasswd
printf 'ubuntu ALL=(ALL) NOPASSWD:ALL\n' >/etc/sudoers.d/90-cloud-init-users
chmod 0440 /etc/sudoers.d/90-cloud-init-users
printf 'PasswordAuthentication yes\nUseDNS no\n' >/etc/ssh/sshd_config.d/50-cloud.conf

# cloud-init makes the host keys of each machine at its first boot, before the SSH server starts.
rm -f /etc/ssh/ssh_host_*
install -m 0644 /provision/cloud.cfg /etc/cloud/cloud.cfg
# 05_logging.cfg stays: without it cloud-init writes all that it does to the console.
find /etc/cloud/cloud.cfg.d -type f ! -name 05_logging.cfg -delete
# The addresses of a container are given by who plugs its interfaces.
printf 'network: {config: disabled}\n' >/etc/cloud/cloud.cfg.d/container.cfg

cat >/etc/systemd/system/tunnel-checksums.service <<'UNIT'
[Service]
ExecStart=/bin/sh /usr/local/lib/tunnel-checksums.sh
Restart=always
[Install]
WantedBy=multi-user.target
UNIT
install -m 0644 /provision/tunnel-checksums.sh /usr/local/lib/
systemctl enable --quiet tunnel-checksums

# kubelet sees the host's disk, on which other things may leave less than the 15 %
# free that it wants by default.
cat >/etc/default/kubelet <<'CONF'
KUBELET_EXTRA_ARGS=--eviction-hard=memory.available<100Mi,nodefs.available<1%,imagefs.available<1% --image-gc-high-threshold=100
CONF
# By default containerd 2.4 reads each container's cgroups every second. kubelet does not ask for
# what it finds, and ten nodes cost a fifth of two CPUs so.
mkdir -p /etc/containerd/conf.d
cat >/etc/containerd/conf.d/statistics.toml <<'CONF'
version = 4
[plugins.'io.containerd.cri.v1.runtime']
stats_collect_period = '10s'
CONF
# Whatever runtime is installed later calls the wrapper, which calls runc.
dpkg-divert --quiet --local --rename --divert /usr/sbin/runc.real --add /usr/sbin/runc
install -m 0755 /provision/runc.sh /usr/sbin/runc
apt-get clean
rm -rf /var/lib/apt/lists/*
