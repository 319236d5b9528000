"""Registries on a node: their names, their logins where kubelet looks, and a test of each.

The container runtime is configured to trust them in :mod:`mgmt_drivers.cluster.packages.runtime`.
"""

import json
from collections.abc import Sequence
from pathlib import Path

from mgmt_drivers.cluster.registries import registry_probe
from mgmt_drivers.cluster.registries.registries_params import LOGINS_FOLDER, Registry
from mgmt_drivers.machine import blocks, files, syntax
from mgmt_drivers.machine.host import Host
from mgmt_drivers.params.proxy import Proxy
from mgmt_drivers.secret import Secret

_HOSTS = "/etc/hosts"
# The template from which cloud-init makes the file anew at each boot, if it manages the file.
_HOSTS_TEMPLATE = "/etc/cloud/templates/hosts.debian.tmpl"
KUBELET_LOGINS = f"{LOGINS_FOLDER}/config.json"
_PROBE = Path(registry_probe.__file__).read_text()
_PROBE_LIMIT = 120.0  # seconds


def write_host_entries(host: Host, registries: Sequence[Registry]) -> None:
    entries = dict.fromkeys(r.host_entry for r in registries if r.host_entry)
    lines = "".join(f"{syntax.words(entry.address, entry.name)}\n" for entry in entries)
    for path in (_HOSTS, _HOSTS_TEMPLATE):
        if path == _HOSTS or host.ask("test", "-e", path).ok:
            files.write(host, path, blocks.replaced(files.read(host, path), lines))


def write_logins(host: Host, registries: Sequence[Registry], before: Sequence[Registry]) -> None:
    """Add the logins to kubelet's in place of those of before; others stay as they are."""
    logins = {r.login_key: {"auth": r.login.basic.reveal()} for r in registries if r.login}
    old = {registry.login_key for registry in before if registry.login}
    if not logins and not old:
        return
    config = files.read_json(host, KUBELET_LOGINS)
    others = {key: auth for key, auth in config.get("auths", {}).items() if key not in old}
    merged = {**config, "auths": {**others, **logins}}
    content = Secret(json.dumps(merged, indent=2) + "\n")
    files.write(host, KUBELET_LOGINS, content, "0600")


def verify(host: Host, registries: Sequence[Registry], proxy: Proxy | None) -> dict[str, str]:
    """Ask the registries from the machine; returns what is wrong with each, by server."""
    asked = [_question(registry, proxy) for registry in registries]
    questions = Secret(json.dumps(asked))
    answer = host.sudo("python3", "-c", _PROBE, stdin=questions, timeout=_PROBE_LIMIT)
    found = zip(registries, json.loads(answer), strict=True)
    return {registry.server: cause for registry, cause in found if cause}


def _question(registry: Registry, proxy: Proxy | None) -> dict[str, str]:
    question = {"url": registry.url}
    if registry.login:
        question["username"] = registry.login.username
        question["password"] = registry.login.password.reveal()
    if registry.shown_login:
        question["shows"] = "basic"
    if registry.certificate:
        question["ca"] = registry.certificate.decode()
    way = proxy.way_to(registry.scheme, registry.host) if proxy else None
    if way:
        question["proxy"] = way.reveal()
    return question
