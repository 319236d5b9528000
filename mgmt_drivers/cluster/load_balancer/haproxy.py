"""HAProxy in front of the apiservers of the control-plane nodes."""

from collections.abc import Sequence

from mgmt_drivers.cluster.topology import API_PORT, BALANCED_PORT
from mgmt_drivers.machine import syntax
from mgmt_drivers.machine.files import File
from mgmt_drivers.machine.host import Host
from mgmt_drivers.machine.script import Script

PACKAGE = "haproxy"
SOCKET = "/run/haproxy/admin.sock"  # for root alone, in the folder that Debian's package makes
# On the loopback address: /healthz is 503 if HAProxy knows no apiserver that is ready.
HEALTH_PORT = 16444
_CONFIG = "/etc/haproxy/haproxy.cfg"
# The limit of one source, so that connections without requests leave some for others. A node has
# some ten, and the clients behind one NAT are one source.
_MOST_CONNECTIONS = 1000
_CHECK = Script(__package__, "check-haproxy")

# Long timeouts: `kubectl logs --follow` may be silent for minutes. A dead machine delays a
# connection by one second, then the next apiserver is tried; after three failures the machine is
# taken out. An apiserver that is not ready is taken out later: no apiserver is ready while etcd
# elects a leader, and clients that wait are better off than clients that find no apiserver.
_HEAD = f"""\
# Written by tacker-mgmt-drivers.
global
    log /dev/log local0
    user haproxy
    group haproxy
    stats socket {SOCKET} mode 600 level admin

defaults
    log global
    option dontlognull
    timeout connect 1s
    timeout check 5s
    timeout client 15m
    timeout server 15m

frontend health
    mode http
    bind 127.0.0.1:{HEALTH_PORT}
    monitor-uri /healthz
    monitor fail if {{ nbsrv(apiservers) eq 0 }}

frontend kubernetes
    mode tcp
    bind *:{BALANCED_PORT}
    stick-table type ip size 100k expire 30s store conn_cur
    tcp-request connection track-sc0 src
    tcp-request connection reject if {{ sc0_conn_cur gt {_MOST_CONNECTIONS} }}
    default_backend apiservers

backend apiservers
    mode tcp
    balance roundrobin
    retries 3
    option redispatch 1
    option httpchk GET /readyz
    http-check expect status 200
    default-server check check-ssl verify none inter 2s downinter 1s fall 3 rise 1
    default-server observe layer4 error-limit 3 on-error mark-down
    default-server on-marked-down shutdown-sessions
"""


def render(nodes: Sequence[tuple[str, str]]) -> str:
    """Render the configuration for control-plane nodes, given by name and address."""
    servers = (syntax.words("server", name, f"{ip}:{API_PORT}") for name, ip in nodes)
    return _HEAD + "".join(f"    {server}\n" for server in servers)


def files(config: str) -> list[File]:
    return [File(_CONFIG, config)]


def check(host: Host, config: str) -> None:
    """Check that HAProxy accepts a configuration, before it replaces a good one."""
    host.sudo(*_CHECK.command(), stdin=config)
