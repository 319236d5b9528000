"""The services that the process around an operation gives it."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from mgmt_drivers.clock import SYSTEM_CLOCK, Clock
from mgmt_drivers.engine.dry_run import DryRun
from mgmt_drivers.inventory import Stacks
from mgmt_drivers.secret import Masker
from mgmt_drivers.ssh.connection import BOOT_LIMIT, Endpoint, connect
from mgmt_drivers.ssh.hostkeys import HostKeys
from mgmt_drivers.ssh.session import Session

KEY_PREFIX = "mgmt_driver_"  # begins the keys of a Store in the metadata of a VNF instance


class Store(Protocol):
    """Values kept with the VNF instance from hook to hook, such as JSON can hold."""

    def load(self, key: str, default: Any) -> Any:
        """The value that was saved last, or ``default``."""

    def save(self, key: str, value: Any) -> None:
        """Keep a value, also if the operation fails later."""

    def save_secret(self, key: str, value: Any) -> None:
        """Keep a value that no error may show, perhaps only if the operation ends well."""


@dataclass(frozen=True)
class Services:
    """Everything outside of the driver that an operation uses.

    ``stacks`` is the Heat that holds the VNF. ``trace_folder`` is where traces go, if
    anywhere. ``ssh_timeout`` is how many seconds a new machine has to answer on its SSH port.
    ``dry_run`` collects what the operation would do; nothing is changed then. ``threads`` is
    on how many machines the operation works in parallel.
    """

    stacks: Stacks
    store: Store
    trace_folder: Path | None = None
    ssh_timeout: float = BOOT_LIMIT
    connect: Callable[[Endpoint, HostKeys, Masker, float], Session] = connect
    clock: Clock = SYSTEM_CLOCK
    dry_run: DryRun | None = None
    threads: int = 256  # the machines of the largest VNFs
