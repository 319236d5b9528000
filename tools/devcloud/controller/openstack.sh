#!/bin/sh
# Installs the OpenStack services of a release in one virtual environment, at the versions of
# constraints.txt.
set -eu
python3 -m venv /opt/openstack
/opt/openstack/bin/pip install --quiet --disable-pip-version-check \
    --constraint /provision/constraints.txt \
    tacker keystone barbican glance openstack-heat openstack-placement nova neutron cinder \
    python-tackerclient python-openstackclient \
    pymysql python-memcached waitress docker setuptools wheel
# libvirt's binding is Debian's: its version is that of the library.
for file in /usr/lib/python3/dist-packages/libvirt*; do
    ln -s "$file" /opt/openstack/lib/python3.11/site-packages/
done
/opt/openstack/bin/pip check
echo "devcloud: OpenStack installed"
