#!/bin/sh
# Installs the control plane: MariaDB and RabbitMQ from Debian, the OpenStack
# services in one virtual environment, at the versions of constraints.txt.
set -eu
export DEBIAN_FRONTEND=noninteractive
apt-get update -qq
apt-get install -y -qq --no-install-recommends iptables mariadb-server \
    rabbitmq-server python3 python3-venv >/dev/null
systemctl disable --quiet rabbitmq-server mariadb
python3 -m venv /opt/openstack
/opt/openstack/bin/pip install --quiet --disable-pip-version-check \
    --constraint /provision/constraints.txt \
    tacker keystone barbican glance openstack-heat python-tackerclient python-openstackclient \
    pymysql waitress docker setuptools wheel
apt-get clean
rm -rf /var/lib/apt/lists/*
