"""VNFs that a cleanup removes."""

import contextlib
import unittest
from unittest import mock

from tools.client import clusters
from tools.client.api import V2
from tools.client.errors import ClientError


class CleanupTest(unittest.TestCase):
    def setUp(self) -> None:
        self.vnf, self.package = mock.Mock(), mock.Mock()
        patches = mock.patch.multiple(
            clusters, Package=mock.Mock(return_value=self.package), Vnf=mock.Mock()
        )
        patches.start()
        self.addCleanup(patches.stop)
        clusters.Vnf.create.return_value = self.vnf  # type: ignore[attr-defined]
        self.done: list[str] = []
        self.vnf.remove = lambda: self.done.append("vnf")
        self.package.delete = lambda: self.done.append("package")

    def removed(self, *states: str) -> list[str]:
        """What is removed in which order, when the operations show these states, look by look."""
        self.vnf.occurrences.side_effect = [[{"operationState": state}] for state in states]
        with contextlib.suppress(KeyboardInterrupt), contextlib.ExitStack() as cleanup:
            package = clusters.onboard(mock.Mock(), mock.Mock(), cleanup)
            clusters.create(mock.Mock(), package, "test", V2(), cleanup)
            raise KeyboardInterrupt
        return self.done

    def test_a_vnf_is_removed_before_its_package(self) -> None:
        self.assertEqual(["vnf", "package"], self.removed("COMPLETED"))

    def test_an_operation_that_goes_on_is_waited_for(self) -> None:
        with mock.patch("time.sleep") as sleep:
            self.assertEqual(["vnf", "package"], self.removed("PROCESSING", "FAILED_TEMP"))
        sleep.assert_called_once()

    def test_an_operation_that_failed(self) -> None:
        failed = {"operation": "HEAL", "operationState": "FAILED_TEMP", "error": {"detail": "why"}}
        with self.assertRaisesRegex(ClientError, "HEAL of .*: why"):
            clusters.check_completed(self.vnf, failed)
        clusters.check_completed(self.vnf, {"operationState": "COMPLETED"})
