"""Hooks of Tacker's v2 API: Tacker's own code runs the scripts of the packages."""

import os
import socket
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest import mock

from tools.client.api import V2
from tools.csar.tests.genuine import needs_openstack
from tools.csar.tests.genuine.test_user_data import UserDataTest

_PARAMS = "mgmt_driver_params"


@needs_openstack
class HooksTest(UserDataTest):
    def setUp(self) -> None:
        from tacker.sol_refactored import objects

        objects.register_all()
        # Tacker's configuration, which sends the log of the scripts elsewhere.
        home = tempfile.TemporaryDirectory()
        self.addCleanup(home.cleanup)
        Path(home.name, "tacker.conf").write_text(f"[mgmt_drivers]\ntrace_dir = {home.name}\n")
        patch = mock.patch.dict(os.environ, HOME=home.name)
        patch.start()
        self.addCleanup(patch.stop)
        self.log = Path(home.name, f"v2-{socket.gethostname()}.log")
        openstack = objects.VimConnectionInfo(
            vimId="vim", vimType="ETSINFV.OPENSTACK_KEYSTONE.V_3"
        )
        self.instance = objects.VnfInstanceV2(
            id="vnf-1", vnfdId="vnfd", vimConnectionInfo={"vim1": openstack}
        )

    def call(self, operation: str, request: Any, grant_request: Any = None) -> None:
        from tacker.sol_refactored.common.vnfd_utils import Vnfd
        from tacker.sol_refactored.conductor.vnflcm_driver_v2 import VnfLcmDriverV2

        vnfd = Vnfd("vnfd")
        vnfd.init_from_csar_dir(str(self.folder))
        VnfLcmDriverV2._exec_mgmt_driver_script(
            mock.Mock(), operation, self.flavour.id, request, self.instance, grant_request, None,
            vnfd, {},
        )  # fmt: skip

    def instantiate(self, file: str, **params: Any) -> None:
        from tacker.sol_refactored.objects import InstantiateVnfRequest

        asked = V2().instantiation(self.request(file, **params))
        self.call("instantiate_start", InstantiateVnfRequest.from_dict(asked))

    def terminate(self) -> None:
        from tacker.sol_refactored.objects import TerminateVnfRequest

        self.call("terminate_end", TerminateVnfRequest(terminationType="FORCEFUL"))

    def heal(self, trigger: Callable[[Any], None]) -> None:
        """Call the script for a heal that Tacker begins by itself.

        :param trigger: begins the heal, with Tacker's conductor
        """
        from tacker.sol_refactored.common import lcm_op_occ_utils, vnf_instance_utils
        from tacker.sol_refactored.conductor import vnflcm_auto
        from tacker.sol_refactored.conductor.vnflcm_driver_v2 import VnfLcmDriverV2
        from tacker.sol_refactored.objects import VnfLcmOpOccV2

        conductor = mock.Mock()
        begin = vnflcm_auto._auto_heal_pre.__wrapped__  # without the lock of the VNF instance
        with (
            mock.patch.object(vnflcm_auto, "_auto_heal_pre", begin),
            mock.patch.object(vnf_instance_utils, "get_inst", return_value=self.instance),
            mock.patch.object(lcm_op_occ_utils, "check_lcmocc_in_progress"),
            mock.patch.object(VnfLcmOpOccV2, "create"),
        ):
            trigger(conductor)
        _, occurrence = conductor.start_lcm_op_internal.call_args.args
        driver = mock.Mock(endpoint="http://tacker")
        request, _ = VnfLcmDriverV2.grant(driver, None, occurrence, self.instance, None)
        self.call("heal_start", occurrence.operationParams, request)

    def test_a_heal_that_nobody_typed(self) -> None:
        """Tacker's request names VNFCs, as a rule; without one the rails need no machine."""
        from tacker.sol_refactored import objects
        from tacker.sol_refactored.common.exceptions import MgmtDriverExecutionFailed
        from tacker.sol_refactored.conductor import (
            prometheus_plugin_driver,
            server_notification_driver,
        )

        self.assemble("kubernetes_v2", "simple")
        self.instantiate("kubernetes/simple.json")
        self.instance.instantiationState = "INSTANTIATED"
        self.instance.instantiatedVnfInfo = objects.VnfInstanceV2_InstantiatedVnfInfo(
            flavourId=self.flavour.id, vnfState="STARTED"
        )

        def alert(conductor: Any) -> None:
            driver = prometheus_plugin_driver.PrometheusPluginDriver(conductor)
            driver._trigger_heal(None, "vnf-1", [])

        def notification(conductor: Any) -> None:
            driver = server_notification_driver.ServerNotificationDriver(conductor)
            driver.request_heal("vnf-1", [])

        for trigger in (alert, notification):
            with self.subTest(trigger.__name__):
                with self.assertRaises(MgmtDriverExecutionFailed) as caught:
                    self.heal(trigger)
                self.assertIn('guard rail "no VNFC"', caught.exception.detail)
        self.call("heal_start", objects.HealVnfRequest(vnfcInstanceId=[]))

    def test_what_a_hook_keeps_is_in_the_instance(self) -> None:
        self.assemble("kubernetes_v2", "simple")
        self.instantiate("kubernetes/simple.json")
        self.assertIn(_PARAMS, self.instance.metadata)
        self.assertIn("instantiate_start of VNF vnf-1", self.log.read_text())
        self.terminate()
        self.assertNotIn(_PARAMS, self.instance.metadata)

    def test_tacker_gets_the_text_of_an_error(self) -> None:
        from tacker.sol_refactored.common.exceptions import MgmtDriverExecutionFailed

        self.assemble("private_registry_v2", "simple")
        with self.assertRaises(MgmtDriverExecutionFailed) as caught:
            self.instantiate("private_registry/instantiate.json", port_no="many")
        self.assertRegex(str(caught.exception.detail), "instantiate_start failed: .*port_no: ")

    def test_another_package_replaces_no_registry(self) -> None:
        from tacker.sol_refactored.common.exceptions import MgmtDriverExecutionFailed
        from tacker.sol_refactored.objects import ChangeCurrentVnfPkgRequest

        def change(*vdus: str) -> None:
            params = {"upgrade_type": "RollingUpdate", "vdu_params": [{"vdu_id": v} for v in vdus]}
            asked = ChangeCurrentVnfPkgRequest(vnfdId="new", additionalParams=params)
            self.call("change_current_package_start", asked)

        self.assemble("private_registry_v2", "simple")
        change()
        with self.assertRaises(MgmtDriverExecutionFailed) as caught:
            change("PrivateRegistryVDU")
        self.assertRegex(str(caught.exception.detail), "KV-PARAMETERS.* vdu_params: .* heal")
