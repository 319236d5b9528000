"""What an operator makes on a new cloud: networks, images, flavors, zones, quotas, the VIM."""

import functools
from typing import Any

import docker
import openstack

from tools.devcloud import networks, recipes
from tools.devcloud.controller import catalog, config_files
from tools.devcloud.controller.image_files import file_of_image
from tools.devcloud.settings import Settings

PRIVATE_NETWORK = "private"
_PRIVATE_CIDR = "10.191.0.0/24"
_ZONES = {"compute-5": "az-2"}  # the other hosts are in Nova's default zone
# vCPUs, memory in MiB and disk in GiB. One vCPU would do for the last two, but a machine that is
# emulated boots on two in half the time.
_FLAVORS = {
    "k8s.master": (2, 2048, 10),
    "k8s.dataplane": (2, 2048, 10),
    "k8s.worker": (2, 1024, 10),
    "k8s.small": (2, 1024, 10),
}
_UNLIMITED = -1
_QUOTAS = {
    "compute": ("cores", "instances", "ram", "server_groups", "server_group_members"),
    "network": ("floatingip", "network", "port", "security_group", "security_group_rule"),
    "volume": ("volumes", "gigabytes"),
}


def ensure(settings: Settings) -> None:
    """Make what is missing."""
    cloud = _connect(settings)
    _ensure_private_network(cloud, settings, _ensure_provider_network(cloud, settings))
    _ensure_flavors(cloud)
    _ensure_zones(cloud)
    _raise_quotas(cloud)
    _ensure_images(cloud)


def count_hypervisors(settings: Settings) -> int:
    """How many compute hosts Nova has discovered."""
    return len(list(_connect(settings).compute.hypervisors()))


def has_volume_backend(settings: Settings) -> bool:
    """Whether Cinder's scheduler knows where volumes can be made."""
    return any(_connect(settings).block_storage.backend_pools())


@functools.cache
def _connect(settings: Settings) -> Any:
    session = catalog.log_in(settings, catalog.USER, catalog.PROJECT)
    return openstack.connection.Connection(session=session, region_name=config_files.REGION)


def _ensure_provider_network(cloud: Any, settings: Settings) -> Any:
    """The network that servers and floating IPs share; this machine is in it."""
    name = config_files.PROVIDER_NETWORK
    network = cloud.network.find_network(name) or cloud.network.create_network(
        name=name,
        is_router_external=True,
        is_shared=True,
        provider_network_type="flat",
        provider_physical_network=name,
    )
    first, last = networks.server_addresses(settings.network)
    if not cloud.network.find_subnet(name):
        cloud.network.create_subnet(
            name=name,
            network_id=network.id,
            ip_version=4,
            cidr=settings.network.cidr,
            gateway_ip=networks.gateway(settings.network),
            allocation_pools=[{"start": first, "end": last}],
            dns_nameservers=list(settings.nameservers),
        )
    return network


def _ensure_private_network(cloud: Any, settings: Settings, outside: Any) -> None:
    """A network of the project's, behind a router."""
    name = PRIVATE_NETWORK
    network = cloud.network.find_network(name) or cloud.network.create_network(name=name, mtu=1500)
    subnet = cloud.network.find_subnet(name) or cloud.network.create_subnet(
        name=name,
        network_id=network.id,
        ip_version=4,
        cidr=_PRIVATE_CIDR,
        dns_nameservers=list(settings.nameservers),
    )
    router = cloud.network.find_router("router") or cloud.network.create_router(
        name="router", external_gateway_info={"network_id": outside.id}
    )
    if not list(cloud.network.ports(device_id=router.id, network_id=network.id)):
        cloud.network.add_interface_to_router(router, subnet_id=subnet.id)


def _ensure_flavors(cloud: Any) -> None:
    present = {flavor.name for flavor in cloud.compute.flavors()}
    for name, (vcpus, ram, disk) in _FLAVORS.items():
        if name not in present:
            cloud.compute.create_flavor(name=name, vcpus=vcpus, ram=ram, disk=disk)


def _ensure_zones(cloud: Any) -> None:
    present = {aggregate.name for aggregate in cloud.compute.aggregates()}
    for host, zone in _ZONES.items():
        if zone not in present:
            aggregate = cloud.compute.create_aggregate(name=zone, availability_zone=zone)
            cloud.compute.add_host_to_aggregate(aggregate, host)


def _raise_quotas(cloud: Any) -> None:
    """No limits: what the machine bears is the limit."""
    for service, names in _QUOTAS.items():
        update = getattr(cloud, f"set_{service}_quotas")
        update(cloud.current_project_id, **dict.fromkeys(names, _UNLIMITED))


def _ensure_images(cloud: Any) -> None:
    engine = docker.from_env(timeout=300)
    for recipe in recipes.OF_SERVERS:
        _ensure_container_image(cloud, recipe)
    _ensure_qemu_image(cloud, engine)


def _ensure_container_image(cloud: Any, recipe: recipes.Recipe) -> None:
    """An image without content: its properties name the image of Docker's."""
    image = cloud.image.find_image(recipe.name) or cloud.image.create_image(
        recipe.name,
        data=b"\0",
        disk_format="raw",
        container_format="bare",
        visibility="public",
        validate_checksum=False,
        img_hv_type="docker",
        docker_image=recipe.tag,
    )
    if image.properties.get("docker_image") != recipe.tag:  # `up` has built it anew
        # With all of them: the SDK would remove the others, of which Glance made one by itself.
        properties = {**image.properties, "docker_image": recipe.tag}
        cloud.image.update_image(image, properties=properties)


def _ensure_qemu_image(cloud: Any, engine: docker.DockerClient) -> None:
    """QEMU's kernel, initial RAM disk and root file system, which lie in an image of Docker's."""
    name = recipes.VM.name
    if cloud.image.find_image(name):
        return
    parts = {}
    for part, file, kind in (("kernel", "vmlinuz", "aki"), ("ramdisk", "initrd", "ari")):
        parts[f"{part}_id"] = _upload(cloud, engine, f"{name}-{part}", file, kind, kind).id
    _upload(
        cloud,
        engine,
        name,
        "root.qcow2",
        "qcow2",
        "bare",
        **parts,
        img_hv_type="qemu",
        # The kernel's check of its timer takes an emulator that has to wait for a CPU for a
        # broken machine, and panics.
        os_command_line="root=/dev/vda rw console=ttyS0 net.ifnames=0 no_timer_check",
        hw_disk_bus="virtio",
        hw_vif_model="virtio",
        hw_rng_model="virtio",
        # The config drive, for which q35 has no IDE.
        hw_cdrom_bus="scsi",
        hw_scsi_model="virtio-scsi",
    )


def _upload(
    cloud: Any,
    engine: docker.DockerClient,
    name: str,
    file: str,
    disk_format: str,
    container_format: str,
    **properties: str,
) -> Any:
    present = cloud.image.find_image(name)
    if present:
        return present
    with file_of_image(engine, recipes.VM.tag, f"/vm/{file}") as data:
        return cloud.image.create_image(
            name,
            data=data,
            disk_format=disk_format,
            container_format=container_format,
            visibility="public",
            validate_checksum=False,
            **properties,
        )


def ensure_default_vim(settings: Settings) -> None:
    """Register the cloud in Tacker, as its user does it."""
    session = catalog.log_in(settings, catalog.USER, catalog.PROJECT)
    vims = f"http://{settings.address}:{catalog.TACKER_PORT}/v1.0/vims"
    if not any(vim["is_default"] for vim in session.get(vims).json()["vims"]):
        session.post(vims, json={"vim": _vim(settings)})


def _vim(settings: Settings) -> dict[str, Any]:
    return {
        "name": "devcloud",
        "type": "openstack",
        "auth_url": config_files.keystone_url(settings),
        "auth_cred": {
            "username": catalog.USER,
            "password": settings.admin_password,
            "user_domain_name": "Default",
            "cert_verify": "False",
        },
        "vim_project": {"name": catalog.PROJECT, "project_domain_name": "Default"},
        "is_default": True,
    }
