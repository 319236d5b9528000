"""A cloud that has all that the scenarios need, and whose parts a test takes away."""

from types import SimpleNamespace
from typing import Any

from tools.preflight.requirements import FLAVORS


def thing(**attributes: Any) -> Any:
    return SimpleNamespace(**attributes)


def _limits(**values: Any) -> Any:
    return thing(absolute=thing(**values))


class FakeCloud:
    """What of an openstacksdk connection the checks use."""

    current_project = thing(id="p1", name="nfv")
    current_project_id = "p1"

    def __init__(self) -> None:
        self.services = {
            "identity", "image", "compute", "network", "block-storage", "orchestration",
            "nfv-orchestration",
        }
        names = ("node-debian-13", "node-debian-13-docker", "vm-debian-12")
        self.images = {name: thing(status="active", properties={}) for name in names}
        self.image_space = {"image_size_total": {"limit": 2000, "usage": 0}}
        self.flavors = {flavor.name: flavor for flavor in FLAVORS}
        self.hypervisors = [thing(hypervisor_type="QEMU", state="up", status="enabled")]
        self.instances_used, self.ports_used = 0, 0
        self.networks = {
            "public": thing(
                id="n1", name="public", is_shared=True, project_id="other", is_router_external=True
            ),
            "private": thing(
                id="n2", name="private", is_shared=False, project_id="p1", is_router_external=False
            ),
        }
        public = thing(id="s1", cidr="127.0.0.0/8", gateway_ip="127.0.0.1", is_dhcp_enabled=True)
        private = thing(id="s2", cidr="10.20.0.0/24", gateway_ip=None, is_dhcp_enabled=True)
        self.subnets = {"n1": [public], "n2": [private]}
        self.routers = [thing(id="r1", external_gateway_info={"network_id": "n1"})]
        self.ports = [thing(network_id="n2", device_id="r1")]
        self.config = thing(
            get_auth_args=lambda: {"username": "nfv_user"}, get_region_name=lambda: "RegionOne"
        )

    def authorize(self) -> None:
        pass

    def endpoint_for(self, service: str) -> str | None:
        return f"http://{service}" if service in self.services else None

    @property
    def image(self) -> Any:
        usage = thing(ok=True, json=lambda: {"usage": self.image_space})
        return thing(
            find_image=lambda name, ignore_missing=True: self.images.get(name),
            get={"/info/usage": usage}.get,
        )

    @property
    def compute(self) -> Any:
        limits = _limits(
            instances=20, instances_used=self.instances_used, total_cores=-1, total_cores_used=9,
            total_ram=51200, total_ram_used=0,
        )
        return thing(
            find_flavor=self.flavors.get,
            hypervisors=lambda details: self.hypervisors,
            get_limits=lambda: limits,
        )

    @property
    def network(self) -> Any:
        names = ("ports", "floating_ips", "security_groups", "security_group_rules")
        quota = thing(**{name: {"limit": 100, "used": self.ports_used} for name in names})
        return thing(
            find_network=self.networks.get,
            subnets=lambda network_id, ip_version: self.subnets[network_id],
            routers=lambda: self.routers,
            ports=lambda network_id: [p for p in self.ports if p.network_id == network_id],
            get_quota=lambda project, details: quota,
        )

    @property
    def block_storage(self) -> Any:
        limits = _limits(
            max_total_volumes=10, total_volumes_used=0, max_total_volume_gigabytes=1000,
            total_gigabytes_used=0,
        )
        return thing(get_limits=lambda: limits)


def vim(**changes: Any) -> dict[str, Any]:
    """The default VIM, as Tacker lists it."""
    return {
        "id": "v1", "name": "VIM0", "is_default": True, "status": "ACTIVE", "tenant_id": "p1",
        "vim_project": {"name": "nfv"}, **changes,
    }
