#!/bin/sh
# The image with the packages of a cluster as a site may have it that keeps images for years: in
# German, with files of its administrators, a shell that prints, a second container runtime,
# upgrades that hold apt's locks, and a reboot at the end of the first boot.
set -eu
export DEBIAN_FRONTEND=noninteractive
apt-get update -qq
apt-get install -y -qq --no-install-recommends locales unattended-upgrades >/dev/null
apt-get clean
rm -rf /var/lib/apt/lists/*

sed -i 's/^# *\(de_DE.UTF-8\)/\1/' /etc/locale.gen
locale-gen >/dev/null
printf 'LANG=de_DE.UTF-8\n' >/etc/default/locale
sed -i '1i echo Willkommen' /home/ubuntu/.bashrc

printf 'net.ipv4.ip_forward = 0\n' >/etc/sysctl.d/99-hardening.conf
printf '  /swapfile none swap sw 0 0\n' >>/etc/fstab

containerd config default >/etc/containerd/config.toml
cat >>/etc/containerd/config.toml <<'CONF'

[plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.accounting]
runtime_type = 'io.containerd.runc.v2'
[plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.accounting.options]
BinaryName = '/usr/local/sbin/accounting-runc'
SystemdCgroup = true
CONF
cat >/usr/local/sbin/accounting-runc <<'RUNC'
#!/bin/sh
echo "$*" >>/var/log/accounting-runc.log
exec runc "$@"
RUNC
chmod 0755 /usr/local/sbin/accounting-runc

# As Debian's own timers would, but at each boot. Each round takes seconds of a CPU.
cat >/etc/systemd/system/upgrades.service <<'UNIT'
[Unit]
After=network.target
[Service]
ExecStart=/bin/sh -c "for round in 1 2 3; do apt-get -qq update; unattended-upgrade; sleep 5; done"
[Install]
WantedBy=multi-user.target
UNIT
systemctl enable --quiet upgrades

printf '  - power_state_change\n' >>/etc/cloud/cloud.cfg
printf 'power_state: {mode: reboot, message: "Neustart"}\n' >/etc/cloud/cloud.cfg.d/reboot.cfg
