"""keepalived, which gives the cluster's virtual IP to a control-plane node (VRRPv3, RFC 9568)."""

import ipaddress
from collections.abc import Sequence

from mgmt_drivers.cluster.load_balancer.haproxy import HEALTH_PORT
from mgmt_drivers.cluster.topology import BALANCED_PORT
from mgmt_drivers.machine import syntax
from mgmt_drivers.machine.files import File
from mgmt_drivers.machine.script import Script

PACKAGE = "keepalived"
CONFIG = "/etc/keepalived/keepalived.conf"
_CHECK = "/etc/keepalived/check_haproxy.sh"
_CHECK_SCRIPT = Script(__package__, "check-holder")
_HIGHEST_PRIORITY = 200


def render(
    virtual_ip: str, address: str, interface: str, others: Sequence[str], rank: int
) -> str:
    """Render the configuration: unicast, since clouds drop multicast, and no preemption.

    Another node takes over after three missed intervals. An interval is a second, since a holder on
    a busy machine may be silent for two seconds. A node that takes over from a live holder gives
    the virtual IP back immediately, and a client that has connected to the node in between waits
    until its own time limit; Tacker has none. keepalived that ran a second late takes
    real-time priority, one step more each time, if the machine permits it (``max_auto_priority``).

    A node that is cut off gives the virtual IP up after some 20 seconds (``check-holder.sh``);
    until then, or until the partition ends, two nodes hold it. The holder announces its hardware
    address again every five seconds. Otherwise the node that keeps the address announces it only
    if an advertisement of the other one comes first, and neighbours would keep the wrong address
    for a minute.

    VRRPv3 has no authentication: the authentication of earlier versions gave too little security,
    and different secrets cause two masters (RFC 5798, section 9). Advertisements are accepted from
    ``unicast_peer`` only (``vrrp_check_unicast_src``), the security group accepts VRRP from
    control-plane nodes only, and Neutron's port security prevents spoofed addresses.

    :param address: the address of this control-plane node, on ``interface``
    :param rank: from 0; of several candidates the node with the lowest rank takes the virtual IP
    """
    peers = "".join(f"        {syntax.words(peer)}\n" for peer in others)
    check = syntax.words(_CHECK, str(HEALTH_PORT), str(BALANCED_PORT), *others)
    return f"""\
# Written by tacker-mgmt-drivers.
global_defs {{
    enable_script_security
    script_user nobody
    vrrp_check_unicast_src
    max_auto_priority 20
}}

vrrp_script haproxy {{
    script "{check}"
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
    garp_master_refresh 5
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
    """The VRID, 1 to 255, made from the virtual IP: constant, and differs between clusters."""
    return int(ipaddress.IPv4Address(virtual_ip)) % 255 + 1


def files(config: str) -> list[File]:
    return [File(_CHECK, _CHECK_SCRIPT.text, "0755"), File(CONFIG, config)]
