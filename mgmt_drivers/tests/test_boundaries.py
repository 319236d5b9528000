"""The order of the house: imports, and Tacker's boundary."""

import ast
import importlib.metadata
import subprocess
import sys
import unittest
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import mgmt_drivers

PACKAGE = Path(mgmt_drivers.__file__).parent
CHECKOUT = PACKAGE.parent
ADAPTERS = {
    PACKAGE / name
    for name in (
        "kubernetes_mgmt.py", "private_registry_mgmt.py", "tacker/options.py",
        "tacker/server_notifier.py", "tacker/stack.py", "tacker/v1.py", "tacker/vims_v1.py",
    )
}

# The packages and modules in their order: each imports only what stands before it, or itself.
ORDER = (
    "errors", "grammar", "secret", "request", "clock", "package_yaml", "package",
    "ssh", "params", "inventory", "machine", "engine", "setup", "registry", "cluster", "vim",
    "schemas", "operations", "tacker", "kubernetes_mgmt", "kubernetes_v2", "private_registry_mgmt",
    "private_registry_v2",
)
CAPABILITIES = PACKAGE / "cluster"

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
    return (path for path in PACKAGE.rglob("*.py") if not {"tests", "testing"} & {*path.parts})


def imported(path: Path) -> set[str]:
    """Top-level names of the modules that a file imports."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.add(node.module.split(".")[0])
    return names


def imported_names(path: Path) -> Iterator[tuple[str, str]]:
    """The names that a file imports from the drivers, each with its module."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module:
            words = node.module.split(".")
            if words[0] == "mgmt_drivers":
                yield from ((node.module, alias.name) for alias in node.names)


def top_of(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


# A program.
IMPORT_WITHOUT_TACKER = f"""
import sys
sys.modules["tacker"] = None
for name in {[
    ".".join(path.relative_to(CHECKOUT).with_suffix("").parts)
    for path in sources()
    if path not in ADAPTERS and path.name != "__init__.py"
]}:
    __import__(name)
"""

# Words with which no docstring begins: a reader has to guess the noun.
_NOT_NOUNS = (
    "As", "For", "It", "Its", "Of", "That", "Their", "These", "They", "This", "Those", "What",
    "Where", "Which", "Who", "Whose", "With",
)  # fmt: skip


class BoundariesTest(unittest.TestCase):
    def test_the_order_of_imports(self) -> None:
        for path in sources():
            if path.parent == PACKAGE and path.name == "__init__.py":
                continue
            allowed = set(ORDER[: ORDER.index(top_of(path)) + 1])
            names = {f"{module}.{name}".split(".")[1] for module, name in imported_names(path)}
            self.assertEqual(set(), names - allowed, path)

    def test_the_registry_and_the_cluster_know_nothing_of_each_other(self) -> None:
        for path in (PACKAGE / "cluster").rglob("*.py"):
            for module, name in imported_names(path):
                self.assertNotIn("mgmt_drivers.registry", f"{module}.{name}", path)

    def test_only_operations_put_phases_of_capabilities_together(self) -> None:
        """A capability imports only public names of another one, and no phases."""
        for path in CAPABILITIES.rglob("*.py"):
            own = ".".join(path.relative_to(CHECKOUT).parent.parts)
            for module, name in imported_names(path):
                if not module.startswith("mgmt_drivers.cluster.") or module.startswith(own):
                    continue
                self.assertFalse(name.startswith("_"), f"{path}: {module}.{name}")
                file = CHECKOUT / (module.replace(".", "/") + ".py")
                has_phases = file.exists() and "mgmt_drivers.engine.phase" in file.read_text()
                self.assertFalse(has_phases, f"{path} imports phases of {module}")

    def test_no_two_modules_have_one_name(self) -> None:
        names = Counter(path.stem for path in sources() if path.name != "__init__.py")
        self.assertEqual([], [name for name, number in names.items() if number > 1])

    def test_only_the_adapters_import_tacker(self) -> None:
        importing = {path for path in sources() if imported(path) & {"tacker", "oslo_config"}}
        self.assertTrue(importing)
        self.assertEqual(set(), importing - ADAPTERS)

    def test_everything_else_is_imported_without_tacker(self) -> None:
        subprocess.run([sys.executable, "-c", IMPORT_WITHOUT_TACKER], check=True, cwd=CHECKOUT)

    def test_only_what_is_required_is_imported(self) -> None:
        for path in set(sources()) - ADAPTERS:
            foreign = imported(path) - ALLOWED - set(sys.stdlib_module_names)
            self.assertEqual(set(), foreign, path)

    def test_requirements_are_tackers_own(self) -> None:
        """An installation into Tacker's environment adds nothing and moves no version."""
        required = importlib.metadata.requires("tacker-mgmt-drivers")
        expected = {name + bound for name, bound in OF_TACKER.items()}
        self.assertEqual(expected, set(required or ()))

    def test_names_between_functions_and_docstrings_say_the_noun(self) -> None:
        for path in (*sources(), *(PACKAGE / "testing").glob("*.py")):
            for node in ast.walk(ast.parse(path.read_text())):
                name = getattr(node, "arg", None) or getattr(node, "attr", None)
                if path.parent.name != "testing":
                    self.assertNotIn(name, ("found", "wanted", "seen"), path)
                if isinstance(node, ast.FunctionDef | ast.ClassDef | ast.Module):
                    first, *_ = [*(ast.get_docstring(node) or "").split(), ""]
                    with self.subTest(path=path, first=first):
                        self.assertNotIn(first, _NOT_NOUNS)

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

    def test_what_tacker_keeps_has_one_home(self) -> None:
        """Product and tools must find the same things there."""
        programs = [*sources(), *CHECKOUT.glob("tools/*/*.py")]
        for words in ('"mgmt_driver_"', "cluster of VNF instance {", '"StandardUserData"'):
            homes = [path.name for path in programs if words in path.read_text()]
            self.assertEqual(1, len(homes), (words, homes))

    def test_no_sleep_but_in_the_clock(self) -> None:
        sleeping = {path.name for path in sources() if "sleep(" in path.read_text()}
        self.assertEqual({"clock.py"}, sleeping)
