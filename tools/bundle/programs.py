"""The programs that fetch and sign, and how they are run."""

import os
import shutil
import subprocess

# Debian's and Ubuntu's packages that have them.
_PACKAGES = {
    "apt-get": "apt", "dpkg-deb": "dpkg", "gpg": "gpg", "gpgv": "gpgv", "skopeo": "skopeo",
}  # fmt: skip
_TAIL = 8  # lines of a failed program


class BundleError(Exception):
    """The bundle cannot be made; says what to do."""


def check_installed() -> None:
    """:raises BundleError: a program is missing"""
    missing = [package for name, package in _PACKAGES.items() if not shutil.which(name)]
    if missing:
        raise BundleError(f"install {' and '.join(missing)} first (apt-get install)")


def run(*argv: str, advice: str = "", **environment: str) -> str:
    """Run a program; returns its output.

    :param advice: what to do if the program fails
    :param environment: variables beside this process's own
    :raises BundleError: with the last lines of a program that failed, and the advice
    """
    variables = {**os.environ, "LC_ALL": "C", **environment}
    ran = subprocess.run(
        argv, env=variables, stdin=subprocess.DEVNULL, capture_output=True, text=True,
        errors="replace", check=False,
    )  # fmt: skip
    if ran.returncode:
        tail = "\n".join((ran.stderr.strip() or ran.stdout.strip()).splitlines()[-_TAIL:])
        raise BundleError(
            f"{' '.join(argv[:2])} ended with status {ran.returncode}:\n{tail}\n{advice}".rstrip()
        )
    return ran.stdout
