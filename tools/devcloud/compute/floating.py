"""Floating IPs: addresses of the controller's, translated to those of ports.

As a router of Neutron's does: the machine behind one knows nothing of it.
"""

import subprocess

# Answers go back the way the question came, through the translation.
_RETURN = ("POSTROUTING", "-m", "conntrack", "--ctstate", "DNAT", "-j", "MASQUERADE")


def connect(floating: str, fixed: str) -> None:
    """Let what is sent to the one address reach the other."""
    subprocess.run(["ip", "address", "replace", f"{floating}/32", "dev", "lo"], check=True)
    for rule in (*_rules(floating, fixed), _RETURN):
        if not _iptables("-C", rule, check=False):
            _iptables("-A", rule)


def disconnect(floating: str, fixed: str) -> None:
    """Undo it; what is not there is fine."""
    for rule in _rules(floating, fixed):
        _iptables("-D", rule, check=False)
    delete = ["ip", "address", "delete", f"{floating}/32", "dev", "lo"]
    subprocess.run(delete, check=False, stderr=subprocess.DEVNULL)


def _rules(floating: str, fixed: str) -> list[tuple[str, ...]]:
    translation = ("-d", floating, "-j", "DNAT", "--to-destination", fixed)
    return [("PREROUTING", *translation), ("OUTPUT", *translation)]


def _iptables(action: str, rule: tuple[str, ...], check: bool = True) -> bool:
    command = ["iptables", "--wait", "--table", "nat", action, *rule]
    stderr = None if check else subprocess.DEVNULL
    return subprocess.run(command, check=check, stderr=stderr).returncode == 0
