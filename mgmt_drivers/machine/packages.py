"""Packages on a Debian or Ubuntu machine."""

import functools
from collections.abc import Callable, Sequence

from mgmt_drivers.errors import CommandFailed, MgmtDriverError, WaitTimeout
from mgmt_drivers.machine.host import Host
from mgmt_drivers.machine.script import Script

_INSTALL_LIMIT = 900.0  # seconds for one apt-get
# A machine that has just booted may still be updating itself.
_LOCK_LIMIT = 300.0
_LOCKED = (
    "Could not get lock", "Unable to lock", "is held by process", "locked by another process"
)
_NO_QUESTIONS = ("env", "DEBIAN_FRONTEND=noninteractive")
# needrestart, which Ubuntu's apt runs, would restart services.
_NO_RESTARTS = ("NEEDRESTART_SUSPEND=1", "NEEDRESTART_MODE=l")
# Configuration that the image brought, or its owner changed, stays: dpkg would ask.
_KEPT = ("--force-confdef", "--force-confold")
_APT = (
    *_NO_QUESTIONS, *_NO_RESTARTS, "apt-get", "-q", "-o", "Acquire::Retries=1",
    *(word for option in _KEPT for word in ("-o", f"DPkg::Options::={option}")),
)
_CONFIGURE = (*_NO_QUESTIONS, "dpkg", *_KEPT, "--configure", "-a")
_HAS_PROGRAMS = Script(__package__, "has-program")


def has_programs(host: Host, *names: str) -> bool:
    """Ask whether the machine has programs."""
    return host.ask(*_HAS_PROGRAMS.command(*names)).ok


def missing(host: Host, names: Sequence[str]) -> list[str]:
    """Ask which of the packages are not installed."""
    if not names:  # dpkg would list all packages
        return []
    query = ("dpkg-query", "-W", "-f", "${db:Status-Status} ${Package}\\n", *names)
    listed = host.ask(*query).stdout.splitlines()
    installed = {line.split()[1] for line in listed if line.startswith("installed ")}
    return [name for name in names if name not in installed]


def install(host: Host, names: Sequence[str]) -> None:
    """Install what is missing.

    :raises MgmtDriverError: with apt's own words
    """
    wanted = missing(host, names)
    if not wanted:
        return
    repair(host)
    try:
        _apt(host, "update", "-o", "APT::Update::Error-Mode=any")
        _apt(host, "install", "-y", "--no-install-recommends", *wanted)
    except CommandFailed as error:
        raise MgmtDriverError(
            f"cannot install {', '.join(wanted)} from the machine's package sources. Give it a "
            f"way to them (a route, or the parameter proxy), or an image that has them. {error}"
        ) from error


def repair(host: Host) -> None:
    """End a transaction of dpkg that was broken off; apt refuses all others before.

    :raises MgmtDriverError: with dpkg's own words
    """
    try:
        # dpkg itself takes the lock that apt holds, but does not wait for it.
        retry_while_locked(
            host, functools.partial(host.sudo, *_CONFIGURE, timeout=_INSTALL_LIMIT)
        )
    except CommandFailed as error:
        raise MgmtDriverError(
            "an installation of packages was broken off on the machine, and cannot be ended: "
            f"{error}. Mend the packages (`dpkg --configure -a`), or heal the VNFC; then retry "
            "the operation"
        ) from error


def retry_while_locked(host: Host, run: Callable[[], object]) -> None:
    """Run what calls apt; again while another program holds apt's lock."""
    tail = ""
    for _ in host.clock.attempts(_LOCK_LIMIT):
        try:
            run()
            return
        except CommandFailed as error:
            if not any(text in error.tail for text in _LOCKED):
                raise
            tail = error.tail
    raise WaitTimeout(
        f"another program holds apt's lock for more than {_LOCK_LIMIT:g} s: {tail}. Wait until it "
        "ends, then retry the operation"
    )


def _apt(host: Host, *words: str) -> None:
    retry_while_locked(host, functools.partial(host.sudo, *_APT, *words, timeout=_INSTALL_LIMIT))
