"""What a cloud lacks for one request to instantiate a VNF, by the VNF package."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from openstack.connection import Connection

from mgmt_drivers.tacker.vnfd import Vnfd, cps
from tools.client.config import tacker
from tools.dry_run import numbers
from tools.preflight import checks, compute, images, networks, quota, vims
from tools.preflight.missing import Missing
from tools.preflight.requirements import Flavor

_SIZE = re.compile(r"([0-9.]+) *([KMGT]i?)?B", re.IGNORECASE)
_MIB = {"": 2**-20, "K": 2**-10, "M": 1, "G": 2**10, "T": 2**20}
_OWN_CP = "tosca.nodes.nfv.Cp"
_VOLUME = "virtual_storage"  # requirement of a VDU


@dataclass(frozen=True)
class Needs:
    """What machines need; ``counts`` are the numbers of machines, by VDU."""

    vnfd: Vnfd
    counts: Mapping[str, int]
    body: Mapping[str, Any]

    def missing(self, connection: Connection) -> list[Missing]:
        """:raises Exception: when the cloud refuses the login"""
        return checks.run(connection, (
            (("image",), self._images),
            (("compute",), self._flavors),
            (("compute",), self._compute_quota),
            (("network",), self._networks),
            (("network",), self._ports),
            (("block-storage",), self._volumes),
            (("nfv-orchestration",), self._vims),
        ))

    def _vdus(self) -> Iterator[tuple[Mapping[str, Any], int]]:
        """The VDUs that have machines, each with their number."""
        nodes = self.vnfd["topology_template"]["node_templates"]
        return ((nodes[name], count) for name, count in self.counts.items() if count)

    def _images(self, connection: Connection) -> list[Missing]:
        data = (vdu.get("properties", {}).get("sw_image_data", {}) for vdu, _ in self._vdus())
        names = dict.fromkeys(each["name"] for each in data if "name" in each)
        hint = "`k8s-vnf image build` makes an image of a cloud image, or build the package anew."
        return [
            Missing(f"there is no active image {name}", hint=hint)
            for name in names
            if not images.is_active(connection, name)
        ]

    def _flavors(self, connection: Connection) -> list[Missing]:
        return compute.missing_flavors(connection, dict.fromkeys(f for f, _ in self._sizes()))

    def _sizes(self) -> Iterator[tuple[Flavor, int]]:
        for vdu, count in self._vdus():
            wanted = vdu.get("capabilities", {}).get("virtual_compute", {}).get("properties", {})
            named = wanted.get("requested_additional_capabilities", {}).get("properties", {})
            if name := named.get("requested_additional_capability_name"):
                disks = wanted.get("virtual_local_storage") or [{}]
                yield Flavor(
                    name,
                    int(wanted.get("virtual_cpu", {}).get("num_virtual_cpu", 0)),
                    _mib(wanted.get("virtual_memory", {}).get("virtual_mem_size")),
                    _mib(disks[0].get("size_of_storage")) >> 10,
                ), count

    def _compute_quota(self, connection: Connection) -> list[Missing]:
        needed = Counter(instances=sum(self.counts.values()))
        for flavor, count in self._sizes():
            shown = connection.compute.find_flavor(flavor.name) or flavor
            needed.update(cores=count * shown.vcpus, ram=count * shown.ram)
        return quota.missing_compute(connection, needed)

    def _networks(self, connection: Connection) -> list[Missing]:
        links = (link["resourceId"] for link in self.body["extVirtualLinks"])
        hint = "Name an existing network in extVirtualLinks, or have an administrator make it."
        return [
            missing
            for name in dict.fromkeys(links)
            for missing in networks.missing_of_machines(connection, name, hint)[0]
        ]

    def _ports(self, connection: Connection) -> list[Missing]:
        """Ports of machines, and of what is the VNF's own, such as a virtual IP."""
        nodes = self.vnfd["topology_template"]["node_templates"].values()
        own = sum(node.get("type") == _OWN_CP for node in nodes)
        ports = own + sum(self.counts.get(vdu, 0) for vdu in cps(self.vnfd).values())
        return quota.missing_network(connection, {"ports": ports})

    def _volumes(self, connection: Connection) -> list[Missing]:
        nodes = self.vnfd["topology_template"]["node_templates"]
        needed = Counter[str]()
        for vdu, count in self._vdus():
            for requirement in vdu.get("requirements") or ():
                if name := requirement.get(_VOLUME):
                    data = nodes[name]["properties"]["virtual_block_storage_data"]
                    size = _mib(data["size_of_storage"]) >> 10
                    needed.update(volumes=count, gigabytes=count * size)
        return quota.missing_volumes(connection, needed) if needed else []

    def _vims(self, connection: Connection) -> list[Missing]:
        given = self.body["vimConnectionInfo"]
        infos = given if isinstance(given, list) else list(given.values())
        client = tacker(connection)
        known = {vim["id"]: vim for vim in client.list_vims()["vims"]}
        found: list[Missing] = []
        for info in infos:
            vim_id = info.get("vimId")
            if not vim_id:  # Tacker takes the default VIM
                found += vims.missing(connection, client)
            elif vim_id not in known:
                if not (info.get("interfaceInfo") and info.get("accessInfo")):  # v2: a VIM itself
                    hint = "`openstack vim list` shows the ids."
                    found.append(Missing(f"Tacker has no VIM {vim_id}", hint=hint))
            elif known[vim_id]["status"] not in vims.USABLE:
                found.append(vims.unusable(known[vim_id]))
        return found


def _mib(size: Any) -> int:
    """A scalar-unit.size of TOSCA in MiB; 0 if there is none."""
    match = _SIZE.fullmatch(str(size or ""))
    return int(float(match[1]) * _MIB[(match[2] or "")[:1].upper()]) if match else 0


def needs(vnfd: Vnfd, body: Mapping[str, Any]) -> Needs:
    """:raises ParameterError: if the VNFD has no such instantiation level"""
    level = body.get("instantiationLevelId")
    return Needs(vnfd, numbers.instantiated(vnfd, level), body)
