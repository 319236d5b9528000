"""Tacker's server notification: the hooks register servers, and Tacker knows the VNFC again."""

import sys
import unittest
from pathlib import Path
from typing import Any
from unittest import mock

from mgmt_drivers import kubernetes_v2
from mgmt_drivers.errors import MgmtDriverError
from mgmt_drivers.tacker.v2 import Call
from tools.csar.tests.genuine import needs_openstack

_PARAMS = {"ServerNotifierUri": "http://notifier", "ServerNotifierFaultID": ["1234"]}
_OPERATIONS = ("instantiate.instantiate", "heal.heal_start", "heal.heal_end",
               "terminate.check_unlocked")


def _info(*servers: str) -> dict[str, Any]:
    return {
        "flavourId": "simple", "vnfState": "STARTED", "metadata": {},
        "vnfcResourceInfo": [
            {"id": server, "vduId": "workerNode", "computeResource": {"resourceId": server},
             "metadata": {"vdu_idx": number}}
            for number, server in enumerate(servers)
        ],
        "vnfcInfo": [
            {"id": f"workerNode-{server}", "vduId": "workerNode", "vnfcState": "STARTED",
             "vnfcResourceInfoId": server}
            for server in servers
        ],
    }


@needs_openstack
class ServerNotificationTest(unittest.TestCase):
    def setUp(self) -> None:
        from tacker.sol_refactored import objects
        from tacker.sol_refactored.common import http_client
        from tacker.sol_refactored.conductor.conductor_rpc_v2 import VnfLcmRpcApiV2

        objects.register_all()
        self.alarms: dict[str, str] = {}  # servers by their alarms
        self.is_there = True
        self.instance: dict[str, Any] = {
            "id": "vnf-1", "vnfdId": "vnfd", "instantiatedVnfInfo": _info("s0", "s1"),
            "vimConnectionInfo": {"vim1": {"accessInfo": {"project": "nfv"}}}, "metadata": {},
        }
        self.memory: dict[str, Any] = {}
        patches: tuple[Any, ...] = (
            mock.patch.object(sys, "argv", ["hook"]),
            mock.patch("tacker.common.rpc.init"),
            mock.patch.object(VnfLcmRpcApiV2, "server_notification_cast"),
            mock.patch.object(http_client.HttpClient, "do_request", self.notifier),
            mock.patch.object(Call, "lcm_request"),
            mock.patch.object(kubernetes_v2, "_heal_request"),
            *(mock.patch(f"mgmt_drivers.operations.{name}") for name in _OPERATIONS),
        )
        for patch in patches:
            patch.start()
            self.addCleanup(patch.stop)

    def notifier(self, url: str, method: str, body: Any = None) -> tuple[Any, dict[str, str]]:
        from keystoneauth1.exceptions import ConnectFailure

        if not self.is_there:
            raise ConnectFailure("nobody answers")
        before, _, alarm = url.partition("/alarms")
        server = before.removeprefix("http://notifier/v2/nfv/servers/")
        if method == "DELETE":
            self.assertEqual(server, self.alarms.pop(alarm.removeprefix("/")))
            return mock.Mock(status_code=204), {}
        self.assertEqual(["1234"], body["fault_id"])
        self.assertTrue(body["fault_action"].endswith(
            f"/server_notification/vnf_instances/vnf-1/servers/{server}/notify"
        ))
        self.alarms[f"alarm-of-{server}"] = server
        return mock.Mock(status_code=201), {"alarm_id": f"alarm-of-{server}"}

    def call(self, hook: str, request: dict[str, Any], **grant: Any) -> None:
        given = {
            "operation": hook, "request": request, "vnf_instance": self.instance,
            "grant_request": grant, "tmp_csar_dir": str(Path()),
            "user_script_err_handling_data": self.memory,
        }
        call = Call(given, lambda access, store: mock.Mock())
        try:
            getattr(kubernetes_v2, hook)(call)
        finally:
            self.instance, self.memory = call.instance, call.store.memory

    def vnfcs_of(self, alarm: str) -> list[str]:
        """What Tacker heals if the notifier tells of the alarm."""
        from tacker.sol_refactored.common.server_notification import ServerNotification
        from tacker.sol_refactored.objects import VnfInstanceV2

        instance = VnfInstanceV2.from_dict(self.instance)
        find = ServerNotification.get_vnfc_instance_id
        found: list[str] = find(mock.Mock(), None, instance, alarm, "1234")
        return found

    def heal(self, old: str, new: str) -> None:
        asked = {"vnfcInstanceId": [f"workerNode-{old}"]}
        removed = [{"type": "COMPUTE", "resource": {"resourceId": old}}]
        self.call("heal_start", asked, removeResources=removed)
        info = _info("s0", new)  # Tacker keeps metadata: those of servers that stay, and the VNF's
        before = self.instance["instantiatedVnfInfo"]
        info["metadata"] = before["metadata"]
        info["vnfcResourceInfo"][0]["metadata"] = before["vnfcResourceInfo"][0]["metadata"]
        self.instance["instantiatedVnfInfo"] = info
        self.call("heal_end", asked, removeResources=removed)

    def test_servers_are_registered_for_their_life(self) -> None:
        self.call("instantiate_end", {"additionalParams": _PARAMS})
        self.assertEqual(["workerNode-s1"], self.vnfcs_of("alarm-of-s1"))
        self.heal("s1", "s2")
        self.assertEqual({"s0", "s2"}, {*self.alarms.values()})
        self.assertEqual(["workerNode-s2"], self.vnfcs_of("alarm-of-s2"))
        self.call("terminate_start", {"terminationType": "FORCEFUL"})
        self.assertEqual({}, self.alarms)

    def test_a_notifier_that_does_not_answer(self) -> None:
        """Nothing is instantiated without it, and it keeps no machine from being healed."""
        self.is_there = False
        with self.assertRaisesRegex(MgmtDriverError, "ServerNotifierUri: .* nobody answers"):
            self.call("instantiate_end", {"additionalParams": _PARAMS})
        self.is_there = True
        self.call("instantiate_end", {"additionalParams": _PARAMS})
        self.is_there = False
        with self.assertLogs("mgmt_drivers", "WARNING") as logs:
            self.heal("s1", "s2")
        self.assertEqual(2, len(logs.output))
        self.is_there = True
        self.heal("s2", "s3")
        self.assertEqual(["workerNode-s3"], self.vnfcs_of("alarm-of-s3"))

    def test_without_a_notifier_nothing_is_registered(self) -> None:
        self.call("instantiate_end", {})
        self.heal("s1", "s2")
        self.assertEqual({}, self.alarms)


