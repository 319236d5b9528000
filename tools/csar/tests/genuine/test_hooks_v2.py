"""Hooks of Tacker's v2 API: Tacker's own code runs the scripts of the packages."""

import os
import socket
import tempfile
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

    def call(self, operation: str, request: Any) -> None:
        from tacker.sol_refactored.common.vnfd_utils import Vnfd
        from tacker.sol_refactored.conductor.vnflcm_driver_v2 import VnfLcmDriverV2

        vnfd = Vnfd("vnfd")
        vnfd.init_from_csar_dir(str(self.folder))
        VnfLcmDriverV2._exec_mgmt_driver_script(
            mock.Mock(), operation, self.flavour.id, request, self.instance, None, None, vnfd, {}
        )

    def instantiate(self, file: str, **params: Any) -> None:
        from tacker.sol_refactored.objects import InstantiateVnfRequest

        asked = V2().instantiation(self.request(file, **params))
        self.call("instantiate_start", InstantiateVnfRequest.from_dict(asked))

    def terminate(self) -> None:
        from tacker.sol_refactored.objects import TerminateVnfRequest

        self.call("terminate_end", TerminateVnfRequest(terminationType="FORCEFUL"))

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
