#!/bin/sh
# Puts the databases of all services, with their tables, into the image. Nobody but root of the
# controller itself gets in: MariaDB asks the kernel who is at the other end of its socket.
set -eu
cat >/etc/mysql/mariadb.conf.d/90-devcloud.cnf <<'CONF'
[mysqld]
# They hold nothing that outlives the cloud: do not wait for disks.
innodb_flush_log_at_trx_commit = 0
innodb_log_file_size = 32M
sync_binlog = 0
max_connections = 1000
skip_networking
CONF
mkdir -p /run/mysqld
chown mysql: /run/mysqld
mariadb-install-db --user=mysql --skip-test-db >/dev/null
mariadbd --user=mysql &
until mariadb-admin --silent ping 2>/dev/null; do sleep 0.1; done

bin=/opt/openstack/bin
url() { echo "mysql+pymysql://root@localhost/$1?unix_socket=/run/mysqld/mysqld.sock&charset=utf8mb4"; }

# Makes the tables of a service: its database, then the command and its arguments.
tables() {
    OS_DATABASE__CONNECTION=$(url "$1")
    export OS_DATABASE__CONNECTION
    mariadb --execute "CREATE DATABASE IF NOT EXISTS $1 CHARACTER SET utf8mb4"
    shift
    "$@" >/tmp/tables.log 2>&1 || { cat /tmp/tables.log; exit 1; }
}

tables keystone $bin/keystone-manage db_sync
tables barbican $bin/barbican-manage db upgrade
tables glance $bin/glance-manage db_sync
tables heat $bin/heat-manage db_sync
tables tacker $bin/tacker-db-manage --config-file /dev/null upgrade head
tables neutron $bin/neutron-db-manage upgrade heads
tables cinder $bin/cinder-manage db sync
echo "devcloud: tables of Keystone, Barbican, Glance, Heat, Tacker, Neutron and Cinder made"

OS_PLACEMENT_DATABASE__CONNECTION=$(url placement)
OS_API_DATABASE__CONNECTION=$(url nova_api)
export OS_PLACEMENT_DATABASE__CONNECTION OS_API_DATABASE__CONNECTION
tables placement $bin/placement-manage db sync
tables nova_cell0 true
tables nova_api $bin/nova-manage api_db sync
tables nova $bin/nova-manage cell_v2 map_cell0 --database_connection "$(url nova_cell0)"
tables nova $bin/nova-manage db sync
tables nova $bin/nova-manage cell_v2 create_cell --name cell1 \
    --database_connection "$(url nova)" --transport-url rabbit://guest:guest@localhost
echo "devcloud: tables of Placement and Nova made"

mariadb-admin shutdown
wait
