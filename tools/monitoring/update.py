"""Brings a folder's targets up to date with Tacker."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from tools.client.errors import ClientError
from tools.client.lcm import Vnf
from tools.monitoring.folder import Folder
from tools.monitoring.instances import Machine, installation, is_monitored, machines

# Reads the addresses of a VNF's machines, by server id, then by name of port or floating IP.
ReadAddresses = Callable[[str], Mapping[str, Mapping[str, str]]]


@dataclass
class Updater:
    """Writes the targets of VNF instances, and removes those of instances that are gone.

    :param names: names or ids of instances; empty for all clusters that are to be monitored
    """

    folder: Folder
    names: Collection[str]
    read_addresses: ReadAddresses
    _known: set[str] = field(default_factory=set)

    def update(self, vnfs: Collection[Vnf]) -> list[str]:
        """Look at each instance, and return what is wrong; a faulty instance's file stays.

        :param vnfs: all instances in Tacker
        """
        faults = [
            f"there is no VNF instance {name} in Tacker's v2 API"
            for name in self.names
            if not any(name in (vnf.id, vnf.name) for vnf in vnfs)
        ]
        stale = {*self.folder.vnf_ids()}
        if self.names:
            stale &= {*self.names} | self._known
        for vnf in vnfs:
            if self.names and not {vnf.id, vnf.name} & {*self.names}:
                continue
            self._known.add(vnf.id)
            try:
                shown = vnf.show()
                if self._has_targets(shown):
                    stale.discard(vnf.id)
                    self._write(shown)
            except Exception as error:  # of Tacker, Heat or Keystone; the next may do
                faults.append(f"VNF {vnf.name or vnf.id}: {error}")
                stale.discard(vnf.id)
        for vnf_id in sorted(stale):
            self.folder.remove_targets(vnf_id)
        return faults

    def _has_targets(self, shown: Mapping[str, Any]) -> bool:
        if shown["instantiationState"] != "INSTANTIATED":
            return False
        if self.names and not installation(shown):
            raise ClientError("is no cluster that these drivers have made through the v2 API")
        return bool(self.names) or is_monitored(shown)

    def _write(self, shown: Mapping[str, Any]) -> None:
        """Write the targets of an instance's machines.

        A machine keeps the address that is in the file: OpenStack does not tell the address any
        more of a server that was deleted, and that is a machine to heal.

        :raises ClientError: if a machine has no address; the others' are written
        """
        known = self.folder.addresses(shown["id"])
        listed = [*machines(shown)]
        if any(machine.node not in known for machine in listed):
            told = self.read_addresses(shown["id"])
            known = {m.node: a for m in listed if (a := _address(m, told))} | known
        self.folder.write_targets(
            shown["id"], [m.target(known[m.node]) for m in listed if m.node in known]
        )
        unknown = [f"{m.node} ({m.ssh_cp})" for m in listed if m.node not in known]
        if unknown:
            raise ClientError(
                f"not monitored: {', '.join(unknown)}, of which Heat shows no address. Heal them"
            )


def _address(machine: Machine, told: Mapping[str, Mapping[str, str]]) -> str:
    return told.get(machine.server_id, {}).get(machine.ssh_cp, "")
