"""Packages on a Debian or Ubuntu machine."""

from collections.abc import Sequence

from mgmt_drivers.errors import CommandFailed, InstallationFailed, WaitTimeout
from mgmt_drivers.machine import syntax
from mgmt_drivers.machine.files import File
from mgmt_drivers.machine.host import Host
from mgmt_drivers.ssh.session import LARGE_OUTPUT

_INSTALL_LIMIT = 900.0  # seconds for one apt-get
# A machine that has just booted may still be installing updates.
_LOCK_LIMIT = 300.0
# Words of apt, and of dpkg, which names the program from its release 1.21 on.
_LOCKED = (
    "Could not get lock", "Unable to lock", "is held by process", "is locked by another process",
    "was locked by ",
)
_INTERRUPTED = "dpkg was interrupted"  # apt's word for what `dpkg --configure -a` ends
_NO_QUESTIONS = ("env", "DEBIAN_FRONTEND=noninteractive")
# needrestart, which Ubuntu's apt runs, would restart services.
_NO_RESTARTS = ("NEEDRESTART_SUSPEND=1", "NEEDRESTART_MODE=l")
# dpkg would ask about configuration files that the image or its owner has changed: they are kept.
_KEPT = ("--force-confdef", "--force-confold")
_APT = (
    *_NO_QUESTIONS, *_NO_RESTARTS, "apt-get", "-q", "-o", "Acquire::Retries=1",
    *(word for option in _KEPT for word in ("-o", f"DPkg::Options::={option}")),
)
# As the script of VNF packages writes them.
KEYRING, _SOURCE = "/etc/apt/keyrings/kubernetes.asc", "/etc/apt/sources.list.d/kubernetes.list"
_CA, _ONLY = "/etc/apt/keyrings/mgmt-driver.crt", "/etc/apt/apt.conf.d/95-mgmt-driver-source"
_CONFIGURE = (*_NO_QUESTIONS, "dpkg", *_KEPT, "--configure", "-a")


def only_source(line: str, key: bytes = b"", ca: bytes = b"") -> Sequence[File]:
    """The files by which apt knows one source, whatever sources the image has brought.

    :param line: of sources.list(5)
    :param key: the repository's, ASCII-armored, which the line names by ``KEYRING``
    :param ca: that signs the certificate of the source's server (PEM)
    """
    options = {"Dir::Etc::SourceList": _SOURCE, "Dir::Etc::SourceParts": "-"}
    own = [File(KEYRING, key)] if key else []
    if ca:
        options["Acquire::https::CaInfo"] = _CA
        own.append(File(_CA, ca))
    text = "".join(syntax.apt_option(*pair) for pair in options.items())
    return [*own, File(_SOURCE, line), File(_ONLY, text)]


def find_missing(host: Host, names: Sequence[str]) -> list[str]:
    if not names:  # dpkg would list all packages
        return []
    query = ("dpkg-query", "-W", "-f", "${db:Status-Status} ${Package}\\n", *names)
    listed = host.ask(*query).stdout.splitlines()
    installed = {line.split()[1] for line in listed if line.startswith("installed ")}
    return [name for name in names if name not in installed]


def install(host: Host, names: Sequence[str]) -> None:
    """Install the missing packages among these; raises MgmtDriverError with apt's output."""
    absent = find_missing(host, names)
    if not absent:
        return
    try:
        run(host, *_APT, "update", "-o", "APT::Update::Error-Mode=any")
        run(host, *_APT, "install", "-y", "--no-install-recommends", *absent)
    except CommandFailed as error:
        raise InstallationFailed(
            f"cannot install {', '.join(absent)} from the machine's package sources. Give it a "
            "route to the sources, or the parameter proxy, or an image with the packages. "
            f"{error}"
        ) from error


def repair(host: Host) -> None:
    """End dpkg's interrupted transaction, which makes apt refuse all; raises MgmtDriverError."""
    try:
        run(host, *_CONFIGURE)  # dpkg needs the lock that apt holds, but does not wait for it
    except CommandFailed as error:
        raise InstallationFailed(
            "an interrupted installation of packages on the machine cannot be completed: "
            f"{error}. Repair the packages (`dpkg --configure -a`), or heal the VNFC; then retry "
            "the operation"
        ) from error


def run(host: Host, *argv: str, timeout: float = _INSTALL_LIMIT) -> None:
    """Run a command that calls apt, and repeat it while another program holds apt's lock.

    If an earlier transaction of dpkg was interrupted, it is ended, and the command repeated once.
    """
    tail, is_repaired = "", False
    for _ in host.clock.attempts(_LOCK_LIMIT):
        try:
            host.sudo(*argv, timeout=timeout, limit=LARGE_OUTPUT)
            return
        except CommandFailed as error:
            tail = error.tail
            if _INTERRUPTED in tail and not is_repaired:
                repair(host)
                is_repaired = True
            elif not any(text in tail for text in _LOCKED):
                raise
    raise WaitTimeout(
        f"another program has held apt's lock for more than {_LOCK_LIMIT:g} s: {tail}. Wait until "
        "it ends, then retry the operation"
    )
