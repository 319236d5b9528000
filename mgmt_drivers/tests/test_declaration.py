"""Products of the declarations of parameters: defaults, the JSON schemas, and the guide."""

import json
import unittest
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mgmt_drivers.params.declaration import Always, Parameter, all_parameters
from mgmt_drivers.params.kinds import (
    Choice,
    Count,
    Flag,
    Kind,
    Network,
    Port,
    SecretText,
    Text,
    Url,
)
from mgmt_drivers.params.reader import Reader, ValidationErrors
from mgmt_drivers.schemas.request_schema import FOLDER, OBJECTS, schemas, text

try:
    import jsonschema
except ImportError:  # Tacker requires it, the drivers do not
    jsonschema = None

_REQUESTS = Path(__file__).parents[2] / "functional" / "requests"
_SIMPLE: Any = json.loads((_REQUESTS / "kubernetes/simple.json").read_text())
_CLUSTER = "k8s_cluster_installation_param"
# Kinds whose examples need nothing of a VNF package.
_PLAIN = (Choice, Count, Flag, Network, Port, SecretText, Text, Url)


def declared() -> Iterator[tuple[str, Parameter]]:
    """Each parameter with its path."""
    for name, cls in OBJECTS.items():
        yield from all_parameters(name, cls)


class DeclarationTest(unittest.TestCase):
    def test_each_says_what_it_is(self) -> None:
        paths = [path for path, _ in declared()]
        self.assertEqual(len(paths), len(set(paths)))
        for path, parameter in declared():
            with self.subTest(path):
                self.assertTrue(parameter.meaning and parameter.kind.words)
                is_required = isinstance(parameter.required, Always)
                self.assertFalse(is_required and (parameter.default or parameter.left_out))

    def test_examples_and_defaults_are_taken(self) -> None:
        for path, parameter in declared():
            for value in (parameter.example, parameter.default):
                if value is not None and isinstance(parameter.kind, _PLAIN):
                    errors = ValidationErrors()
                    parameter.kind.parse(Reader(value, path, errors))
                    self.assertEqual([], errors.messages)

    def test_what_is_required(self) -> None:
        words = {path: parameter.required.words for path, parameter in declared()}
        for path, expected in (
            (f"{_CLUSTER}.script_path", "required"),
            (f"{_CLUSTER}.cni_manifest_path",
             "required if the VNF package has no ``Files/kubernetes/flannel.yaml``"),
            (f"{_CLUSTER}.master_node.password", "required unless ``private_key`` is given"),
            ("k8s_cluster_modification_param.kubernetes_version", "or ``null``"),
            ("k8s_cluster_modification_param.package_repository.url", ""),
            (f"{_CLUSTER}.vim_name", ""),
        ):
            self.assertEqual(expected, words[path], path)


class SchemaTest(unittest.TestCase):
    def test_the_installed_ones_are_those_of_the_code(self) -> None:
        """``k8s-vnf package schema mgmt_drivers/schemas`` writes them."""
        files = {path.name: path.read_text() for path in FOLDER.glob("*.json")}
        self.assertEqual({name: text(schema) for name, schema in schemas()}, files)

    @unittest.skipUnless(jsonschema, "jsonschema is not installed")
    def test_they_are_schemas(self) -> None:
        for _, schema in schemas():
            jsonschema.Draft202012Validator.check_schema(schema)

    def test_the_requests_of_the_scenarios_fit(self) -> None:
        number = 0
        for path in _REQUESTS.rglob("*.json"):
            request = json.loads(path.read_text())
            texts = request.get("metadata", {}).items()
            objects = {**request.get("additionalParams", {}),
                       **{name: json.loads(value) for name, value in texts}}
            for name in objects.keys() & OBJECTS.keys():
                number += 1
                self.assertEqual([], _misfits(name, objects[name]), path)
        self.assertGreater(number, 5)

    @unittest.skipUnless(jsonschema, "jsonschema is not installed")
    def test_wrong_requests_do_not_fit(self) -> None:
        good = _SIMPLE["additionalParams"][_CLUSTER]
        master = good["master_node"]
        no_password = {key: value for key, value in master.items() if key != "password"}
        for changes in (
            {"colour": "blue"},
            {"container_runtime": "rkt"},
            {"etcd_backup": {"interval": "6"}},
            {"master_node": no_password},
            {"private_registry_connection_info": [{"server": "r:1"}]},
            {"private_registry_connection_info": [
                {"server": "r:1", "connection_type": 1, "username": "me"}]},
            {"proxy": "http://proxy:3128"},
            {"script_path": 1},
        ):
            with self.subTest(changes):
                self.assertTrue(_misfits(_CLUSTER, {**good, **changes}))
        key = {"master_node": {**no_password, "private_key": "key"}}
        blank = {"proxy": {"http_proxy": "", "no_proxy": ""}}
        self.assertEqual([], _misfits(_CLUSTER, {**good, **key, **blank}))
        for patch, fits in (
            ({}, True),
            ({"drain_timeout": None, "automatic_heal": {"share": None}}, True),
            ({"package_repository": None}, True),
            ({"package_repository": {"url": None}}, False),
            ({"script_path": "Scripts/x.sh"}, False),
        ):
            with self.subTest(patch):
                self.assertEqual(fits, not _misfits("k8s_cluster_modification_param", patch))


def _misfits(name: str, value: Any) -> list[str]:
    """The errors that an editor shows in an object of parameters."""
    if jsonschema is None:
        return []
    validator = jsonschema.Draft202012Validator(dict(schemas())[f"{name}.json"])
    return [error.message for error in validator.iter_errors(value)]


class KindTest(unittest.TestCase):
    def test_no_error_quotes_a_secret(self) -> None:
        kinds: tuple[Kind[Any], ...] = (SecretText(), Url())
        for kind in kinds:
            for value in ("Pl4nted\n", "Pl4nted" * 3000, ["Pl4nted"], {"Pl4nted": 1}, "ftp://Pl4nted"):
                errors = ValidationErrors()
                kind.parse(Reader(value, "p", errors))
                self.assertNotIn("Pl4nted", "".join(errors.messages))
