"""Which parts of the project import which: programs, scenarios, and what both share."""

import ast
import unittest
from collections.abc import Iterator
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[2]


def imported(path: Path) -> Iterator[str]:
    """Full names of the modules, or of the names in them, that a file imports."""
    package = path.relative_to(CHECKOUT).parent.parts
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else ()
            module = ".".join([*above, *filter(None, [node.module])])
            yield from (f"{module}.{alias.name}" for alias in node.names)


def _is_in(name: str, package: str) -> bool:
    return f"{name}.".startswith(f"{package}.")


class BoundariesTest(unittest.TestCase):
    def assert_imports_of(self, folder: str, package: str, allowed: str | None = None) -> None:
        """The modules below a folder import nothing of a package but what is allowed."""
        found = {
            f"{path.relative_to(CHECKOUT)}: {name}"
            for path in (CHECKOUT / folder).rglob("*.py")
            for name in imported(path)
            if _is_in(name, package) and not (allowed and _is_in(name, allowed))
        }
        self.assertEqual(set(), found)

    def test_tools_do_not_need_the_scenarios(self) -> None:
        self.assert_imports_of("tools", "functional")

    def test_scenarios_do_not_know_which_cloud_is_behind_the_api(self) -> None:
        """They would by way of any tool that knows the embedded cloud."""
        self.assert_imports_of("functional", "tools", allowed="tools.client")
        self.assert_imports_of("tools/client", "tools", allowed="tools.client")

    def test_tests_hold_the_servers_of_python(self) -> None:
        """Eventlet, which parts of Tacker import, puts its own ``http.server`` in the place of
        Python's, and a test that looks that up while it runs waits forever for its server's end.
        """
        tests = [path for path in CHECKOUT.glob("*/**/test_*.py") if ".tox" not in path.parts]
        self.assertGreater(len(tests), 100)
        found = {path for path in tests if "http.server" in imported(path)}
        self.assertEqual(set(), found)
