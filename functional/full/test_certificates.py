"""Certificates that are about to expire, or have expired, are renewed."""

import json
import ssl

from functional import guide_outputs, hardening
from functional.cluster_scenario import WORKER
from functional.nodes_scenario import NodesScenario
from functional.requests import REQUESTS
from tools.client import certificates, stacks, wait
from tools.client.config import CONFIG
from tools.client.lcm import Vnf
from tools.client.log import log, step
from tools.client.machines import Remote
from tools.client.poll import poll_api

_REQUEST, _DEFRAGMENT = "kubernetes/certificates.json", "kubernetes/defragment.json"
_STATUS = "k8s-vnf status VNF-INSTANCE-ID --username ubuntu"  # of the guide


class Certificates(NodesScenario):
    """Nine days are left, and a scale-out renews them by the way; none are left: a request does."""

    image = CONFIG.prepared_image

    def test_certificates(self) -> None:
        vnf = self.instantiate_balanced_cluster()
        guide_outputs.compare("status", _STATUS, self.check_status(vnf, 0))
        self.reissue(vnf, 9)
        self.check_status(vnf, 1, " expires in 8 days, and ")
        with poll_api(self.vim_before.auth_url) as seen:
            self.assert_completed(vnf.scale("SCALE_OUT", "worker_instance", 1))
        self.assertLess(seen.answers.longest, 5)
        self.check_renewed(vnf)
        self.check_balanced_cluster(vnf, workers=3)
        self.check_hardening(vnf)
        self.check_nothing_is_renewed_again(vnf)
        self.renew_expired(vnf)
        self.check_defragmented(vnf)
        self.rotate_key(vnf)
        # Through the VIM, whose credentials are those of before.
        self.check_terminate(vnf, self.check_cnf(vnf))

    def check_nothing_is_renewed_again(self, vnf: Vnf) -> None:
        digests = "sudo sha256sum /etc/kubernetes/pki/*.crt /etc/kubernetes/admin.conf"
        before = [master.run(digests) for master in self.masters(vnf).values()]
        self.renew(vnf)
        self.assertEqual(before, [master.run(digests) for master in self.masters(vnf).values()])

    def check_defragmented(self, vnf: Vnf) -> None:
        """The request that the guide shows."""
        request = json.loads((REQUESTS / _DEFRAGMENT).read_text())
        self.assert_completed(vnf.modify(request))
        self.check_status(vnf, 0, " MiB in use)")

    def rotate_key(self, vnf: Vnf) -> None:
        """The API answers meanwhile."""
        request = json.loads((REQUESTS / "kubernetes/rotation.json").read_text())
        with poll_api(self.vim_before.auth_url) as seen:
            self.assert_completed(vnf.modify(request))
        self.assertLess(seen.answers.longest, 5)
        hardening.check_keys(self.cluster, self.masters(vnf).values(), "key2")
        self.check_balanced_cluster(vnf, workers=3)

    def renew_expired(self, vnf: Vnf) -> None:
        """All machines boot; no kubelet starts, and so neither etcd nor an apiserver."""
        masters = self.reissue(vnf, -1)
        self.reboot(vnf)
        for master in masters:
            self.assertEqual("", master.run("pgrep 'etcd|kube-apiserver'", check=False))
        self.renew(vnf)
        for master in masters:
            certificates.await_ready(master)
        # Whose kubelets reached no apiserver.
        wait.until(lambda: len(self.cluster.ready_nodes()), lambda n: n == 6, 120, "all nodes")
        self.check_renewed(vnf)
        self.check_balanced_cluster(vnf, workers=3)

    def reboot(self, vnf: Vnf) -> None:
        with step("reboot all machines"):
            for server in stacks.servers(self.cloud, vnf.id):
                self.cloud.compute.reboot_server(server, "SOFT")
            for server in stacks.servers(self.cloud, vnf.id):  # anew, for their status
                self.cloud.compute.wait_for_server(server, wait=300)
            for address in stacks.addresses(self.cloud, vnf.id):
                Remote(address).await_login()

    def reissue(self, vnf: Vnf, days: float) -> list[Remote]:
        """Returns the control-plane nodes: with expired certificates no API tells them."""
        masters = list(self.masters(vnf).values())
        with step(f"issue certificates that expire in {days} days"):
            certificates.reissue(masters, [w for _, w in self.vnfcs(vnf, WORKER)], days)
        return masters

    def renew(self, vnf: Vnf) -> None:
        """The request that the guide shows."""
        request = json.loads((REQUESTS / _REQUEST).read_text())
        self.assert_completed(vnf.modify(request))

    def check_renewed(self, vnf: Vnf) -> None:
        """All certificates last for a year, and the apiservers show those on the disk."""
        for _, worker in self.vnfcs(vnf, WORKER):
            self.assertLess(364, min(certificates.days_left(worker).values()))
        for master in self.masters(vnf).values():
            left = certificates.days_left(master)
            log(f"days left on {master.address}: {left}")
            self.assertLess(364, min(left.values()))
            on_disk = master.run("sudo cat /etc/kubernetes/pki/apiserver.crt")
            shown = ssl.get_server_certificate((master.address, 6443))
            self.assertEqual(ssl.PEM_cert_to_DER_cert(on_disk), ssl.PEM_cert_to_DER_cert(shown))
        self.check_status(vnf, 0)
