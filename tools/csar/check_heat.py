"""Validates the templates with Heat's own code, without a cloud.

Heat checks resource types, properties, references between resources and nested templates. Images,
flavors, networks, quotas and extensions, which only a cloud knows, are assumed to exist.
"""

import importlib.util
import logging
import warnings
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import PurePosixPath
from types import SimpleNamespace
from typing import Any

from tools.csar import check_basehot, contents
from tools.csar.package import Fault, Flavour, Package, mapping

NOT_INSTALLED = "Heat is not installed: templates are checked only in their syntax"

# Example values by parameter name, in nfv, too; all other parameters get an address as text.
_EXAMPLES: dict[str, Any] = {
    "addresses": [{"ip_address": "192.0.2.5"}],
    "api_remote_ip_prefix": "192.0.2.0/24",
    "fixed_ips": [{"ip_address": "192.0.2.5", "subnet": "192.0.2.0/24"}],
    "registry_port": 5000,
    "registry_last_port": 5001,
    "ssh_remote_ip_prefix": "192.0.2.0/24",
    "virtual_ips": "192.0.2.6,2001:db8::6",
}


def is_installed() -> bool:
    return importlib.util.find_spec("heat") is not None


def templates(package: Package) -> Iterator[Fault]:
    """Check that Heat accepts each flavour's templates; without Heat nothing is checked.

    Heat does not check all values of a nested template, so each is validated by itself, too.
    """
    if not is_installed():
        return
    for flavour in package.flavours:
        for top in check_basehot.top_templates(package, flavour):
            files = nested(package, top)
            given = {"nfv": _nfv(package, flavour)}
            yield from _refused(package, top, files, given)
            for name in files:
                place = str(PurePosixPath(top).parent / "nested" / name)
                yield from _refused(package, place, files, given)


def nested(package: Package, top: str) -> dict[str, str]:
    """Return the texts of a template's nested templates, as Tacker finds them, by file name."""
    folder = PurePosixPath(top).parent / "nested"
    found = [PurePosixPath(name) for name in package.contents]
    return {path.name: _text(package, str(path)) for path in found if path.parent == folder}


def refusal(text: str, files: Mapping[str, str], parameters: Mapping[str, Any]) -> str:
    """Return Heat's error for a template with these parameters; empty if there is none.

    :param files: texts of nested templates, by their names in the template
    """
    try:
        stack(text, files, parameters).validate()
    except (_heat().exception.HeatException, ValueError) as error:
        return " ".join(str(error).split())
    return ""


def stack(text: str, files: Mapping[str, str], parameters: Mapping[str, Any]) -> Any:
    """Return Heat's stack of a template, without a cloud.

    :raises HeatException, ValueError: Heat refuses the template
    """
    heat = _heat()
    # Heat has its own ways with YAML: dates stay texts.
    document = heat.template_format.parse(text)
    environment = heat.environment.Environment({"parameters": dict(parameters)})
    template = heat.template.Template(document, env=environment, files=dict(files))
    context = heat.context.RequestContext(project_id="project", username="user")
    return heat.stack.Stack(context, "stack", template)


def _refused(
    package: Package, name: str, files: Mapping[str, str], given: Mapping[str, Any]
) -> Iterator[Fault]:
    """Validate a template with given parameters, and examples for all others."""
    declared = mapping(package.documents.get(name), "parameters")
    lacking = [key for key, schema in declared.items() if "default" not in mapping(schema)]
    parameters = {key: given.get(key, _example(key)) for key in lacking}
    reason = refusal(_text(package, name), files, parameters)
    if reason:
        yield Fault(name, "", f"Heat refuses the template: {reason}")


def _text(package: Package, name: str) -> str:
    return contents.read(package.contents[name]).decode()


def _nfv(package: Package, flavour: Flavour) -> dict[str, Any]:
    """Return an example of the parameter nfv, with all values that the templates use."""
    nfv: dict[str, Any] = {}
    for path in check_basehot.nfv_paths(package, flavour):
        place, path = nfv, path[:4]  # of a list of addresses one may be taken
        for key in path[1:-1]:
            place = place.setdefault(str(key), {})
        place[str(path[-1])] = _example(str(path[-1]))
    return nfv


def _example(name: str) -> Any:
    return _EXAMPLES.get(name, "192.0.2.7")


@cache
def _heat() -> SimpleNamespace:
    """Return the modules of Heat, set up to ask no cloud."""
    logging.getLogger("heat").setLevel(logging.CRITICAL)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from heat.common import context, exception, messaging, template_format, urlfetch
        from heat.engine import environment, resources, stack, template
        from oslo_config import cfg

        resources.initialise()
    cfg.CONF([], project="heat", default_config_files=[], default_config_dirs=[])
    cfg.CONF.set_override("cloud_backend", f"{__name__}.{NoCloud.__name__}")
    urlfetch.get = _fetch
    messaging.setup("fake://")  # groups ask an engine for their members, of which there are none
    return SimpleNamespace(
        context=context, exception=exception, template_format=template_format,
        environment=environment, stack=stack, template=template,
    )


def _fetch(url: str, **kwargs: Any) -> bytes:
    """Refuse the URL of a nested template, which Heat has no option against."""
    raise OSError("verify fetches nothing: put the template into the folder nested")


class NoCloud:
    """Heat's clients for a cloud that has everything: Heat makes one for each context."""

    def __init__(self, context: object) -> None:
        self.context = context

    def client_plugin(self, name: str) -> "_Service":
        return _Service()

    def client(self, name: str, version: object = None) -> "_Service":
        return _Service()


class _Service:
    """A client plugin that finds every requested resource."""

    # Without service types Heat asks Keystone for no endpoints.
    service_types: tuple[str, ...] = ()

    def get_image(self, name: str) -> SimpleNamespace:
        return SimpleNamespace(status="active", min_ram=0, min_disk=0)

    def get_flavor(self, name: str) -> SimpleNamespace:
        return SimpleNamespace(ram=1 << 20, disk=1 << 10)

    def absolute_limits(self) -> SimpleNamespace:
        return SimpleNamespace(maxServerMeta=1 << 10, maxPersonality=-1, maxPersonalitySize=-1)

    def __getattr__(self, name: str) -> Callable[..., str]:
        if name.startswith("__"):
            raise AttributeError(name)
        return lambda *args, **kwargs: "found"
