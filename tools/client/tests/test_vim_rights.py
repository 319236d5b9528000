"""The rights that scenarios add to those of Tacker's account."""

import json
import shlex
import unittest
from importlib import resources
from unittest import mock

import yaml

from tools.client import vim_rights
from tools.client.machines import Remote


class VimRightsTest(unittest.TestCase):
    def test_the_role_has_the_label_that_the_drivers_select(self) -> None:
        ran: list[str] = []

        def run(command: str, check: bool = True) -> str:
            ran.append(command)
            return "yes\n"

        with mock.patch.object(Remote, "run", side_effect=run):
            vim_rights.extend(Remote("192.0.2.1", ""))
        role = json.loads(shlex.split(ran[0].partition(" | ")[0])[1])
        text = (resources.files("mgmt_drivers.cluster.access") / "vim-roles.yaml").read_text()
        added = [*yaml.safe_load_all(text)][1]
        (selector,) = added["aggregationRule"]["clusterRoleSelectors"]
        self.assertEqual(selector["matchLabels"], role["metadata"]["labels"])
        self.assertNotIn("rules", added)  # kubectl apply would empty them
        self.assertIn("can-i patch nodes --as system:serviceaccount:kube-system:tacker-vim", ran[1])
