"""The directive ``parameters``: tables of what the code reads, with what the guide says of it.

What there is comes from the readers themselves, which are run on nothing and note
what they are asked for; the words come from ``parameters.yaml``. One without the
other is an error.
"""

import importlib
import ipaddress
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from docutils import nodes
from docutils.parsers.rst import Directive
from docutils.statemachine import StringList
from sphinx.application import Sphinx

from mgmt_drivers.errors import ParameterError
from mgmt_drivers.params.reader import Reader, ValidationErrors
from mgmt_drivers.request import LcmRequest
from mgmt_drivers.secret import Secret

_TEXTS = Path(__file__).parents[1] / "parameters.yaml"
_REQUEST = LcmRequest("", "", Path("/nonexistent"), {}, {})


@dataclass(frozen=True)
class Parameter:
    """What is known of one: its kind, and a default where the reader has one."""

    kind: str
    default: str = ""


class Recorder(Reader):
    """Notes what it is asked for and answers with what does no harm."""

    def __init__(self, path: str, found: dict[str, Parameter]) -> None:
        super().__init__({}, path, ValidationErrors())
        self.found = found

    def _note(self, key: str, kind: str, default: str = "") -> None:
        self.found.setdefault(f"{self.path}.{key}", Parameter(kind, default))

    def has(self, key: str) -> bool:
        return True

    def section(self, key: str) -> Reader:
        self._note(key, "object")
        return Recorder(f"{self.path}.{key}", self.found)

    def required_section(self, key: str) -> Reader:
        return self.section(key)

    def sections(self, key: str, at_least_one: bool = False) -> list[Reader]:
        self._note(key, "list of objects")
        return [Recorder(f"{self.path}.{key}", self.found)]

    def text(self, key: str, digits: bool = False, lines: bool = False) -> str:
        self._note(key, "string or number" if digits else "string")
        return ""

    def texts(self, key: str) -> list[tuple[str, str]]:
        self._note(key, "list of strings")
        return []

    def optional_text(self, key: str) -> str | None:
        self.text(key)
        return None

    def secret(self, key: str) -> Secret:
        return Secret(self.text(key))

    def one_of(self, key: str, known: Collection[str], kind: str) -> str:
        self._note(key, f"name of a {kind}")
        return ""

    def choice(self, key: str, allowed: Sequence[str], default: str) -> str:
        self._note(key, " or ".join(allowed), default)
        return default

    def flag(self, key: str) -> bool:
        self._note(key, "true or false", "false")
        return False

    def network(
        self, key: str, default: str = "", or_address: bool = False
    ) -> ipaddress.IPv4Network:
        self._note(key, "IPv4 network or address" if or_address else "IPv4 network", default)
        return ipaddress.IPv4Network(default or "198.18.0.0/15")

    def port(self, key: str, default: int) -> int:
        self._note(key, "TCP port", str(default))
        return default

    def count(self, key: str, default: int) -> int:
        self._note(key, "number", str(default))
        return default

    def file(self, key: str, package: Path) -> None:
        self._note(key, "file in the VNF package")

    def url(self, key: str) -> None:
        self._note(key, "URL")

    def end(self) -> None:
        """Everything is known here."""


def read(module_name: str) -> tuple[str, dict[str, Parameter], set[str]]:
    """Name of the whole, its parameters by path, and which of them must be there."""
    module = importlib.import_module(f"mgmt_drivers.params.{module_name}")
    found: dict[str, Parameter] = {}
    module.read(Recorder(module.NAME, found), _REQUEST)
    return module.NAME, found, _required(module, found)


def _required(module: Any, found: Mapping[str, Parameter]) -> set[str]:
    """Those whose lack is an error, each object being there but empty."""
    values: dict[str, Any] = {}
    for path, parameter in found.items():
        *parents, last = path.split(".")[1:]
        place = values
        for parent in parents:
            place = place[parent][0] if isinstance(place[parent], list) else place[parent]
        if parameter.kind == "object":
            place[last] = {}
        elif parameter.kind == "list of objects":
            place[last] = [{}]
    missing = set()
    errors = ValidationErrors()
    module.read(Reader(values, module.NAME, errors), _REQUEST)
    try:
        errors.raise_if_any()
    except ParameterError as invalid:
        for error in invalid.errors:
            path, _, text = error.partition(": ")
            if text.startswith("missing"):
                missing.add(path.replace("[0]", ""))
    # The objects that were there: those of which the code says that they are needed.
    outer = ValidationErrors()
    module.read(Reader({}, module.NAME, outer), _REQUEST)
    return missing | {error.partition(": ")[0] for error in outer.found if "missing" in error}


class ParametersDirective(Directive):
    """``.. parameters:: kubernetes``, the name of a module of mgmt_drivers.params."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        name, found, required = read(self.arguments[0])
        texts = yaml.safe_load(_TEXTS.read_text())[name]
        known = {path.removeprefix(f"{name}.") for path in found}
        if known != set(texts):
            odd = sorted(known ^ set(texts))
            raise self.error(f"{_TEXTS.name} and the code differ: {', '.join(odd)}")
        lines: list[str] = []
        for parent in dict.fromkeys(path.rpartition(".")[0] for path in sorted(found, key=_depth)):
            lines += _table(parent, name, found, required, texts)
        parsed = nodes.Element()
        self.state.nested_parse(StringList(lines, "parameters"), 0, parsed)
        return parsed.children


def _depth(path: str) -> int:
    return path.count(".")


def _table(
    parent: str,
    name: str,
    found: Mapping[str, Parameter],
    required: Collection[str],
    texts: Mapping[str, str],
) -> list[str]:
    """The lines of one object's table."""
    lines = [f"In ``{parent.removeprefix(f'{name}.')}``:", "", ".. list-table::"]
    lines += ["   :header-rows: 1", "   :widths: 26 18 16 40", ""]
    lines += ["   * - parameter", "     - kind", "     - default", "     - meaning"]
    for path, parameter in found.items():
        if path.rpartition(".")[0] != parent:
            continue
        default = parameter.default or ("required" if path in required else "\\-")
        text = " ".join(texts[path.removeprefix(f"{name}.")].split())
        lines += [f"   * - ``{path.rpartition('.')[2]}``", f"     - {parameter.kind}"]
        lines += [f"     - {default}", f"     - {text}"]
    return [*lines, ""]


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_directive("parameters", ParametersDirective)
    return {"parallel_read_safe": True}
