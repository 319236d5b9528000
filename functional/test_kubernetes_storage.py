"""A storage server and what becomes of its volume, in a cluster whose nodes are containers."""

from functional import shared
from functional.clusters import MASTER
from functional.report import say
from functional.storage import StorageScenario

_EXPORT = "/volume/nfs/pv1"


class StorageServer(StorageScenario):
    """Pods that mount a volume need nodes with NFS in their kernel: see the full scenarios."""

    def test_storage_server(self) -> None:
        self.images = shared.registry()
        package = self.package_of(overlays=[f"storage{self.api.variant}"])
        self.faults_are_refused_together(package)

        vnf = self.vnf(package)
        self.assert_completed(vnf.instantiate(self.storage_request("simple")))
        self.cluster = self.cluster_works(vnf, self.images, masters=1, workers=2)
        self.all_available()
        self.guide_shows("volumes", vnf, "get persistentvolumes")
        self.master = self.machines(vnf)[MASTER][0]

        _, server = self.server(vnf)
        server.run(f"sudo mount -t nfs {server.address}:{_EXPORT} /mnt")
        server.run("echo kept | sudo tee /mnt/file && sudo umount /mnt")
        self.cluster.claim("data")
        self.exports_survive_a_reboot(vnf)
        self.heal_waits_for_its_users(vnf, pods=[], claim="data")
        _, server = self.server(vnf)
        self.assertEqual("kept\n", server.run(f"cat {_EXPORT}/file"))
        say("the data of the old server are on the new one")

        if self.heals_the_whole:
            self.assert_completed(vnf.heal({}))
            self.cluster = self.cluster_works(vnf, self.images, masters=1, workers=2)
            self.all_available()
