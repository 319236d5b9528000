"""Operations in Tacker's LCM API, and what is shown of their ends."""

import tempfile
import unittest
from typing import Any
from unittest import mock

from tools.client.api import V1, V2, Api
from tools.client.lcm import Vnf


class ModifyTest(unittest.TestCase):
    def modify(self, api: Api) -> dict[str, Any]:
        """Modify a VNF instance. A list of operations has no errors."""
        listed = {"id": "op-1", "operation": "MODIFY_INFO", "operationState": "FAILED_TEMP",
                  "startTime": "2026-01-01T00:00:00Z"}
        client = mock.Mock()
        client.list_vnf_lcm_op_occs.side_effect = [[], [listed]]
        client.show_vnf_lcm_op_occs.return_value = {**listed, "error": {"detail": "why"}}
        with tempfile.TemporaryDirectory() as logs, mock.patch.dict(
            "os.environ", {"FUNCTIONAL_LOGS": logs}
        ):
            return Vnf(client, "vnf-1", "vnf", api).modify({"metadata": {}})

    def test_the_error_is_shown_through_v2_alone(self) -> None:
        self.assertEqual({"detail": "why"}, self.modify(V2())["error"])
        self.assertNotIn("error", self.modify(V1()))
