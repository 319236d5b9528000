"""A Nova compute driver whose servers are system containers of the machine's Docker engine.

The servers of all compute hosts run beside the controller, in network namespaces of their own;
their interfaces are plugged into the controller's Open vSwitch.
"""

import contextlib
import subprocess
import threading
import time
from pathlib import Path
from typing import Any

import docker
import os_resource_classes as orc
from nova import context as nova_context
from nova import exception, objects
from nova.api.metadata import base as instance_metadata
from nova.compute import power_state
from nova.virt import driver, hardware
from oslo_config import cfg
from oslo_log import log as logging

from tools.devcloud import archives, machine
from tools.devcloud.drivers import CONSOLES, interfaces
from tools.devcloud.identity import HOST_LABEL, LABEL, SERVER_LABEL
from tools.devcloud.settings import Settings

CONF = cfg.CONF
LOG = logging.getLogger(__name__)

_CONSOLE_LINES = 5000
_STOP_LIMIT = 20  # seconds
_REBOOT_STATUS = "129"  # of a container that reboots: its first process got a SIGHUP, reboot(2)
# What each host offers. The containers share the machine: these are no limits.
_OFFER = {orc.VCPU: 16, orc.MEMORY_MB: 32768, orc.DISK_GB: 200}
_POWER_STATES = {
    "created": power_state.SHUTDOWN,
    "dead": power_state.CRASHED,
    "exited": power_state.SHUTDOWN,
    "paused": power_state.PAUSED,
    "restarting": power_state.RUNNING,
    "running": power_state.RUNNING,
}
# Folders that need a real file system below them, not Docker's layers.
_DISKS = ("/var/lib/docker", "/var/lib/containerd", "/var/lib/kubelet", "/var/lib/etcd")
_CONFIG_DRIVE = "var/lib/cloud/seed/config_drive"


class ContainerDriver(driver.ComputeDriver):
    """Servers of one compute host; see nova.virt.driver for the methods."""

    capabilities = {
        **driver.ComputeDriver.capabilities,
        "has_imagecache": False,
        "supports_attach_interface": True,
        "supports_image_type_raw": True,
    }

    def __init__(self, virtapi: Any) -> None:
        super().__init__(virtapi)
        self._settings = Settings.load()
        self._docker = docker.from_env(timeout=300)

    # The host

    def init_host(self, host: str) -> None:
        self._host = host
        self._docker.ping()
        threading.Thread(target=self._follow_reboots, daemon=True).start()

    def get_available_nodes(self, refresh: bool = False) -> list[str]:
        return [self._host]

    def get_available_resource(self, nodename: str) -> dict[str, Any]:
        return {
            "vcpus": _OFFER[orc.VCPU],
            "memory_mb": _OFFER[orc.MEMORY_MB],
            "local_gb": _OFFER[orc.DISK_GB],
            "vcpus_used": 0,
            "memory_mb_used": 0,
            "local_gb_used": 0,
            "disk_available_least": _OFFER[orc.DISK_GB],
            "hypervisor_type": "docker",
            "hypervisor_version": 1,
            "hypervisor_hostname": nodename,
            "cpu_info": "{}",
            "numa_topology": None,
            "supported_instances": [("x86_64", "docker", "exe")],
        }

    def get_host_uptime(self) -> str:
        return subprocess.run(["uptime"], check=True, text=True, stdout=subprocess.PIPE).stdout

    def update_provider_tree(self, provider_tree: Any, nodename: str, *_: Any, **__: Any) -> None:
        inventory = {
            name: {
                "total": total,
                "reserved": 0,
                "min_unit": 1,
                "max_unit": total,
                "step_size": 1,
                "allocation_ratio": 1.0,
            }
            for name, total in _OFFER.items()
        }
        provider_tree.update_inventory(nodename, inventory)

    def network_binding_host_id(self, context: Any, instance: Any) -> str:
        return interfaces.CHASSIS

    # Servers

    def list_instances(self) -> list[str]:
        return [container.name for container in self._containers()]

    def list_instance_uuids(self) -> list[str]:
        return [container.labels[SERVER_LABEL] for container in self._containers()]

    def get_num_instances(self) -> int:
        return len(self._containers())

    def get_info(self, instance: Any, use_cache: bool = True) -> Any:
        return hardware.InstanceInfo(state=_POWER_STATES[self._find(instance).status])

    def spawn(
        self, context: Any, instance: Any, image_meta: Any, injected_files: Any,
        admin_password: str, allocations: Any, network_info: Any = None,
        block_device_info: Any = None, *_: Any, **__: Any,
    ) -> None:
        if driver.block_device_info_get_mapping(block_device_info):
            raise exception.Invalid("servers that are containers take no volumes")
        vifs = network_info or []
        began = time.monotonic()
        self._create(instance, vifs, injected_files, admin_password)
        events = [("network-vif-plugged", vif["id"]) for vif in vifs if not vif.get("active", True)]
        with self.virtapi.wait_for_instance_event(
            instance,
            events,
            timeout=CONF.vif_plugging_timeout,
            error_callback=_refuse_unplugged,
        ):
            self._start(instance, vifs)
        LOG.info("made in %.1f s", time.monotonic() - began, instance=instance)

    def destroy(self, context: Any, instance: Any, network_info: Any, *_: Any, **__: Any) -> None:
        with contextlib.suppress(exception.InstanceNotFound, docker.errors.NotFound):
            container = self._find(instance)
            console = Path(CONSOLES, f"{instance.hostname}-{instance.uuid[:8]}.log")
            console.parent.mkdir(parents=True, exist_ok=True)
            console.write_bytes(container.logs(tail=_CONSOLE_LINES))
            machine.remove(container)
        self.unplug_vifs(instance, network_info)

    cleanup = destroy

    def power_off(self, instance: Any, timeout: int = 0, retry_interval: int = 0) -> None:
        machine.stop(self._find(instance), min(timeout or _STOP_LIMIT, _STOP_LIMIT))

    def power_on(self, context: Any, instance: Any, network_info: Any, *_: Any, **__: Any) -> None:
        if self._find(instance).status != "running":
            self._start(instance, network_info)

    def reboot(
        self, context: Any, instance: Any, network_info: Any, reboot_type: str, *_: Any, **__: Any
    ) -> None:
        if reboot_type == "HARD":
            machine.stop(self._find(instance), 0)
        else:
            self.power_off(instance)
        self._start(instance, network_info)

    def get_console_output(self, context: Any, instance: Any) -> bytes:
        return bytes(self._find(instance).logs(tail=_CONSOLE_LINES))

    # Interfaces

    def plug_vifs(self, instance: Any, network_info: Any) -> None:
        pid = self._find(instance).attrs["State"]["Pid"]
        for number, vif in enumerate(network_info):
            interfaces.plug(pid, number, vif, instance.uuid)

    def unplug_vifs(self, instance: Any, network_info: Any) -> None:
        for vif in network_info or []:
            interfaces.unplug(vif)

    def attach_interface(self, context: Any, instance: Any, image_meta: Any, vif: Any) -> None:
        pid = self._find(instance).attrs["State"]["Pid"]
        interfaces.plug(pid, interfaces.count(pid), vif, instance.uuid)

    def detach_interface(self, context: Any, instance: Any, vif: Any) -> None:
        interfaces.unplug(vif)

    # Containers

    def _containers(self) -> list[Any]:
        labels = [f"{LABEL}={self._settings.name}", f"{HOST_LABEL}={self._host}"]
        found: list[Any] = self._docker.containers.list(
            all=True, filters={"label": labels}, ignore_removed=True
        )
        return found

    def _find(self, instance: Any) -> Any:
        try:
            return self._docker.containers.get(self._name(instance))
        except docker.errors.NotFound:
            raise exception.InstanceNotFound(instance_id=instance.uuid) from None

    def _name(self, instance: Any) -> str:
        return f"{self._settings.name}-{instance.uuid}"

    def _create(self, instance: Any, vifs: Any, files: Any, admin_password: str) -> None:
        with contextlib.suppress(exception.InstanceNotFound):  # of a build that broke off
            machine.remove(self._find(instance))
        drive = _config_drive(instance, vifs, files, admin_password)
        subnets = [subnet for vif in vifs for subnet in vif["network"]["subnets"]]
        nameservers = [dns["address"] for subnet in subnets for dns in subnet["dns"]]
        machine.create(
            self._docker,
            machine.Machine(
                name=self._name(instance),
                hostname=instance.hostname,
                image=instance.system_metadata["image_docker_image"],
                labels={
                    LABEL: self._settings.name,
                    HOST_LABEL: self._host,
                    SERVER_LABEL: instance.uuid,
                },
                disks=_DISKS,
                environment={"DEVCLOUD_INTERFACES": str(len(vifs))},
                nameservers=tuple(dict.fromkeys(nameservers)),
                drop_capabilities=self._settings.drop_capabilities,
                archive=archives.tar({f"{_CONFIG_DRIVE}/{path}": data for path, data in drive}),
            ),
        )

    def _follow_reboots(self) -> None:
        """Start each server again that reboots itself: for Docker it ends."""
        labels = [f"{LABEL}={self._settings.name}", f"{HOST_LABEL}={self._host}"]
        engine = docker.from_env(timeout=None)  # there may be no event for hours
        for event in engine.events(decode=True, filters={"event": "die", "label": labels}):
            attributes = event["Actor"]["Attributes"]
            if attributes.get("exitCode") != _REBOOT_STATUS:
                continue
            try:
                found = objects.Instance.get_by_uuid(
                    nova_context.get_admin_context(), attributes[SERVER_LABEL]
                )
                self._start(found, found.get_network_info())
            except Exception:  # of one server, which may be deleted just now
                LOG.exception("server %s does not boot again", attributes[SERVER_LABEL])

    def _start(self, instance: Any, vifs: Any) -> None:
        self._find(instance).start()
        self.plug_vifs(instance, vifs)


def _config_drive(
    instance: Any, vifs: Any, files: Any, admin_password: str
) -> list[tuple[str, bytes]]:
    """The files of Nova's config drive, by their paths on it."""
    metadata = instance_metadata.InstanceMetadata(
        instance,
        content=files,
        extra_md={"admin_pass": admin_password} if admin_password else {},
        network_info=vifs,
    )
    return [
        (path, data if isinstance(data, bytes) else data.encode())
        for path, data in metadata.metadata_for_config_drive()
    ]


def _refuse_unplugged(event_name: str, instance: Any) -> None:
    raise exception.VirtualInterfaceCreateException
