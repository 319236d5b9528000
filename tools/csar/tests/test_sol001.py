import hashlib
import tempfile
import unittest
from pathlib import Path
from unittest import mock

from tools.csar import sol001
from tools.csar.errors import CsarError

EDITION = b"tosca_definitions_version: another_edition\n"


class DefinitionsTest(unittest.TestCase):
    def setUp(self) -> None:
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.site = Path(scratch.name)
        folder = self.site / sol001.FOLDER
        folder.mkdir(parents=True)
        for name in sol001.DIGESTS:
            (folder / name).write_bytes(EDITION)
        distribution = mock.Mock(locate_file=self.site.joinpath)
        patch = mock.patch.object(sol001.metadata, "distribution", return_value=distribution)
        patch.start()
        self.addCleanup(patch.stop)

    def test_another_edition_is_refused(self) -> None:
        with self.assertRaisesRegex(CsarError, "etsi_nfv_sol001_common_types.yaml: SHA-256 is"):
            sol001.definitions()

    def test_known_edition_is_taken(self) -> None:
        digest = hashlib.sha256(EDITION).hexdigest()
        with mock.patch.dict(sol001.DIGESTS, dict.fromkeys(sol001.DIGESTS, digest)):
            self.assertEqual(set(sol001.definitions()), set(sol001.DIGESTS))

    def test_missing_file_is_said(self) -> None:
        (self.site / sol001.FOLDER / "etsi_nfv_sol001_common_types.yaml").unlink()
        with self.assertRaisesRegex(CsarError, "common_types.yaml: missing; install"):
            sol001.definitions()
