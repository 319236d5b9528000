"""The services that the process around an operation provides."""

import json
from collections.abc import Callable, Mapping
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from mgmt_drivers.clock import SYSTEM_CLOCK, Clock
from mgmt_drivers.engine.dry_run import DryRun
from mgmt_drivers.errors import DamagedMetadata
from mgmt_drivers.inventory import Stacks
from mgmt_drivers.secret import Masker
from mgmt_drivers.ssh.connection import Endpoint
from mgmt_drivers.ssh.handshake import BOOT_LIMIT, connect
from mgmt_drivers.ssh.hostkeys import HostKeys
from mgmt_drivers.ssh.session import Session

KEY_PREFIX = "mgmt_driver_"  # prefix of a Store's keys in the metadata of a VNF instance


def load_kept(metadata: Mapping[str, Any] | None, key: str, default: Any) -> Any:
    """Load a Store's value, which users may change; raises MgmtDriverError if it is damaged."""
    name = f"{KEY_PREFIX}{key}"
    text = (metadata or {}).get(name)
    if not text:
        return default
    try:
        value = json.loads(text)
    except (TypeError, ValueError, RecursionError):
        value = None
    if value is None or not isinstance(value, type(value if default is None else default)):
        raise DamagedMetadata(
            f"{name} in the metadata of the VNF instance is damaged: restore the value from an "
            "earlier show of the VNF instance"
        )
    return value


class Store(Protocol):
    """Keeps JSON values with the VNF instance from hook to hook; threads may save together."""

    def load(self, key: str, default: Any) -> Any:
        """Return the value that was saved last, or ``default``."""

    def save(self, key: str, value: Any) -> None:
        """Keep a value, even if the operation fails later."""

    def save_secret(self, key: str, value: Any) -> None:
        """Keep a value that no error may show, perhaps only if the operation ends well."""


@dataclass(frozen=True)
class Services:
    """Everything outside of the driver that an operation uses.

    ``stacks`` is the Heat that holds the VNF. ``trace_folder`` is the folder for traces, or None
    for no trace. ``ssh_timeout`` is the limit in seconds for a new machine to answer on its SSH
    port. ``dry_run`` collects the predictions of a dry run, which changes nothing. ``threads`` is
    the number of machines on which the operation works in parallel, in a ``pool`` of threads.
    """

    stacks: Stacks
    store: Store
    trace_folder: Path | None = None
    ssh_timeout: float = BOOT_LIMIT
    connect: Callable[[Endpoint, HostKeys, Masker, float], Session] = connect
    clock: Clock = SYSTEM_CLOCK
    dry_run: DryRun | None = None
    threads: int = 256  # the machines of the largest VNFs
    pool: Callable[[int], Executor] = ThreadPoolExecutor
