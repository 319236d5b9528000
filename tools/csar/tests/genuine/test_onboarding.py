"""Tacker takes packages: those of this project, and those that were migrated."""

import contextlib
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import yaml

from tools.csar import build, contents, migrate, sbom, sol001
from tools.csar.tests.genuine import needs_openstack
from tools.csar.tests.made_certificates import Certificates
from tools.csar.tests.test_migrate import COMPLEX, SCRIPT, SIMPLE, SampleTest


@needs_openstack
class OnboardingTest(SampleTest):
    """Tacker's own code onboards a migrated package, and knows how far it can be scaled."""

    def setUp(self) -> None:
        definitions = sol001.definitions()
        super().setUp()
        self._replace(sol001, "definitions", definitions)

    @contextlib.contextmanager
    def onboarded(self, package: Path) -> Iterator[tuple[Any, ...]]:
        """The folder into which Tacker has unpacked a package, and what Tacker has read of it."""
        csar = build.build(package, self.scratch / f"{package.name}.zip", say=lambda line: None)
        with self.uploaded(csar) as found:
            yield found

    @contextlib.contextmanager
    def uploaded(self, csar: Path) -> Iterator[tuple[Any, ...]]:
        import tacker.conf
        from tacker.common import csar_utils
        from tacker.tosca import utils as tosca_utils

        folder = tempfile.mkdtemp(dir=self.scratch)
        tacker.conf.CONF([], project="tacker", default_config_files=[])
        tacker.conf.CONF.set_override("vnf_package_csar_path", folder, "vnf_package")
        with mock.patch.object(tosca_utils, "tosca_tmpl_local_defs", return_value={}):
            yield folder, *csar_utils.load_csar_data(None, "package", str(csar))

    def test_tacker_takes_the_packages_of_this_project(self) -> None:
        for name in ("kubernetes", "kubernetes_v2"):
            with self.onboarded(build.PACKAGES / name) as (_, _, flavours, _):
                own = {"simple", "complex", "podaffinity"}
                self.assertEqual(own, {flavour["flavour_id"] for flavour in flavours})

    def test_tacker_takes_the_csar_of_a_signed_package_alone(self) -> None:
        from tacker.common import exceptions

        signer = Certificates(self.scratch).issue("signer", None)
        package, quiet = build.PACKAGES / "kubernetes", lambda line: None
        csar = build.build(package, self.scratch / "a.zip", say=quiet, signer=signer)
        reason = "CSAR file should contain only one root level yaml file"
        with self.assertRaisesRegex(exceptions.InvalidCSAR, reason), self.uploaded(csar):
            pass
        contents.extract(csar, self.scratch)
        with self.uploaded(self.scratch / "a.csar") as (_, _, _, artifacts):
            names = {artifact["Source"] for artifact in artifacts}
            self.assertLessEqual({sbom.NAME, "Definitions/kubernetes_types.yaml"}, names)

    def test_tacker_refuses_a_changed_vnfd(self) -> None:
        from tacker.common import exceptions

        package, quiet = build.PACKAGES / "kubernetes", lambda line: None
        csar = build.build(package, self.scratch / "a.zip", say=quiet)
        changed, name = self.scratch / "b.zip", "Definitions/kubernetes_types.yaml"
        with zipfile.ZipFile(csar) as source, zipfile.ZipFile(changed, "w") as target:
            for file in source.namelist():
                target.writestr(file, source.read(file) + (b"\n" if file == name else b""))
        reason = f'"{name}" is an invalid value'
        with self.assertRaisesRegex(exceptions.InvalidCSAR, reason), self.uploaded(changed):
            pass

    def test_tacker_takes_it(self) -> None:
        from tacker.tosca import utils as tosca_utils
        from toscaparser import tosca_template

        migrate.migrate(self.folder, self.target)
        with self.onboarded(self.target) as (folder, vnf, flavours, artifacts):
            self.assertEqual("7d3c1f6e-94d5-4b0c-8a63-5f1e0b72c9aa", vnf["descriptor_id"])
            self.assertEqual({"simple", "complex"}, {f["flavour_id"] for f in flavours})
            for flavour in flavours:
                self.assertEqual(2, len(flavour["sw_images"]))
            self.assertIn(SCRIPT, {artifact["Source"] for artifact in artifacts})
            for name in (SIMPLE, COMPLEX):
                levels: dict[str, int] = {}
                template = yaml.safe_load(Path(folder, "package", name).read_text())
                del template["topology_template"]["substitution_mappings"]
                template["imports"] = [
                    str(Path(folder, "package/Definitions", n)) for n in template["imports"]
                ]
                tosca = tosca_template.ToscaTemplate(
                    parsed_params={}, a_file=False, yaml_dict_tpl=template
                )
                policies = tosca.topology_template.policies
                tosca_utils._extract_policy_info(policies, {}, {}, {}, {}, {}, levels)
                self.assertEqual({"master_instance": 2, "worker_instance": 2}, levels)
