"""What the preflight checks find missing, and the commands that they name."""

import errno
import os
import subprocess
import unittest
from typing import Any
from unittest import mock

from openstack.exceptions import ForbiddenException

from tools.preflight import checks, cli, networks
from tools.preflight.missing import Missing, openstack
from tools.preflight.tests.clouds import FakeCloud, thing, vim


class ChecksTest(unittest.TestCase):
    def setUp(self) -> None:
        self.cloud = FakeCloud()
        self.vims: list[dict[str, Any]] = [vim()]
        client = thing(list_vims=lambda: {"vims": self.vims})
        patch = mock.patch.object(checks, "tacker", lambda connection: client)
        patch.start()
        self.addCleanup(patch.stop)

    def found(self) -> str:
        """The report of what is missing."""
        connection: Any = self.cloud
        return cli.report(checks.missing(connection))

    def assert_missing(self, *texts: str) -> None:
        """The report has these texts, in one finding."""
        report = self.found()
        self.assertIn("lacks 1 thing:", report)
        for text in texts:
            self.assertIn(text, report)

    def test_nothing_is_missing(self) -> None:
        self.assertEqual("the cloud has what the scenarios need", self.found())

    def test_everything_is_reported_together(self) -> None:
        self.cloud.flavors.clear()
        self.cloud.images.clear()
        self.vims.clear()
        report = self.found()
        # Three flavors, three images, the space for these, a VIM.
        self.assertIn("lacks 9 things:", report)
        self.assertIn(
            "  $ openstack flavor create --vcpus 2 --ram 2048 --disk 10 k8s.master", report
        )

    def test_services_that_are_absent_are_not_asked(self) -> None:
        self.cloud.services -= {"block-storage"}
        self.assert_missing("the catalog has no service block-storage")

    def test_a_check_that_fails_hides_no_other(self) -> None:
        del self.cloud.subnets["n1"]
        self.assert_missing("networks.missing cannot look: KeyError")

    def test_a_flavor_that_is_too_small_is_replaced(self) -> None:
        self.cloud.flavors["k8s.worker"] = thing(vcpus=1, ram=512, disk=10)
        self.assert_missing("ram 512 instead of 1024", "$ openstack flavor delete k8s.worker")

    def test_an_image_is_made_of_a_cloud_image(self) -> None:
        self.cloud.images["node-debian-13-docker"].status = "queued"
        self.assert_missing("k8s_vnf image build", "--install docker.io", "--public")

    def test_the_space_for_images_is_made_before_them(self) -> None:
        self.cloud.images.pop("vm-debian-12")
        self.assert_missing("there is no active image vm-debian-12")
        self.cloud.image_space["image_size_total"]["usage"] = 1400
        space, image = self.found().split("there is no active image")
        self.assertIn("images may have 2000 MiB, 1400 used, 700 needed", space)
        self.assertIn("--project nfv --region RegionOne --resource-limit 2100 image_size", space)
        self.assertIn("vm-debian-12", image)
        self.cloud.image_space = {}  # Glance without limits
        self.assert_missing("there is no active image vm-debian-12")

    def test_nobody_but_the_user_makes_the_prepared_image(self) -> None:
        with mock.patch.dict(os.environ, FUNCTIONAL_PREPARED_IMAGE="with-kubernetes"):
            self.assert_missing("there is no active image with-kubernetes", "or unset FUNC")

    def test_a_quota_is_too_small(self) -> None:
        self.cloud.instances_used = 10
        self.assert_missing("instances 20, 10 used, 13 needed", "quota set --instances 23 nfv")

    def test_a_quota_of_the_network_is_too_small(self) -> None:
        self.cloud.ports_used = 95
        report = self.found()
        self.assertIn("ports 100, 95 used, 14 needed", report)
        self.assertIn("secgroups 100, 95 used, 6 needed", report)

    def test_compute_hosts_are_for_administrators(self) -> None:
        def refuse(details: bool) -> list[Any]:
            raise ForbiddenException

        compute = thing(
            find_flavor=self.cloud.compute.find_flavor,
            hypervisors=refuse,
            get_limits=self.cloud.compute.get_limits,
        )
        with mock.patch.object(FakeCloud, "compute", compute):
            self.assert_missing("$ openstack role add --user nfv_user --project nfv admin")

    def test_networks(self) -> None:
        cases = (
            (lambda c: c.networks.pop("public"), "there is no network public"),
            (lambda c: c.networks.pop("private"), "$ openstack network create private"),
            (lambda c: c.routers.clear(), "$ openstack router add subnet scenarios s2"),
            (lambda c: setattr(c.networks["public"], "is_shared", False), "network set --share"),
            (lambda c: setattr(c.subnets["n1"][0], "is_dhcp_enabled", False), "subnet set --dhcp"),
            (lambda c: c.subnets["n1"].clear(), "has no subnet with IPv4"),
        )
        for change, text in cases:
            with self.subTest(text):
                self.cloud = FakeCloud()
                change(self.cloud)
                self.assertIn(text, self.found())

    def test_a_default_vim_of_another_project(self) -> None:
        self.vims[0] = vim(tenant_id="p2", name="theirs")
        self.assert_missing("theirs, is not of the project nfv", "vim set --is-default False v1")

    def test_a_default_vim_that_cannot_be_used(self) -> None:
        self.vims[0] = vim(status="PENDING")
        self.assert_missing("the default VIM, VIM0, is PENDING")


class ReachableTest(unittest.TestCase):
    def test_only_a_refusal_of_the_way_counts(self) -> None:
        for error, expected in (
            (OSError(errno.EHOSTUNREACH, ""), False),
            (OSError(errno.ENETUNREACH, ""), False),
            (ConnectionRefusedError(errno.ECONNREFUSED, ""), True),
            (TimeoutError(), True),
        ):
            with mock.patch("socket.create_connection", side_effect=error):
                self.assertEqual(expected, networks.is_reachable("192.0.2.1"))


class MakeTest(unittest.TestCase):
    def test_commands_run_in_order_until_one_fails(self) -> None:
        one = Missing("one", (("true",), openstack("token", "issue")))
        two = Missing("two", (("false",), ("never",)))
        failure = subprocess.CalledProcessError(1, "false")
        with (
            mock.patch("subprocess.run", side_effect=[None, None, failure]) as run,
            mock.patch("builtins.print"),
            self.assertRaises(subprocess.CalledProcessError),
        ):
            cli.make([one, two])
        ran = [call.args[0] for call in run.call_args_list]
        self.assertEqual([("true",), ("token", "issue"), ("false",)], [
            command[-2:] if "openstackclient.shell" in command else command for command in ran
        ])
