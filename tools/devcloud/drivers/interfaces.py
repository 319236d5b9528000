"""Interfaces of containers: one end in the container, the other in Open vSwitch."""

import subprocess
from pathlib import Path
from typing import Any

# The one host that Neutron binds ports to: where ovn-controller runs. So compute hosts, which
# Nova tells apart, share one Open vSwitch.
CHASSIS = "controller"
_BRIDGE = "br-int"
_PROCESSES = Path("/hostproc")  # the machine's /proc, where the containers' processes are


def plug(pid: int, number: int, vif: Any, server: str) -> None:
    """Give a container its interface eth<number>, as a vif of Nova's describes it.

    :param pid: of the container's first process, on the machine
    """
    unplug(vif)
    outside, inside, target = vif["devname"], f"new{vif['id'][:11]}", f"eth{number}"
    mtu = str(vif["network"]["meta"].get("mtu") or 1500)
    _run(
        *("ip", "link", "add", outside, "mtu", mtu, "up", "type", "veth"),
        *("peer", "name", inside, "mtu", mtu, "address", vif["address"]),
    )
    _run("ip", "link", "set", inside, "netns", str(_namespace(pid)))
    commands = "\n".join(_configuration(vif, inside, target, default_route=number == 0))
    _run(*_inside(pid), "ip", "-batch", "-", stdin=commands)
    identifiers = {
        "iface-id": vif["id"],
        "iface-status": "active",
        "attached-mac": vif["address"],
        "vm-uuid": server,
    }
    _run(
        *("ovs-vsctl", "--may-exist", "add-port", _BRIDGE, outside, "--", "set", "Interface"),
        *(outside, *(f'external_ids:{key}="{value}"' for key, value in identifiers.items())),
    )


def unplug(vif: Any) -> None:
    """Remove the interface of a vif; one that is not there is fine."""
    _run("ovs-vsctl", "--if-exists", "del-port", _BRIDGE, vif["devname"])
    if Path("/sys/class/net", vif["devname"]).exists():
        # It may go at this moment: with the container, whose end is its other one.
        _run("ip", "link", "delete", vif["devname"], check=False)


def set_up(vif: Any) -> None:
    """Set the interface of a vif up; a machine that is off has none."""
    if Path("/sys/class/net", vif["devname"]).exists():
        _run("ip", "link", "set", vif["devname"], "up")


def count(pid: int) -> int:
    """How many interfaces a container has."""
    shown = _run(*_inside(pid), "ip", "-oneline", "link", "show", "type", "veth")
    return len(shown.splitlines())


def _configuration(vif: Any, name: str, target: str, default_route: bool) -> list[str]:
    """Commands of `ip -batch`. The container starts when it sees the interface's final name."""
    subnets = vif["network"]["subnets"]
    commands = ["link set lo up"]
    for subnet in subnets:
        length = subnet["cidr"].partition("/")[2]
        commands += [f"address add {ip['address']}/{length} dev {name}" for ip in subnet["ips"]]
    # The kernel cuts large segments itself: Open vSwitch would cut them by the MTU of the other end
    # alone, and a node that forwards them into a network of a smaller MTU, as to a pod, drops them.
    commands += [f"link set {name} gso_max_segs 1 name {target}", f"link set {target} up"]
    for subnet in subnets:
        gateway = (subnet.get("gateway") or {}).get("address")
        if gateway and default_route:
            commands.append(f"route replace default via {gateway} dev {target}")
        for route in subnet.get("routes") or []:
            commands.append(f"route replace {route['cidr']} via {route['gateway']['address']}")
    return commands


def _namespace(pid: int) -> Path:
    return _PROCESSES / str(pid) / "ns" / "net"


def _inside(pid: int) -> tuple[str, ...]:
    return ("nsenter", f"--net={_namespace(pid)}")


def _run(*command: str, check: bool = True, stdin: str | None = None) -> str:
    done = subprocess.run(command, input=stdin, text=True, capture_output=True, check=False)
    if check and done.returncode:
        raise RuntimeError(f"{' '.join(command)}: {done.stderr.strip()}")
    return done.stdout
