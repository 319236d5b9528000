"""The compute hosts that the cloud simulates, and the choice of a host for a server."""

from collections import Counter
from collections.abc import Collection, Iterable

# Compute host to availability zone.
HOSTS = {f"compute-{number}": "nova" for number in range(1, 5)} | {"compute-5": "az-2"}


class NoValidHost(Exception):
    """No host satisfies the request; worded as Nova words it."""

    def __init__(self) -> None:
        super().__init__("No valid host was found. There are not enough hosts available.")


def choose_host(used: Iterable[str], zone: str | None, excluded: Collection[str]) -> str:
    """The least used host of ``zone`` (default: nova) that is not ``excluded``.

    ``used`` names the host of every server there is, once per server. Raises
    NoValidHost when nothing is left.
    """
    load = Counter(used)
    candidates = [
        host
        for host, its_zone in HOSTS.items()
        if its_zone == (zone or "nova") and host not in excluded
    ]
    if not candidates:
        raise NoValidHost
    return min(candidates, key=lambda host: (load[host], host))
