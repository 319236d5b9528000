"""Bundles on the registry's machine, which ``k8s-vnf bundle`` of this project makes.

A bundle has the images of a release of Kubernetes, as files of a registry's storage, and a signed
repository of packages for each system.
"""

from collections.abc import Sequence
from pathlib import Path

from mgmt_drivers.engine.phase import Change, Check
from mgmt_drivers.errors import CommandFailed, RegistryError
from mgmt_drivers.machine import downloads, facts, files, packages, platforms, units
from mgmt_drivers.machine.files import STATE_FOLDER, File
from mgmt_drivers.machine.host import Host
from mgmt_drivers.machine.script import Script
from mgmt_drivers.registry import package_server
from mgmt_drivers.registry.registry_params import Bundle, PrivateRegistryParams
from mgmt_drivers.registry.run_registry import wait_for_port
from mgmt_drivers.registry.settings import CONFIG_FOLDER, DATA_FOLDER, tls_files

SERVICE = "private-registry-packages.service"
_FOLDER = f"{DATA_FOLDER}/packages"
_PROGRAM = f"{CONFIG_FOLDER}/package-server.py"
_TEXT = Path(package_server.__file__).read_text()
_UNPACK = Script(__package__, "unpack-bundle")
_UNPACK_LIMIT = 1800.0  # seconds
_LOGS = ("systemctl", "status", "--no-pager", "--lines=5", SERVICE)
_UNIT = """\
[Unit]
Description=Packages of bundles for clusters
After=network.target
StartLimitIntervalSec=0

[Service]
ExecStart=/usr/bin/python3 -I {program} {folder} {port} {config}/tls.crt {config}/tls.key
Restart=always
RestartSec=2

[Install]
WantedBy=multi-user.target
"""


class UnpackBundles(Change[PrivateRegistryParams, Sequence[Bundle]]):
    """Unpack the bundles, whose packages become the only ones that apt of the machine knows."""

    title = "unpack bundles"

    def look(self, host: Host, params: PrivateRegistryParams) -> Sequence[Bundle] | None:
        notes = facts.gather(host).notes
        return [bundle for bundle in params.bundles if _note(bundle) not in notes] or None

    def describe(self, lacking: Sequence[Bundle]) -> str:
        return ", ".join(bundle.name for bundle in lacking)

    def act(self, host: Host, params: PrivateRegistryParams, lacking: Sequence[Bundle]) -> None:
        folder = f"{_FOLDER}/{platforms.detect(host).slug}"
        source = packages.only_source(f"deb [trusted=yes] file:{folder}/ /\n")
        for bundle in lacking:
            _unpack(host, bundle, params)
            # If no bundle has packages for the machine's system, the image must have Docker.
            known = source if host.ask("test", "-d", folder).ok else []
            # The note at last, and not by the script: to tar, a stream that breaks may look whole.
            files.write_all(host, [*known, File(f"{STATE_FOLDER}/{_note(bundle)}", "")])


def _note(bundle: Bundle) -> str:
    return f"bundle-{bundle.digest}"


def _unpack(host: Host, bundle: Bundle, params: PrivateRegistryParams) -> None:
    command = _UNPACK.command(DATA_FOLDER)
    try:
        if bundle.path:
            host.sudo(*command, stdin=bundle.path, timeout=_UNPACK_LIMIT)
        else:
            downloads.fetch(host, bundle.url, bundle.sha256, params.proxy, *command)
    except CommandFailed as error:
        raise RegistryError(
            f"{bundle.name} cannot be unpacked. See that the file is a bundle, that the machine "
            f"reaches it, and that the machine has disk space. {error}"
        ) from error


class ServePackages(Change[PrivateRegistryParams, Sequence[File]]):
    """Serve the packages of the bundles over HTTPS."""

    title = "serve packages"

    def look(self, host: Host, params: PrivateRegistryParams) -> Sequence[File] | None:
        unit = _UNIT.format(
            program=_PROGRAM, folder=_FOLDER, port=params.packages_port, config=CONFIG_FOLDER
        )
        expected = [
            File(_PROGRAM, _TEXT), *tls_files(params),
            File(f"/etc/systemd/system/{SERVICE}", unit),
        ]
        return None if units.is_as_configured(host, SERVICE, expected) else expected

    def act(self, host: Host, params: PrivateRegistryParams, expected: Sequence[File]) -> None:
        units.configure(host, SERVICE, expected)


class WaitForPackages(Check[PrivateRegistryParams]):
    """Wait until the machine serves packages."""

    title = "wait for packages"

    def check(self, host: Host, params: PrivateRegistryParams) -> None:
        # The server has packages, and nothing of a registry.
        wait_for_port(host, params.packages_port, "tls", "404", _LOGS)
