"""The VIM of a cluster, as Tacker's APIs keep and use the VIM."""

import dataclasses
import json
import sqlite3
import threading
import unittest
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any
from unittest import mock

from mgmt_drivers.cluster.access.service_account import Credentials
from mgmt_drivers.errors import ServiceFailed
from mgmt_drivers.params.login import SshLogin
from mgmt_drivers.secret import Secret
from mgmt_drivers.tacker.vims_v2 import InstanceVims
from mgmt_drivers.vim import HelmAccess, Vim
from tools.csar.tests.genuine import needs_openstack

_TOKEN = "a.token"  # noqa: S105 - of nobody
_OTHER_TOKEN = "another.token"  # noqa: S105 - of nobody


class _Cluster(BaseHTTPRequestHandler):
    """The API of a cluster, as far as Tacker's client of Kubernetes looks at a new VIM."""

    def do_GET(self) -> None:
        is_known = self.headers["authorization"] in (f"Bearer {_TOKEN}", f"Bearer {_OTHER_TOKEN}")
        self.send_response(200 if is_known else 401)
        self.send_header("Content-Type", "application/json")
        self.end_headers()
        answers = {
            "/api/": {"versions": ["v1"], "serverAddressByClientCIDRs": []},
            "/api/v1/namespaces": {"items": [{"metadata": {"name": "default"}}]},
        }
        self.wfile.write(json.dumps(answers[self.path]).encode())

    def log_message(self, *_: object) -> None:
        """Say nothing."""


class VimTest(unittest.TestCase):
    def setUp(self) -> None:
        server = HTTPServer(("127.0.0.1", 0), _Cluster)
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        self.addCleanup(thread.join)
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        self.url = f"http://127.0.0.1:{server.server_port}"

    def vim(self, *addresses: str) -> Vim:
        """One with Helm on the nodes at these addresses, if there are any."""
        access = HelmAccess(addresses, SshLogin("ubuntu", Secret("a'b\"c")))
        credentials = Credentials(Secret(_TOKEN), "CA")
        return Vim("vim", self.url, credentials, access if addresses else None)


@needs_openstack
class VimOfInstanceTest(VimTest):
    """The VIM as the v2 API keeps it in the VNF instance."""

    def test_tackers_client_is_let_in(self) -> None:
        from kubernetes import client
        from tacker.sol_refactored import objects
        from tacker.sol_refactored.infra_drivers.kubernetes import kubernetes_utils

        objects.register_all()
        instance: dict[str, Any] = {"vimConnectionInfo": {"vim1": {}}}
        InstanceVims(mock.Mock(instance=instance)).register(self.vim())
        kept = objects.VimConnectionInfo.from_dict(instance["vimConnectionInfo"]["vim1.vim"])
        with kubernetes_utils.AuthContextManager(kept) as context:
            api = client.CoreApi(context.init_k8s_api_client())
            self.assertEqual(["v1"], api.get_api_versions().versions)

    def test_another_token(self) -> None:
        instance: dict[str, Any] = {"vimConnectionInfo": {"vim1": {"vimType": "of OpenStack"}}}
        vims = InstanceVims(mock.Mock(instance=instance))
        vims.register(self.vim())
        before = json.loads(json.dumps(instance))
        vims.renew(Credentials(Secret(_OTHER_TOKEN), "other CA"))
        before["vimConnectionInfo"]["vim1.vim"]["accessInfo"]["bearer_token"] = _OTHER_TOKEN
        before["vimConnectionInfo"]["vim1.vim"]["interfaceInfo"]["ssl_ca_cert"] = "other CA"
        self.assertEqual(before, instance)

    def test_cnfs_may_bring_roles_and_their_bindings(self) -> None:
        """The guide's threat model has this among what the account may do."""
        from tacker.sol_refactored.infra_drivers.kubernetes import kubernetes_resource
        from tacker.vnfm.infra_drivers.kubernetes.k8s import translate_outputs

        kinds = {"ClusterRole", "ClusterRoleBinding", "Pod", "PersistentVolume"}
        self.assertLessEqual(kinds, vars(kubernetes_resource).keys())
        made = translate_outputs.Transformer(None, None, None, None).method_value
        self.assertLessEqual(kinds, made.keys())


@needs_openstack
class RegisteredVimTest(VimTest):
    """The VIM as the v1 API keeps it in the registry, and reads it again for either API."""

    def setUp(self) -> None:
        super().setUp()
        import tacker.conf
        from oslo_db import options
        from tacker import context, objects
        from tacker.db import api, model_base
        from tacker.db.nfvo import nfvo_db

        objects.register_all()
        options.set_defaults(tacker.conf.CONF, connection="sqlite://")
        model_base.BASE.metadata.create_all(api.get_engine())
        for table in (nfvo_db.VimAuth.__table__, nfvo_db.Vim.__table__):
            with api.get_engine().begin() as connection:
                connection.execute(table.delete())
        self.context = context.get_admin_context()
        self.instance = mock.Mock(
            id="vnf-1", tenant_id="t", vim_connection_info=[], vnf_metadata={}
        )
        # Tacker makes a list of a list, of which MySQL's driver makes a list again.
        sqlite3.register_adapter(list, "".join)

    def vims(self) -> Any:
        from mgmt_drivers.tacker.vims_v1 import RegisteredVims

        return RegisteredVims(self.context, self.instance)

    def register(self, vim: Vim) -> str:
        """Register it, Barbican left out; the credentials are tried on the cluster."""
        from tacker.nfvo.drivers.vim.kubernetes_driver import Kubernetes_Driver as Driver

        with mock.patch.object(Driver, "encode_vim_auth"):
            self.vims().register(vim)
        (found,) = self.vims()._find(name=vim.name)
        return str(found["id"])

    def known(self, vim_id: str) -> dict[str, Any]:
        """As Tacker's drivers of CNFs are given it."""
        from tacker.nfvo.nfvo_plugin import NfvoPlugin
        from tacker.vnfm.vim_client import VimClient

        with mock.patch(
            "tacker.manager.TackerManager.get_service_plugins", lambda: {"NFVO": NfvoPlugin()}
        ), mock.patch.object(VimClient, "_build_vim_auth", lambda self, info: info["auth_cred"]):
            found: dict[str, Any] = VimClient().get_vim(self.context, vim_id)
        return found

    def test_without_helm(self) -> None:
        self.assertFalse(self.known(self.register(self.vim()))["extra"])

    def test_what_the_drivers_of_cnfs_read(self) -> None:
        from tacker import objects
        from tacker.sol_refactored.common import vim_utils
        from tacker.sol_refactored.objects import register_all
        from tacker.vnfm.infra_drivers.kubernetes.kubernetes_driver import Kubernetes

        register_all()
        with self.assertLogs("mgmt_drivers", "WARNING") as logs:
            found = self.known(self.register(self.vim("192.0.2.1")))
        self.assertIn("in clear text in the extra of VIM vim", logs.output[0])
        self.assertNotIn("a'b", logs.output[0])
        info = {"id": "1", "vim_type": "kubernetes", "extra": found["extra"]}
        connection = objects.VimConnectionInfo.obj_from_primitive(info, self.context)
        read = Kubernetes._get_helm_info(mock.Mock(), connection)
        self.assertEqual((["192.0.2.1"], "ubuntu", "a'b\"c"), read)
        self.assertEqual("ETSINFV.HELM.V_3", vim_utils.vim_to_conn_info(found).vimType)

    def test_a_vim_of_another_tenant_is_not_the_vnfs_own(self) -> None:
        """Whatever its description says, which anybody may write."""
        foreign = self.register(self.vim("192.0.2.66"))
        self.instance.tenant_id, self.instance.vnf_metadata = "victim", {}
        self.vims().move_helm(self.vim("192.0.2.1").helm)
        self.assertTrue(self.vims().is_taken("vim"))
        self.assertEqual(["192.0.2.66"], self.addresses(foreign))

    def test_the_vnfs_own_vim_is_known_by_its_id_or_else_by_its_description(self) -> None:
        from tacker.db import api
        from tacker.db.nfvo import nfvo_db

        vim_id = self.register(self.vim("192.0.2.66"))
        kept = self.instance.vnf_metadata
        for number, lost in enumerate(({}, {"mgmt_driver_vim": "damaged"})):
            self.instance.vnf_metadata = lost
            self.vims().move_helm(self.vim(f"192.0.2.{number}").helm)
            self.assertEqual([f"192.0.2.{number}"], self.addresses(vim_id))
        self.instance.vnf_metadata = kept
        with api.get_engine().begin() as connection:
            connection.execute(nfvo_db.Vim.__table__.update().values(description="of people"))
        self.context.session.expire_all()
        self.vims().move_helm(self.vim("192.0.2.2").helm)
        self.assertEqual(["192.0.2.2"], self.addresses(vim_id))
        self.assertFalse(self.vims().is_taken("vim"))

    def addresses(self, vim_id: str) -> Any:
        return self.known(vim_id)["extra"]["helm_info"]["masternode_ip"]

    def test_a_master_has_another_address_while_cnfs_use_the_vim(self) -> None:
        from tacker.extensions.nfvo import VimInUseException
        from tacker.nfvo.nfvo_plugin import NfvoPlugin

        vim_id = self.register(self.vim("192.0.2.1", "192.0.2.2"))
        before = self.known(vim_id)
        access = self.vim("192.0.2.1", "192.0.2.9").helm
        in_use = VimInUseException(vim_id=vim_id)
        with mock.patch.object(NfvoPlugin, "is_vim_still_in_use", side_effect=in_use):
            self.vims().move_helm(access)
        after = self.known(vim_id)
        self.assertEqual(
            ["192.0.2.1", "192.0.2.9"], after["extra"]["helm_info"]["masternode_ip"]
        )
        self.assertEqual(before["vim_auth"], after["vim_auth"])

    def renew(self, token: str) -> None:
        from tacker.extensions.nfvo import VimInUseException
        from tacker.nfvo.drivers.vim.kubernetes_driver import Kubernetes_Driver as Driver
        from tacker.nfvo.nfvo_plugin import NfvoPlugin

        in_use = VimInUseException(vim_id="")
        with (
            mock.patch.object(Driver, "encode_vim_auth"),
            mock.patch.object(NfvoPlugin, "is_vim_still_in_use", side_effect=in_use),
        ):
            self.vims().renew(Credentials(Secret(token), "CA"))

    def test_another_token_while_cnfs_use_the_vim(self) -> None:
        vim_id = self.register(self.vim("192.0.2.1"))
        before = self.known(vim_id)
        self.renew(_OTHER_TOKEN)
        after = self.known(vim_id)
        self.assertEqual(_OTHER_TOKEN, after["vim_auth"]["bearer_token"])
        self.assertEqual(before["extra"], after["extra"])
        self.assertEqual(before["vim_id"], after["vim_id"])

    def test_a_token_that_the_cluster_refuses_is_not_taken(self) -> None:
        vim_id = self.register(self.vim())
        with self.assertRaisesRegex(ServiceFailed, r"client \S+ .* Tacker \S+: install") as caught:
            self.renew("unknown")
        self.assertNotIn("unknown", str(caught.exception))
        self.assertEqual(_TOKEN, self.known(vim_id)["vim_auth"]["bearer_token"])

    def test_a_cluster_that_does_not_let_tacker_in(self) -> None:
        """Tacker's own error names neither the cluster nor what to do."""
        refused = dataclasses.replace(self.vim(), credentials=Credentials(Secret("unknown"), "CA"))
        nobody = dataclasses.replace(self.vim(), url="http://127.0.0.1:1")
        reasons = {
            r"it refuses Tacker's token \(401\)\. The Kubernetes client": refused,
            ".*Max retries exceeded": nobody,
        }
        for reason, vim in reasons.items():
            with self.assertRaisesRegex(ServiceFailed, rf"{vim.url} as a VIM: {reason}"):
                self.register(vim)
            self.assertEqual([], self.vims()._find(name=vim.name))
