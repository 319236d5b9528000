"""Open vSwitch and OVN, all in userspace, on the controller.

The provider network is the Docker network that the controller is in: its interface becomes a
port of the bridge br-ex, which takes over its address.
"""

import subprocess
from pathlib import Path

from tools.devcloud import networks
from tools.devcloud.controller import services
from tools.devcloud.controller.config_files import OVSDB, PROVIDER_NETWORK
from tools.devcloud.drivers.interfaces import CHASSIS
from tools.devcloud.settings import Settings

_SCHEMAS = {
    "/etc/openvswitch/conf.db": "/usr/share/openvswitch/vswitch.ovsschema",
    "/var/lib/ovn/ovnnb_db.db": "/usr/share/ovn/ovn-nb.ovsschema",
    "/var/lib/ovn/ovnsb_db.db": "/usr/share/ovn/ovn-sb.ovsschema",
}
_UPLINK = "eth0"
_CHASSIS = {
    "system-id": CHASSIS,
    "hostname": CHASSIS,
    "ovn-remote": OVSDB,
    "ovn-encap-type": "geneve",
    "ovn-encap-ip": "127.0.0.1",
    "ovn-bridge-mappings": f"{PROVIDER_NETWORK}:br-ex",
    # No kernel module: all packets are switched in a process.
    "ovn-bridge-datapath-type": "netdev",
    "ovn-cms-options": "enable-chassis-as-gw",
    "ovn-monitor-all": "true",
}


def ensure(settings: Settings) -> None:
    """Start the switch, its bridges and OVN's agent."""
    for path, schema in _SCHEMAS.items():
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        if not Path(path).exists():
            _run("ovsdb-tool", "create", path, schema)
    for folder in ("/run/openvswitch", "/run/ovn", "/var/log/ovn"):
        Path(folder).mkdir(exist_ok=True)
    services.start(services.OVSDB_SERVER)
    # Where the tools of OVN look for its databases.
    for name in ("ovnnb_db.sock", "ovnsb_db.sock"):
        link = Path("/run/ovn", name)
        if not link.is_symlink():
            link.symlink_to(OVSDB.removeprefix("unix:"))
    _run("ovs-vsctl", "--no-wait", "--retry", "init")
    facts = [f"external_ids:{key}={value}" for key, value in _CHASSIS.items()]
    # Without it QEMU's machines, whose packets come without checksums, get no TCP through.
    facts.append("other_config:userspace-tso-enable=true")
    _run("ovs-vsctl", "--no-wait", "set", "Open_vSwitch", ".", *facts)
    services.start(services.OVS_VSWITCHD)
    _run(
        *("ovs-vsctl", "--may-exist", "add-br", "br-int", "--", "set", "Bridge", "br-int"),
        *("datapath_type=netdev", "fail_mode=secure"),
    )
    _forgo_collisions()
    _ensure_provider_bridge(settings)
    services.start(*services.OVN, services.ROUTER_SEGMENTS)


def _forgo_collisions() -> None:
    """Have OVN not ask the switch to look for collisions whenever it commits a connection.

    Version 3.1.0 now and then ends by an assertion then (conn_update_state), and all connections
    hang for seconds.
    """
    known = "datapaths:netdev"
    if not _run("ovs-vsctl", "--if-exists", "get", "Open_vSwitch", ".", known).strip():
        # Else OVN makes it. The switch writes into it what it can do, and ovs-vsctl waits for that.
        create = ("--", "--id=@datapath", "create", "Datapath", "capabilities={}")
        _run("ovs-vsctl", *create, "--", "set", "Open_vSwitch", ".", f"{known}=@datapath")
    datapath = _run("ovs-vsctl", "get", "Open_vSwitch", ".", known).strip()
    _run("ovs-vsctl", "set", "Datapath", datapath, "capabilities:ct_zero_snat=false")


def _ensure_provider_bridge(settings: Settings) -> None:
    mac = Path("/sys/class/net", _UPLINK, "address").read_text().strip()
    _run(
        *("ovs-vsctl", "--may-exist", "add-br", "br-ex", "--", "set", "Bridge", "br-ex"),
        *("datapath_type=netdev", f"other-config:hwaddr={mac}"),
    )
    length = settings.network.cidr.partition("/")[2]
    _run("ip", "address", "flush", "dev", _UPLINK)
    _run("ovs-vsctl", "--may-exist", "add-port", "br-ex", _UPLINK)
    _run("ip", "link", "set", "br-ex", "up")
    _run("ip", "address", "replace", f"{settings.address}/{length}", "dev", "br-ex")
    gateway = networks.gateway(settings.network)
    _run("ip", "route", "replace", "default", "via", gateway, "dev", "br-ex")


def _run(*command: str) -> str:
    return subprocess.run(command, check=True, text=True, stdout=subprocess.PIPE).stdout
