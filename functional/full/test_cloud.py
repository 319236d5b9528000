"""Features of a cloud that drivers and packages rely on."""

from typing import Any

from functional.scenario import Scenario
from tools.client import stacks
from tools.client.config import CONFIG
from tools.client.log import step
from tools.client.machines import Remote


class CloudScenario(Scenario):
    """Server groups spread servers over hosts; servers have their volumes as disks."""

    def test_server_group_spreads_servers_over_hosts(self) -> None:
        self.skip_with_fewer_hosts(2)
        hints: dict[str, Any] = {"scheduler_hints": {"group": {"get_resource": "group"}}}
        group = {
            "type": "OS::Nova::ServerGroup",
            "properties": {"policies": ["anti-affinity"]},
        }
        resources = {
            "group": group,
            **stacks.server("one", CONFIG.docker_image, **hints),
            **stacks.server("two", CONFIG.docker_image, **hints),
        }
        with stacks.stack(self.cloud, resources) as stack_id:
            made = {n: stacks.physical_id(self.cloud, stack_id, n) for n in ("one", "two", "group")}
            group_id = made.pop("group")
            servers = [self.cloud.compute.get_server(server_id) for server_id in made.values()]
            self.assertEqual([[group_id]] * 2, [server.server_groups for server in servers])
            hosts = {server.compute_host for server in servers}
            self.assertEqual(2, len(hosts), str(hosts))

    def test_volume_is_a_disk_that_keeps_its_data_over_a_reboot(self) -> None:
        mapping = [{"volume_id": {"get_resource": "volume"}, "boot_index": -1}]
        resources = {
            "volume": {"type": "OS::Cinder::Volume", "properties": {"size": 1}},
            **stacks.server("machine", CONFIG.vm_image, block_device_mapping_v2=mapping),
        }
        with stacks.stack(self.cloud, resources) as stack_id:
            machine = Remote(stacks.address(self.cloud, stack_id, "machine_port"))
            with step("boot a machine with a volume"):
                machine.await_login()
            volume_id = stacks.physical_id(self.cloud, stack_id, "volume")
            disk = f"/dev/disk/by-id/virtio-{volume_id[:20]}"
            machine.run(f"sudo mkfs.ext4 -q {disk} && sudo mount {disk} /mnt")
            machine.run("echo kept | sudo tee /mnt/file && sudo umount /mnt")
            with step("reboot it"):
                machine.reboot()
            machine.run(f"sudo mount {disk} /mnt")
            self.assertEqual("kept\n", machine.run("cat /mnt/file"))
