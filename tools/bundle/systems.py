"""The systems of machines: the names of packages in them, and where their archives are."""

from pathlib import Path

from mgmt_drivers.cluster.cluster_params import DOCKER
from mgmt_drivers.machine.platforms import SUPPORTED
from tools.bundle.programs import BundleError
from tools.csar import sbom

_CODENAMES = {
    "debian-11": "bullseye", "debian-12": "bookworm", "debian-13": "trixie",
    "ubuntu-20.04": "focal", "ubuntu-22.04": "jammy", "ubuntu-24.04": "noble",
}  # fmt: skip
_DOCKER = {platform.slug: platform.docker for platform in SUPPORTED.values()}
NAMES = [*_CODENAMES]
VERSIONED = ("kubeadm", "kubectl", "kubelet")

_STANZA = """\
Types: deb
URIs: {url}
Suites: {suites}
Components: {components}
Signed-By: {keyring}
"""


def packages(system: str, runtime: str) -> list[str]:
    """Names of the packages that the machines of clusters and of the registry may need."""
    names = {*sbom.SCRIPT, *sbom.ON_REQUEST, *_DOCKER[system]}
    return sorted(names if runtime == DOCKER else {*names, runtime})


def sources(system: str, architecture: str) -> str:
    """The public archive of a system, as a file of apt's sources.

    :raises BundleError: the machine has not the keys of the archive
    """
    maker, name = system.partition("-")[0], _CODENAMES[system]
    keyring = Path(f"/usr/share/keyrings/{maker}-archive-keyring.gpg")
    if not keyring.is_file():
        raise BundleError(
            f"{keyring} is missing, the keys of {system}: install the package that has them, or "
            f"name other sources by --sources {system}=FILE"
        )
    if maker == "debian":
        urls = ("http://deb.debian.org/debian", "http://deb.debian.org/debian-security")
        components = "main"
    else:
        is_main = architecture == "amd64"
        url = f"http://{'archive' if is_main else 'ports'}.ubuntu.com/ubuntu"
        urls, components = (url if is_main else f"{url}-ports",) * 2, "main universe"
    suites = (f"{name} {name}-updates", f"{name}-security")
    return "\n".join(
        _STANZA.format(url=url, suites=suite, components=components, keyring=keyring)
        for url, suite in zip(urls, suites, strict=True)
    )
