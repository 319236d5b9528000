"""What keeps the house in order: Tacker's boundary and the distribution's needs."""

import ast
import importlib.metadata
import subprocess
import sys
import tempfile
import unittest
from collections.abc import Iterator
from pathlib import Path

import mgmt_drivers

PACKAGE = Path(mgmt_drivers.__file__).parent
CHECKOUT = PACKAGE.parent
ADAPTERS = {
    PACKAGE / name
    for name in (
        "kubernetes_mgmt.py", "private_registry_mgmt.py", "adapters/tacker_v1.py",
        "adapters/vims_v1.py",
    )
}

# The rooms, each of which imports of the drivers only what stands before it, or itself.
ROOMS = (
    "errors", "grammar", "secret", "request", "clock", "package_yaml", "package_archive", "package",
    "payloads", "ssh", "params",
    "inventory", "host", "engine", "deletion", "kube", "phases", "plans", "private_registry",
    "restore", "opening", "targets", "vim", "kubernetes", "renewal", "upgrade",
    "adapters",
)

# What Tacker 16.0.0 requires itself (its METADATA), as far as it is used here.
OF_TACKER = {
    "cryptography": ">=2.7",
    "keystoneauth1": "",  # through python-keystoneclient and keystonemiddleware
    "paramiko": ">=2.7.1",
    "python-heatclient": ">=1.10.0",
    "PyYAML": ">=5.4.1",
}
_IMPORT_NAMES = {"python-heatclient": "heatclient", "PyYAML": "yaml"}
ALLOWED = {"mgmt_drivers", *(_IMPORT_NAMES.get(name, name) for name in OF_TACKER)}


def sources() -> Iterator[Path]:
    return (path for path in PACKAGE.rglob("*.py") if "tests" not in path.parts)


def imported(path: Path) -> set[str]:
    """Top-level names of the modules that a file imports."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.add(node.module.split(".")[0])
    return names


def rooms_imported(path: Path) -> set[str]:
    """The rooms of the drivers that a file imports."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module == "mgmt_drivers":
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            words = node.module.split(".")
            names |= {words[1]} if words[0] == "mgmt_drivers" else set()
    return names


class BoundariesTest(unittest.TestCase):
    def test_no_room_reaches_back(self) -> None:
        for path in sources():
            room = path.relative_to(PACKAGE).parts[0].removesuffix(".py")
            if room in ROOMS:
                allowed = set(ROOMS[: ROOMS.index(room) + 1])
                self.assertEqual(set(), rooms_imported(path) - allowed, path)

    def test_only_the_adapters_import_tacker(self) -> None:
        importing = {path for path in sources() if imported(path) & {"tacker", "oslo_config"}}
        self.assertTrue(importing)
        self.assertEqual(set(), importing - ADAPTERS)

    def test_everything_else_is_imported_without_tacker(self) -> None:
        names = [
            ".".join(path.relative_to(CHECKOUT).with_suffix("").parts)
            for path in sources()
            if path not in ADAPTERS and path.name != "__init__.py"
        ]
        program = (
            "import sys; sys.modules['tacker'] = None\n"
            f"for name in {names!r}: __import__(name)"
        )
        subprocess.run([sys.executable, "-c", program], check=True, cwd=CHECKOUT)

    def test_only_what_is_required_is_imported(self) -> None:
        for path in set(sources()) - ADAPTERS:
            foreign = imported(path) - ALLOWED - set(sys.stdlib_module_names)
            self.assertEqual(set(), foreign, path)

    def test_requirements_are_tackers_own(self) -> None:
        """An installation into Tacker's environment adds nothing and moves no version."""
        required = importlib.metadata.requires("tacker-mgmt-drivers")
        expected = {name + bound for name, bound in OF_TACKER.items()}
        self.assertEqual(expected, set(required or ()))

    def test_the_distribution_holds_the_drivers_only(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps"]
            command += ["--wheel-dir", folder, str(CHECKOUT)]
            subprocess.run(command, check=True)
            (wheel,) = Path(folder).glob("*.whl")
            listed = subprocess.run(
                [sys.executable, "-m", "zipfile", "-l", str(wheel)],
                check=True, capture_output=True, text=True,
            ).stdout
        names = [line.split()[0] for line in listed.splitlines()[1:]]
        scripts = {f"mgmt_drivers/payloads/{p.name}" for p in PACKAGE.glob("payloads/*.sh")}
        folder = "params/schemas"
        schemas = {f"mgmt_drivers/{folder}/{p.name}" for p in PACKAGE.glob(f"{folder}/*")}
        self.assertTrue(schemas)
        self.assertEqual(set(), (scripts | schemas) - set(names))
        tops = {name.split("/")[0] for name in names}
        self.assertEqual({"mgmt_drivers", "tacker_mgmt_drivers-0.1.0.dist-info"}, tops)
        self.assertFalse([name for name in names if "/tests/" in name])

    def test_no_test_patches_a_module_of_ours(self) -> None:
        for path in (PACKAGE / "tests").glob("*.py"):
            tree = ast.parse(path.read_text())
            imports = [n for n in ast.walk(tree) if isinstance(n, ast.ImportFrom) and n.module]
            ours = [n for n in imports if str(n.module).startswith("mgmt_drivers")]
            names = {alias.asname or alias.name for node in ours for alias in node.names}
            calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and node.args]
            patched = {
                ast.unparse(call.args[0]).partition(".")[0].strip("\"'")
                for call in calls
                if "patch" in ast.unparse(call.func)
            }
            self.assertEqual(set(), patched & {*names, "mgmt_drivers"}, path)

    def test_no_sleep_but_in_the_clock(self) -> None:
        sleeping = {path.name for path in sources() if "sleep(" in path.read_text()}
        self.assertEqual({"clock.py"}, sleeping)
