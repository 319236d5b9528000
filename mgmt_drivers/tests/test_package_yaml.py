"""YAML of packages: whatever is refused says why."""

import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import yaml
from hypothesis import example, given, settings
from hypothesis import strategies as st

from mgmt_drivers import package, package_yaml
from mgmt_drivers.cluster.storage.storage_params import PV_REGISTRATION
from mgmt_drivers.package_yaml import BadYaml
from mgmt_drivers.params.reader import Context, Reader, ValidationErrors
from mgmt_drivers.tacker import vnfd

BROKEN = "a: 1\nb: *unknown"


class PackageYamlTest(unittest.TestCase):
    def test_what_is_refused(self) -> None:
        for text, words in (
            ("[" * 1_000_000, "nest"),  # in words of the parser
            ("#" * (5 << 20), "larger than 4 MiB"),
            ("a: " + "9" * 5000, "a value cannot be read"),
            ("a: 2024-13-45", "a value cannot be read: month"),
            ("a: !!timestamp x", "a value cannot be read"),
            ("a: !!int ''", "a value cannot be read"),
            ("a: !!binary é", "not YAML"),
            ("a: !!python/object/apply:os.system [id]", "not YAML: could not determine a constr"),
            ("? {a: b}\n: c", "not YAML"),
            ("a: \x00", "not YAML"),
            (b"a: \xff", "not text in UTF-8"),
            ("a:\n  b: [", "not YAML: "),  # in words of the parser
            ("a: b: c", "not YAML"),
            (BROKEN, "line 2: not YAML: found undefined alias"),
            ("a\n---\nb", "2 documents instead of one"),
        ):
            with self.subTest(text[:20]), self.assertRaises(BadYaml) as caught:
                package_yaml.load(text)
            self.assertIn(words, str(caught.exception))
            self.assertLess(len(str(caught.exception)), 1000)

    @settings(max_examples=200, derandomize=True, database=None, deadline=None)
    @given(st.text("[]{}:,-?!&*#|>'\"%@`~ \n\tab019.ex_=<", max_size=60) | st.binary(max_size=40))
    @example("!!float ''")
    @example("!!bool x")
    @example("1:" * 2000 + "1")
    def test_nothing_else_is_raised(self, text: str | bytes) -> None:
        try:
            package_yaml.load_all(text)
        except BadYaml as error:
            self.assertTrue(str(error).isprintable())

    def test_without_libyaml(self) -> None:
        code = (
            "import sys; sys.modules['yaml.cyaml'] = None\n"
            "from mgmt_drivers import package_yaml\n"
            "print(package_yaml.load('a: [1, b]'))\n"
            "package_yaml.load('[' * 5000)"
        )
        ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
        self.assertEqual("{'a': [1, 'b']}\n", ran.stdout)
        self.assertIn("BadYaml: not YAML: maximum recursion", ran.stderr)

    def test_what_is_read(self) -> None:
        self.assertEqual({"a": [1], "b": [1]}, package_yaml.load("a: &x [1]\nb: *x"))
        self.assertEqual({"a": [1, "b"]}, package_yaml.load("a: [1, b]\n---\n"))
        self.assertEqual([1, {"x": None}], package_yaml.load_all("1\n---\n---\nx:\n"))
        self.assertIsNone(package_yaml.load(""))


class ReadersTest(unittest.TestCase):
    """All that read YAML of a package."""

    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.package = Path(folder.name)
        for name in ("BaseHOT/simple/top.yaml", "Definitions/top.yaml", "pv.yaml"):
            (self.package / name).parent.mkdir(parents=True, exist_ok=True)
            (self.package / name).write_text(BROKEN)

    def test_a_template_is_parsed_once_until_it_changes(self) -> None:
        template = self.package / "BaseHOT" / "once" / "top.yaml"
        template.parent.mkdir(parents=True)
        for number in ("1", "22"):
            name = f"port{number}"
            template.write_text(f"resources: {{{name}: {{type: 'OS::Neutron::Port'}}}}")
            before = package._read.cache_info().misses
            for _ in range(2):
                self.assertEqual({name}, package.address_names(self.package, "once"))
                self.assertFalse(package.grouped_vdus(self.package, "once"))
            self.assertEqual(1, package._read.cache_info().misses - before)

    def test_servers_in_a_server_group(self) -> None:
        folder = self.package / "BaseHOT" / "spread" / "nested"
        folder.mkdir(parents=True)
        for name, hints in (
            ("apart", {"group": {"get_param": "server_group"}}),
            ("near", {"same_host": "server-1"}),
            ("anywhere", None),
        ):
            server = {"type": "OS::Nova::Server", "properties": {"scheduler_hints": hints}}
            (folder / f"{name}.yaml").write_text(yaml.safe_dump({"resources": {name: server}}))
        self.assertEqual({"apart"}, package.grouped_vdus(self.package, "spread"))

    def test_templates_and_definitions(self) -> None:
        with self.assertRaisesRegex(BadYaml, "top.yaml: line 2: not YAML"):
            package.address_names(self.package, "simple")
        with self.assertRaisesRegex(BadYaml, "top.yaml: line 2: not YAML"):
            vnfd.of_flavour(self.package, "simple")

    def test_manifests(self) -> None:
        errors = ValidationErrors()
        manifest = {"pv_manifest_file_path": "pv.yaml", "nfs_server_cp": "CP"}
        where = "p.pv_registration_params"
        PV_REGISTRATION.parse(Reader([manifest], where, errors, Context(self.package)))
        words = "p.pv_registration_params[0].pv_manifest_file_path: is not a file of Kubern"
        mine = [error for error in errors.messages if error.startswith(words)]
        self.assertIn("line 2: not YAML", mine[0])
