"""Properties that hold for every request, tried on random ones; see also :mod:`tools.fuzz`.

Requests are made of the examples that parameters are declared with, and then changed in a few
places: a new parameter that has an example is among them. Each is refused with nothing but errors
that begin with the path of a parameter and quote no secret, or is taken: then the JSON schema
takes the request, too, and each file that is rendered parses back to the values that went in.
"""

import copy
import functools
import io
import json
import random
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import paramiko

from mgmt_drivers.cluster import changed_params, cluster_checks, cluster_params, modification
from mgmt_drivers.cluster.series import SUPPORTED
from mgmt_drivers.errors import InventoryError, ParameterError, printable
from mgmt_drivers.params.declaration import (
    Always,
    Parameter,
    all_parameters,
    class_of,
    parameters,
)
from mgmt_drivers.params.kinds import (
    Choice,
    Count,
    Flag,
    Kind,
    ListOf,
    Network,
    Port,
    SecretText,
    Text,
    Url,
)
from mgmt_drivers.params.reader import Reader, ValidationErrors
from mgmt_drivers.registry import registry_params
from mgmt_drivers.request import LcmRequest
from mgmt_drivers.schemas.request_schema import OBJECTS, schemas
from mgmt_drivers.testing.property_package import CPS, FLAVOUR, RELEASE_BEFORE, write_package
from mgmt_drivers.testing.rendered import Broken, check_files

try:
    import jsonschema
except ImportError:  # Tacker requires it, the drivers do not
    jsonschema = None

CANARY = "Pl4nted"  # in every secret, and nowhere else
REFUSED, TAKEN, MISPLACED = "refused", "taken", "misplaced"

# Examples that no parameter is declared with, or that differ from place to place.
_EXAMPLES: Mapping[str, Any] = {
    "worker_node.ssh_cp_name": "workerNode_CP2",
    "worker_node.nic_cp_name": "workerNode_CP2",
    "worker_node.aspect_id": "worker_instance",
    "worker_pools.ssh_cp_name": "workerNode2_CP3",
    "worker_pools.nic_cp_name": "workerNode2_CP3",
    "worker_pools.aspect_id": "worker_instance",
    "password": f"{CANARY}-password",
    "ssh_password": f"{CANARY}-password",
    "http_proxy": f"http://me:{CANARY}%21@proxy.example.com:3128",
}
# The first parameter of each pair excludes the second.
_EXCLUSIVE = (
    ("helm", "helm_installation_script_path"), ("image_path", "image_url"),
    ("image_path", "image_sha256"), ("manifest_path", "chart_path"),
    ("manifest_path", "values_path"), ("path", "url"), ("path", "sha256"),
    ("htpasswd_path", "bundles"), ("package_repository", "offline_registry"),
    ("image_repository", "offline_registry"),
)  # fmt: skip
# Each excludes everything else in a modification.
_ALONE = {"renew_certificates", "defragment_etcd", "rotate_encryption_key"}
_NEEDING = {"pv_registration_params": "storage_server", "image_sha256": "image_url",
            "values_path": "chart_path", "bundles": "tls_certificate_path"}
# Text that is special to shells, systemd, apt, TOML, YAML, JSON, HAProxy, expressions and paths.
_PIECES = (
    "\n", "\r", "\0", "\t", " ", "\x1b[2J", "\x7f", "\x85", "\u2028", "\ufeff", "\ud800", "\udfff",
    "'", '"', "\\", "`id`", "$(id)", "${IFS}", "%", "%n", "%\nX=y", "%eth0", ";", "; reboot",
    "&& reboot", "| sh", "#", " # ", "//", "/*", "{", "}", "]", "[host]", "=", ":", ": ", "- ",
    "---\n", "&a", "*a", "!!python/name:os.system", "|\n ", ">", ",", '",\n"x":"', "*", "@", "~",
    "\nserver evil 10.0.0.9:1", "\n[host.'x']", "-", "--config=/x", "-oProxyCommand=x", "..",
    "../../etc/passwd", "/", "\\n", "(rw,no_root_squash)", "'''", "é", "١٢", "İ", "😀", "\u202e",
    "null", "fe80::1%eth0", "0x7f.1", "1e999", "-1", "007", "NaN", "a" * 300, "9" * 5000,
    "a" * 20000,
)  # fmt: skip
_ODD: Sequence[Any] = (
    None, True, False, 0, -1, 1, 1.5, float("nan"), float("inf"), 2**31, 10**400, "", " ", [], {},
    [[]], [{}], {"": ""}, ["x"], "0", "1", "a" * 5000,
)  # fmt: skip
_NAMES = ("registry.example.com", "a", "A-b.c", "10.10.0.9", "xn--bcher-kva.example", "localhost",
          "2001:db8::5", "ip6-localhost", "r1.lab.test:5000", "r:080", "..", "-x")  # fmt: skip
_FOLDERS = ("/volume", "/volume/nfs", "/volume/nfs/pv1", "//volume//x/", "/export/1", "/etc", "/",
            "/volume/a b", "/volume/(rw)", "/mnt/a_b-c.d", "/volume/" + "a" * 256)  # fmt: skip
# More values that may well be taken; a parameter that is not here is changed by pieces alone.
_OF_KEYS: Mapping[str, Sequence[Any]] = {
    "no_proxy": (*_NAMES, ".lab", "*.org", "*", "10.0.0.0/8,fc00::/7", "fe80::1%\nX=y", "[::1]:80"),
    "server": _NAMES,
    "hosts_string": tuple(
        f"{address}{space}{name}" for name in _NAMES for space in (" ", "  ", "\u00a0")
        for address in ("10.10.0.20", "2001:DB8::1", "127.0.0.1", "fe80::1%x")
    ),
    "connection_type": (0, 1, "0", "1", "2", True),
    "image_repository": tuple(f"{s}{n}{p}" for s in ("", "http://", "ftp://") for n in _NAMES
                              for p in ("", "/", "/k8s", "/K8s", "/a//b")),
    "kubernetes_version": (*SUPPORTED, "v1.33.2", "1.19", "1.38", "1.33."),
    "mount_to": _FOLDERS,
    "export_dir": _FOLDERS,
    "folder": _FOLDERS,
    "interval": ("5m", "4m", "30d", "31d", "1h", "1s"),
    "image_sha256": ("AB" * 32, "ab" * 31),
    "offline_registry": _NAMES,
}  # fmt: skip
_CHARACTERS = "aZ0'\"\\$`;&|<>(){}[]#!*?~=%:,- é漢😀"
_NETWORKS = ("10.0.0.0/8", "10.10.0.0/24", "172.16.3.0/16", "192.168.1.5", "10.0.0.0/29", "::/0",
             "127.0.0.0/16", "10.0.0.0/0", "10.10.0.0", "198.51.100.7/31")  # fmt: skip
_URLS = ("http://h", "https://h:8443/a", "http://h:080", "http://[::1]/x", "HTTP://H", "ftp://h",
         "http://h/a b", "http://h/%zz", "https://h/?a=b", "https://h/#c", "https://[::1]/[a",
         "http://u:$HOME@h", "https://h/`id`")  # fmt: skip
_HALF = 0.5
_COMPARED = 1900  # characters of an error


@dataclass(frozen=True)
class Input:
    """A request: the object of parameters that it has, and what was changed in it."""

    name: str
    params: Any
    changes: Sequence[str]

    def __str__(self) -> str:
        return json.dumps({self.name: self.params, "changes": list(self.changes)}, indent=2)


def make(seed: str) -> Input:
    """The input of a seed, the same each time."""
    source = random.Random(seed)
    name = source.choices([*OBJECTS], weights=[8, 2, 2, 1])[0]
    params: Any = _example_of(OBJECTS[name], name, source)
    changes = []
    for _ in range(source.choices([0, 1, 2, 3], weights=[3, 4, 2, 1])[0]):
        changes.append(_change(params, name, source))
    if source.random() < 1 / 50:
        params = source.choice(_ODD)
    return Input(name, params, changes)


def complete(name: str) -> Any:
    """An object with every parameter that has an example, but for those that exclude another."""
    return _example_of(OBJECTS[name], name, None)


def _example_of(cls: type[Any], path: str, source: random.Random | None) -> dict[str, Any]:
    """The examples of an object, of those that may be left out about half."""
    values: dict[str, Any] = {}
    for parameter in parameters(cls):
        is_optional = not isinstance(parameter.required, Always)
        if is_optional and source and source.random() < _HALF:
            continue
        if any((key, parameter.name) in _EXCLUSIVE for key in values):
            continue
        if path == modification.NAME and _is_excluded({*values, parameter.name}):
            continue
        if _NEEDING.get(parameter.name) not in (None, *values):
            continue
        value = _value(parameter, f"{path}.{parameter.name}", source)
        if value is not None:
            values[parameter.name] = value
    for parameter in parameters(cls):  # required unless, or beside, another one
        if parameter.required.lack(Reader(values, path, ValidationErrors())):
            values.setdefault(parameter.name, _value(parameter, f"{path}.{parameter.name}", source))
    return values


def _is_excluded(names: Set[str]) -> bool:
    """Whether a modification may not have all of these parameters."""
    is_upgrade = "kubernetes_version" in names
    others = names - modification.WITH_UPGRADE - {"kubernetes_version", "workers_at_once"}
    return (len(names) > 1 and bool(names & _ALONE)) or (is_upgrade and bool(others))


def _value(parameter: Parameter, path: str, source: random.Random | None) -> Any:
    inner = class_of(parameter.kind)
    if inner:
        value = _example_of(inner, path, source)
        return [value] if isinstance(parameter.kind, ListOf) else value
    last_two = ".".join(path.split(".")[-2:])
    for key in (last_two, parameter.name):
        if key in _EXAMPLES:
            return _EXAMPLES[key]
    if parameter.name == "private_key":
        return _private_key()
    return copy.deepcopy(parameter.example)


@functools.cache
def _private_key() -> str:
    text = io.StringIO()
    paramiko.ECDSAKey.generate().write_private_key(text)
    return text.getvalue()


Place = tuple[Any, Any, str]  # what holds a value, its key there, and its path


def _places(holder: Any, path: str) -> Iterator[Place]:
    """Every value in an object."""
    items: Any = enumerate(holder) if isinstance(holder, list) else holder.items()
    for key, value in items:
        below = f"{path}[{key}]" if isinstance(holder, list) else f"{path}.{key}"
        yield holder, key, below
        if isinstance(value, (dict, list)):
            yield from _places(value, below)


def _change(params: Any, name: str, source: random.Random) -> str:
    """Change one value somewhere; returns what was done."""
    places = list(_places(params, name))
    if not places:
        return "nothing"
    holder, key, path = source.choice(places)
    (how,) = source.choices(*zip(*_CHANGES, strict=True))
    how(holder, key, path, source)
    return f"{how.__name__.strip('_')}: {path}"


def _odd(holder: Any, key: Any, path: str, source: random.Random) -> None:
    holder[key] = copy.deepcopy(source.choice(_ODD))


def _spoilt(holder: Any, key: Any, path: str, source: random.Random) -> None:
    """A piece somewhere in a text."""
    text = holder[key] if isinstance(holder[key], str) else "text"
    at = source.randrange(len(text) + 1)
    holder[key] = text[:at] + source.choice(_PIECES) + text[at + source.choice((0, 0, 1, 40)):]


def _likely(holder: Any, key: Any, path: str, source: random.Random) -> None:
    parameter = _declared().get(_general(path))
    if parameter is None or class_of(parameter.kind):
        return _spoilt(holder, key, path, source)
    if parameter.name in _OF_KEYS:
        holder[key] = source.choice(_OF_KEYS[parameter.name])
    else:
        holder[key] = _of_kind(parameter.kind, holder[key], source)
    return None


def _of_kind(kind: Kind[Any], before: Any, source: random.Random) -> Any:
    """Another value of a kind, which may well be taken."""
    if isinstance(kind, (Text, SecretText)):
        text = "".join(source.choices(_CHARACTERS, k=source.randrange(1, 24)))
        return f"{CANARY}{text}" if isinstance(kind, SecretText) else text
    if isinstance(kind, Flag):
        return source.choice((True, False))
    if isinstance(kind, Count):
        number = source.randrange(70000) if isinstance(kind, Port) else source.randrange(-1, 110)
        return source.choice((number, str(number)))
    if isinstance(kind, Choice):
        return source.choice(kind.schema()["enum"])
    if kind.words in (Network.words, "IPv4 network or address"):
        return source.choice(_NETWORKS)
    if kind.words == Url.words:
        return source.choice(_URLS)
    return source.choice(_ODD) if before is None else before


def _dropped(holder: Any, key: Any, path: str, source: random.Random) -> None:
    del holder[key]


def _doubled(holder: Any, key: Any, path: str, source: random.Random) -> None:
    """The same again in a list."""
    if isinstance(holder, list):
        holder.append(copy.deepcopy(holder[key]))
    else:
        holder[key] = [holder[key], copy.deepcopy(holder[key])]


def _unknown(holder: Any, key: Any, path: str, source: random.Random) -> None:
    if isinstance(holder, dict):
        holder[source.choice(("colour", "", "a.b", "é\n", "a" * 5000))] = 1


# Mostly such as leave a good request.
_CHANGES = ((_likely, 12), (_spoilt, 4), (_odd, 1), (_dropped, 1), (_doubled, 1), (_unknown, 1))


@functools.cache
def _declared() -> Mapping[str, Parameter]:
    """All parameters, by paths without numbers."""
    return {p: d for name, cls in OBJECTS.items() for p, d in all_parameters(name, cls)}


def _general(path: str) -> str:
    return re.sub(r"\[[0-9]+\]", "", path)


class Properties:
    """Tries inputs, and counts what became of them.

    :param package: an empty folder, where a VNF package is written
    """

    def __init__(self, package: Path) -> None:
        self.outcomes: Counter[str] = Counter()
        self._package = package
        write_package(package)
        before = {**complete(cluster_params.NAME), "kubernetes_version": RELEASE_BEFORE}
        self._before = self._request(cluster_params.NAME, before)

    def check(self, given: Input) -> None:
        """:raises Broken: with the property that does not hold"""
        before = repr(given.params)
        try:
            params = self.read(given)
        except ParameterError as error:
            self.check_errors(error, given)
            self.outcomes[REFUSED] += 1
            return
        except Exception as error:
            raise Broken(f"{type(error).__name__} is no error of parameters: {error}") from error
        if repr(given.params) != before:
            raise Broken("the drivers change the request")
        if CANARY in repr(params):
            raise Broken("the parameters show a secret when they are printed")
        self._check_schema(given)
        try:
            check_files(params)
            self.outcomes[TAKEN] += 1
        except InventoryError:  # names connection points of other machines
            self.outcomes[MISPLACED] += 1
        except Broken:
            raise
        except Exception as error:
            raise Broken(f"taken, and then: {type(error).__name__}: {error}") from error

    def read(self, given: Input) -> Any:
        """Read an input as the drivers do."""
        request = self._request(given.name, given.params)
        if given.name == modification.NAME:
            # Tacker's v1 API has the object's text.
            params = json.dumps(given.params) if len(given.changes) % 2 else given.params
            change = modification.read_modification(params, self._before)
            return cluster_checks.read_params(changed_params.apply(self._before, change.patch))
        if given.name == cluster_params.NAME:
            return cluster_checks.read_params(request)
        if given.name == registry_params.MODIFICATION:
            bundles = registry_params.read_modification(given.params, request)
            own = {**complete(registry_params.NAME), "htpasswd_path": None, "bundles": bundles}
            return registry_params.read_params(self._request(registry_params.NAME, own))
        return registry_params.read_params(request)

    def _request(self, name: str, params: Any) -> LcmRequest:
        return LcmRequest(
            operation="instantiate",
            vnf_instance_id="vnf-1",
            package=self._package,
            cps={"CP1": "VDU1"} if name.startswith("private_registry") else CPS,
            additional_params={name: params},
            flavour=FLAVOUR,
            aspects=frozenset({"master_instance", "worker_instance"}),
        )

    def check_errors(self, error: ParameterError, given: Input) -> None:
        """:raises Broken: when an error has no path, or tells a secret"""
        known = (*_declared(), given.name)
        own: tuple[str, ...] = ()
        if isinstance(given.params, (dict, list)):
            paths = (path for _, _, path in _places(given.params, given.name))
            # As errors begin with them, which are cut in their middle.
            own = tuple(printable(f"{path}: ", 10**9)[:_COMPARED] for path in paths)
        for text in error.errors:
            path = _general(text.partition(": ")[0])
            if not text.isprintable() or not (path in known or text.startswith(own)):
                raise Broken(f"an error that does not begin with a path: {text!r}")
            if CANARY in text:
                raise Broken(f"an error tells a secret: {text!r}")

    def _check_schema(self, given: Input) -> None:
        """An editor takes each request that the drivers take."""
        if jsonschema is None:
            return
        params = _without_nulls(given.params)
        if given.name == modification.NAME:  # the schema knows the nulls of a patch
            own = {parameter.name for parameter in parameters(modification.Instructions)}
            params = {k: v for k, v in given.params.items() if k not in own or v is not None}
        for error in _validator(given.name).iter_errors(params):
            raise Broken(f"the JSON schema refuses what the drivers take: {error.json_path}: "
                         f"{error.validator}")


@functools.cache
def _validator(name: str) -> Any:
    return jsonschema.Draft202012Validator(dict(schemas())[f"{name}.json"])


def _without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_nulls(item) for key, item in value.items() if item is not None}
    return [_without_nulls(item) for item in value] if isinstance(value, list) else value
