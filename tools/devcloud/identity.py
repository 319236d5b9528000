"""Which cloud this is: every checkout has one of its own.

All names on the machine (containers, networks, volumes, folders) come from
here, so that two checkouts never touch each other's.
"""

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[2]

LABEL = "devcloud"  # on every container, network and volume: the cloud's name
SERVER_LABEL = "devcloud.server"  # on the container of a server: its id in Nova
HOST_LABEL = "devcloud.host"  # the compute host that has it
CACHE_LABEL = "devcloud.cache"  # on every image: its digest


def _xdg(variable: str, fallback: str) -> Path:
    return Path(os.environ.get(variable) or Path.home() / fallback)


@dataclass(frozen=True)
class Identity:
    """Names and folders of the cloud that belongs to one checkout."""

    checkout: Path = CHECKOUT

    @property
    def name(self) -> str:
        digest = hashlib.sha256(str(self.checkout).encode()).hexdigest()
        return f"devcloud-{digest[:8]}"

    @property
    def state(self) -> Path:
        """Folder of what lives as long as the cloud: credentials, settings, lock."""
        return _xdg("XDG_STATE_HOME", ".local/state") / "devcloud" / self.name

    @property
    def of_a_run(self) -> Path:
        """File that is there while a run of scenarios has the cloud, which it will remove."""
        return self.state / "of-scenarios"

    @property
    def monitoring(self) -> Path:
        """Folder of what the Prometheus of a cloud with monitoring reads."""
        return self.state / "monitoring"

    @property
    def cache(self) -> Path:
        """Folder of what outlives the cloud and is shared between checkouts."""
        return _xdg("XDG_CACHE_HOME", ".cache") / "devcloud"

    @property
    def network(self) -> str:
        """Name of the Docker network that is the provider network."""
        return f"{self.name}-public"

    @property
    def controller(self) -> str:
        """Name of the container that runs the control plane."""
        return f"{self.name}-controller"

    @property
    def mirror(self) -> str:
        """Name of the container that serves what machines install Kubernetes from."""
        return f"{self.name}-mirror"

    @property
    def labels(self) -> dict[str, str]:
        return {LABEL: self.name}
