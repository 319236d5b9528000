"""keepalived: which control-plane node holds the cluster's virtual IP (VRRPv3, RFC 9568)."""

import ipaddress
from collections.abc import Sequence

from mgmt_drivers.cluster.load_balancer.haproxy import HEALTH_PORT
from mgmt_drivers.machine import syntax, units
from mgmt_drivers.machine.files import File
from mgmt_drivers.machine.host import Host

PACKAGE = "keepalived"
_CONFIG = "/etc/keepalived/keepalived.conf"
_CHECK = "/etc/keepalived/check_haproxy.sh"
_HIGHEST_PRIORITY = 200

_CHECK_SCRIPT = f"""\
#!/bin/bash
# Whether this machine's HAProxy answers. Written by tacker-mgmt-drivers.
exec 3<>/dev/tcp/127.0.0.1/{HEALTH_PORT} || exit 1
printf 'GET /healthz HTTP/1.0\\r\\n\\r\\n' >&3
read -r _ status _ <&3
[ "$status" = 200 ]
"""


def render(
    virtual_ip: str, address: str, interface: str, others: Sequence[str], rank: int
) -> str:
    """The configuration: unicast, for clouds drop multicast; whoever holds the VIP keeps it.

    Another node takes over after three intervals of silence. They are a second long, for a holder
    on a busy machine may be silent for two. A node that takes over from one that is alive gives the
    virtual IP back at once, and a client that has connected to it meanwhile waits for the answer
    until its own limit; Tacker has none.

    VRRPv3 has no authentication: that of earlier versions gave too little security, and secrets
    that differ make two masters (RFC 5798, section 9). Adverts count from ``unicast_peer`` alone
    (``vrrp_check_unicast_src``), the security group lets VRRP in from control-plane nodes alone,
    and Neutron's port security keeps other machines from sending in their name.

    :param address: the control-plane node's own, which is on ``interface``
    :param others: addresses of the other control-plane nodes
    :param rank: from 0, the lower the sooner the node takes the virtual IP
    """
    peers = "".join(f"        {syntax.words(peer)}\n" for peer in others)
    return f"""\
# Written by tacker-mgmt-drivers.
global_defs {{
    enable_script_security
    script_user nobody
    vrrp_check_unicast_src
}}

vrrp_script haproxy {{
    script "{_CHECK}"
    interval 2
    timeout 2
    fall 2
    rise 1
}}

vrrp_instance kubernetes {{
    state BACKUP
    nopreempt
    {syntax.words("interface", interface)}
    version 3
    virtual_router_id {_router_id(virtual_ip)}
    priority {_HIGHEST_PRIORITY - rank}
    advert_int 1
    {syntax.words("unicast_src_ip", address)}
    unicast_peer {{
{peers}    }}
    virtual_ipaddress {{
        {syntax.words(f"{virtual_ip}/32")}
    }}
    track_script {{
        haproxy
    }}
}}
"""


def _router_id(virtual_ip: str) -> int:
    """1 to 255, of the VIP: clusters in one network differ, and it never changes."""
    return int(ipaddress.IPv4Address(virtual_ip)) % 255 + 1


def is_there(host: Host) -> bool:
    """Whether it was ever configured on the machine."""
    return host.ask("test", "-e", _CONFIG).ok


def stop(host: Host) -> None:
    """Give the virtual IP away, where it is here, and take it no more."""
    host.sudo("systemctl", "stop", PACKAGE)
    host.sudo("systemctl", "disable", "--quiet", PACKAGE)


def is_configured(host: Host, config: str) -> bool:
    return units.is_as_configured(host, PACKAGE, _files(config))


def configure(host: Host, config: str) -> None:
    units.configure(host, PACKAGE, _files(config))


def _files(config: str) -> list[File]:
    return [File(_CHECK, _CHECK_SCRIPT, "0755"), File(_CONFIG, config)]
