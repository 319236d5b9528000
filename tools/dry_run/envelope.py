"""Checks the members of a request (SOL003) around the parameters of the drivers.

Tacker's API takes a wrong one with an error that names no member, or leaves it out unseen.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from mgmt_drivers.errors import ParameterError

_LINKS = ("extVirtualLinks", "extManagedVirtualLinks")
_MEMBERS: Mapping[str, tuple[str, ...]] = {
    "instantiate": (
        "flavourId", "instantiationLevelId", "localizationLanguage", "vimConnectionInfo",
        "additionalParams", "extensions", "vnfConfigurableProperties", *_LINKS,
    ),
    "scale": ("type", "aspectId", "numberOfSteps", "additionalParams"),
    "heal": ("cause", "vnfcInstanceId", "additionalParams", "healScript"),
    "modify": (
        "vnfInstanceName", "vnfInstanceDescription", "vnfdId", "vnfPkgId", "metadata",
        "vimConnectionInfo", "extensions", "vnfConfigurableProperties", "vnfcInfoModifications",
        "vnfcInfoModificationsDeleteIds",
    ),
    "change-package": (
        "vnfdId", "vimConnectionInfo", "additionalParams", "extensions",
        "vnfConfigurableProperties", *_LINKS,
    ),
}
_TYPES: Mapping[type[Any], tuple[str, str]] = {list: ("1", "a list"), dict: ("2", "an object")}


def check(operation: str, body: Mapping[str, Any], version: str | None) -> str:
    """Check a request; returns the version of the API for which it is written.

    :param version: of the API, if the user has named one
    :raises ParameterError: with every error
    """
    known = _MEMBERS.get(operation, ())
    errors = [
        f"{name}: unknown; a request to {operation} has {', '.join(known)}"
        for name in body
        if name not in known
    ]
    params = body.get("additionalParams", {})
    if not isinstance(params, dict):
        errors.append("additionalParams: must be an object")
    seen = dict(_versions(body))
    wanted = version or next(iter(seen.values()), "1")
    errors += [
        f"{path}: is written as Tacker's v{found} API has it, and the request is for v{wanted}"
        for path, found in seen.items()
        if found not in ("", wanted)
    ]
    errors += [f"{path}: must be {_shapes()}" for path, found in seen.items() if not found]
    if operation == "instantiate":
        errors += _missing(body)
    if errors:
        raise ParameterError(errors)
    return wanted


def _shapes() -> str:
    return " or ".join(f"{text} (v{version} API)" for version, text in _TYPES.values())


def _versions(body: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """The paths that the two versions write differently; the version is empty for another type."""
    if "vimConnectionInfo" in body:
        yield "vimConnectionInfo", _version_of(body["vimConnectionInfo"])
    for path, cp in _cps(body):
        if "cpConfig" in cp:
            yield f"{path}.cpConfig", _version_of(cp["cpConfig"])


def _version_of(value: Any) -> str:
    return _TYPES.get(type(value), ("", ""))[0]


def _cps(body: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for number, link in enumerate(_objects(body.get("extVirtualLinks"))):
        for index, cp in enumerate(_objects(link.get("extCps"))):
            yield f"extVirtualLinks[{number}].extCps[{index}]", cp


def _objects(value: Any) -> list[Mapping[str, Any]]:
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def _missing(body: Mapping[str, Any]) -> Iterator[str]:
    if not isinstance(body.get("flavourId"), str):
        yield "flavourId: must name a flavour of the VNF package"
    if "vimConnectionInfo" not in body:
        yield "vimConnectionInfo: must name the VIM"
    if not isinstance(body.get("extVirtualLinks"), list):
        yield "extVirtualLinks: must be a list of the networks of the VNF's CPs"
    for number, link in enumerate(_objects(body.get("extVirtualLinks"))):
        for name, kind in (("id", str), ("resourceId", str), ("extCps", list)):
            if not isinstance(link.get(name), kind) or not link[name]:
                what = "a text" if kind is str else "a list of CPs"
                yield f"extVirtualLinks[{number}].{name}: must be {what}"
    for path, cp in _cps(body):
        for name in ("cpdId", "cpConfig"):
            if not cp.get(name):
                yield f"{path}.{name}: missing"
