"""Whom phases of any new machine concern."""

from collections.abc import Sequence
from typing import Protocol

from mgmt_drivers.engine.phase import Lanes, at_once
from mgmt_drivers.host.host import Host
from mgmt_drivers.params.proxy import Proxy


class NewMachines(Protocol):
    """What these phases need to know of an operation."""

    @property
    def new_hosts(self) -> Sequence[Host]: ...

    @property
    def proxy(self) -> Proxy | None: ...


class OnNewMachines:
    """On every machine that has come, whatever it is to be."""

    def select(self, context: NewMachines) -> Lanes:
        return at_once(context.new_hosts)
