"""apt with a root of its own, in which no package is installed: it fetches for any system."""

import functools
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from mgmt_drivers.machine import syntax
from mgmt_drivers.package import sha256_of
from tools.bundle.programs import BundleError, run

_FOLDERS = (
    "etc/apt/apt.conf.d", "etc/apt/preferences.d", "etc/apt/sources.list.d",
    "var/lib/apt/lists/partial", "var/cache/apt/archives/partial", "nothing/partial",
)  # fmt: skip
_ADVICE = (
    "See that the sources of packages answer (behind a proxy set http_proxy and https_proxy), "
    "then repeat the command, which goes on where it ended"
)


@dataclass(frozen=True)
class Deb:
    """A package: the URL that apt has fetched it from, its file here, and its control fields."""

    url: str
    path: Path

    @functools.cached_property
    def control(self) -> str:
        return run("dpkg-deb", "--field", str(self.path)).strip()

    def field(self, name: str) -> str:
        """A field of one line that every package has."""
        lines = (line.split(": ", 1) for line in self.control.splitlines() if ": " in line)
        return dict(lines)[name]

    @functools.cached_property
    def sha256(self) -> str:
        return sha256_of(self.path)

    @property
    def file(self) -> str:
        """The name of the file as archives have it, without the epoch that apt puts into it."""
        name, version, rest = self.path.name.split("_", 2)
        return "_".join([name, version.rpartition("%3a")[2], rest])


class Apt:
    """The packages for machines of one system, with all that they depend on.

    :param sources: the files of apt's sources, by their names
    :raises BundleError: from each method, with apt's words
    """

    def __init__(self, root: Path, architecture: str, sources: Mapping[str, str]) -> None:
        self._root = root.absolute()
        for name in _FOLDERS:
            (self._root / name).mkdir(parents=True, exist_ok=True)
        for path in (self._root / "etc/apt/sources.list.d").iterdir():
            path.unlink()  # of an earlier run
        for name, text in sources.items():
            (self._root / "etc/apt/sources.list.d" / name).write_text(text)
        status, config = self._root / "status", self._root / "apt.conf"
        status.touch()
        options = {
            "Dir": f"{self._root}/",
            "Dir::State::status": f"{status}",
            "APT::Architecture": architecture,
            "APT::Architectures": architecture,
            "APT::Install-Recommends": "false",
            "APT::Sandbox::User": "root",  # another user may not read the folder
            "APT::Update::Error-Mode": "any",
            "Acquire::Languages": "none",
            "Acquire::Retries": "3",
        }
        config.write_text("".join(syntax.apt_option(*pair) for pair in options.items()))
        self._config = str(config)

    def update(self) -> None:
        self._run("apt-get", "-q", "update")

    def versions(self, names: Sequence[str]) -> dict[str, list[str]]:
        """The versions of packages that the sources have, the newest first."""
        found: dict[str, list[str]] = {}
        for line in self._run("apt-cache", "madison", *names).splitlines():
            name, version, _ = (word.strip() for word in line.split("|", 2))
            found.setdefault(name, []).append(version)
        return found

    def fetch(self, wanted: Sequence[str]) -> list[Deb]:
        """Fetch packages and what they depend on; what is here already is not fetched again.

        :param wanted: names, or ``name=version``
        """
        install = ("apt-get", "-q", "-y", "install", *wanted)
        # With the folder of fetched packages, apt would list only those that are to be fetched; and
        # without the second option, by MD5.
        other = (f"Dir::Cache::archives={self._root}/nothing/", "Acquire::ForceHash=SHA256")
        words = [word for option in other for word in ("-o", option)]
        listed = self._run(*install, *words, "--print-uris").splitlines()
        self._run(*install, "--download-only")
        return [self._checked(line) for line in sorted(listed) if line.startswith("'")]

    def _checked(self, line: str) -> Deb:
        """The package of a line of ``--print-uris``."""
        url, name, _, *digests = shlex.split(line)
        path = self._root / "var/cache/apt/archives" / name
        if url.startswith("file:"):  # which apt does not copy
            raise BundleError(f"{url}: write copy: in place of file: into the sources")
        deb = Deb(url, path)
        if digests != [f"SHA256:{deb.sha256}"]:
            path.unlink()
            raise BundleError(f"{url} is not whole. Repeat the command, which fetches it again")
        return deb

    def _run(self, *argv: str) -> str:
        return run(*argv, advice=_ADVICE, APT_CONFIG=self._config)
