"""What the scenarios need of a cloud. The names of images and networks are CONFIG's."""

from dataclasses import dataclass

from tools.client.config import CONFIG

SERVICES = (
    "identity", "image", "compute", "network", "block-storage", "orchestration",
    "nfv-orchestration",
)
# The scenarios look at the compute hosts of servers, which only administrators may do.
ROLE = "admin"


@dataclass(frozen=True)
class Flavor:
    """The least size of a flavor; memory in MiB, disk in GiB."""

    name: str
    vcpus: int
    ram: int
    disk: int


@dataclass(frozen=True)
class Image:
    """An image of a release of Debian, with packages that `k8s-vnf image build` preinstalls."""

    name: str
    debian: int
    packages: tuple[str, ...] = ()


FLAVORS = (
    Flavor("k8s.master", 2, 2048, 10),
    Flavor("k8s.dataplane", 2, 2048, 10),
    Flavor("k8s.worker", 1, 1024, 10),
    Flavor("k8s.small", 1, 1024, 10),
)
# Servers at once at most: the masters of a control plane that was scaled out; the workers on five
# compute hosts, and one that finds no host; the private registry and another registry.
_SERVERS = {"k8s.master": 5, "k8s.worker": 6, "k8s.small": 2}
_SIZES = {flavor.name: flavor for flavor in FLAVORS}

# What must be left of the project's quota, by the options of `openstack quota set`.
COMPUTE_QUOTA = {
    "instances": sum(_SERVERS.values()),
    "cores": sum(_SIZES[name].vcpus * count for name, count in _SERVERS.items()),
    "ram": sum(_SIZES[name].ram * count for name, count in _SERVERS.items()),
}
NETWORK_QUOTA = {
    "ports": sum(_SERVERS.values()) + 1,  # the virtual IP
    "floating-ips": 3,
    "secgroups": 6,
    "secgroup-rules": 60,
}
# Of three volumes that Heat replaces, the old and the new ones exist at the same time.
VOLUME_QUOTA = {"volumes": 6, "gigabytes": 42}


def flavors() -> tuple[Flavor, ...]:
    """The flavors of the packages and of test machines."""
    if CONFIG.flavor in _SIZES:
        return FLAVORS
    small = _SIZES["k8s.small"]
    return (*FLAVORS, Flavor(CONFIG.flavor, small.vcpus, small.ram, small.disk))


def images() -> tuple[Image, ...]:
    """The images of the packages and of test machines."""
    found = {
        CONFIG.node_image: Image(CONFIG.node_image, 13),
        CONFIG.docker_image: Image(CONFIG.docker_image, 13, ("docker.io", "docker-cli")),
        CONFIG.vm_image: Image(CONFIG.vm_image, 12),
    }
    return tuple(found.values())
