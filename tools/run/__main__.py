"""The commands of the README, which also set up the machine.

This module and what it imports use only Python's standard library, since no other package is
installed yet.
"""

import argparse
import fcntl
import hashlib
import importlib.util
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[2]
# `python3 tools/run` runs in no environment, and Python's path has only this file's folder.
sys.path.insert(0, str(CHECKOUT))

from tools import command, locks, logged  # noqa: E402 - needs the path above
from tools.devcloud.recipes import RELEASES  # noqa: E402
from tools.progress import Progress, print_error  # noqa: E402
from tools.scenarios.selection import groups  # noqa: E402

# The output of apt, pip and tox.
_LOGS = CHECKOUT / "build" / "logs"

# Required programs, each with its Debian or Ubuntu package.
_PROGRAMS = {
    "dockerd": "docker.io",
    "mmdebstrap": "mmdebstrap",
    "openssl": "openssl",
    "ssh": "openssh-client",
    "dot": "graphviz",
    "dpkg-deb": "dpkg",
    "gpg": "gpg",
    "skopeo": "skopeo",
    "jq": "jq",  # in commands of the guide
}
# Programs that environments of tox need which use no cloud; the others need all of the programs.
_GENUINE = ("openssl", "ssh", "dpkg-deb")
_UNIT_TESTS = (*_GENUINE, "gpg", "skopeo")
_NEEDED: Mapping[str, Sequence[str]] = {
    **{f"py3{minor}": _UNIT_TESTS for minor in ("", 10, 11, 12, 13)},
    "tacker-2026.1": _GENUINE, "pep8": (), "docs": ("dot",),
}  # fmt: skip
# Locks of apt-get and dpkg, in the order in which apt-get takes them.
_PACKAGE_LOCKS = [
    Path("/var/lib", name) for name in ("apt/lists/lock", "dpkg/lock-frontend", "dpkg/lock")
]
_UBUNTU_ALSO = {"/usr/share/keyrings/debian-archive-keyring.gpg": "debian-archive-keyring"}
# Names of the variables that sudo preserves for the tools and tox.
_PRESERVED = re.compile(
    r"HOME|PATH|DOCKER_HOST|SSL_CERT_FILE|REQUESTS_CA_BUNDLE|XDG_(CACHE|STATE)_HOME"
    r"|(https?|no)_proxy|(OS|FUNCTIONAL|PIP)_[A-Z0-9_]+|CI"
)
_SCENARIOS = "functional"
_TESTS = ("py3", "tacker-2026.1", "pep8", "docs", _SCENARIOS)
# Exit statuses of tox when its commands were neither killed nor interrupted.
_ENDED = (command.GOOD, command.FINDING, command.USAGE, command.UNKNOWN)
_COUNT = re.compile(r"^ - (Passed|Failed|Skipped): (\d+)\b", re.MULTILINE)
# The failed tests, which stestr repeats at its end; the first lines are enough.
_FAILED_TESTS = re.compile(
    r"^Failed \d+ tests? - output below:\n=+\n+((?:(?!======\nTotals).*\n){,100})", re.MULTILINE
)


def main() -> int:
    parser = command.parser("python3 tools/run", "Try the project on this machine, or test it.")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    text = "deploy a registry and a cluster on the embedded cloud"
    commands.add_parser("demo", help=text, description=text)
    text = "run the tests of the gate: unit tests, style, documentation, scenarios"
    tests = commands.add_parser("tests", help=text, description=text)
    tests.add_argument(
        "environments", type=_environment_name, nargs="*", metavar="ENVIRONMENT", default=_TESTS,
        help=f"only these environments of tox.ini; default: {' '.join(_TESTS)}",
    )
    text = "run the long scenarios, by groups"
    long = commands.add_parser("groups", help=text, description=text)
    long.add_argument(
        "names", type=_group, nargs="*", metavar="GROUP", default=(),
        help="only these groups of functional/full; default: all",
    )
    long.add_argument(
        "--release", metavar="RELEASE", choices=RELEASES,
        help="of the cloud's OpenStack; default: 2026.2, or that of the group",
    )
    options = parser.parse_args()
    # An ordinary user's search path lacks the folders of root's programs.
    os.environ["PATH"] += ":/usr/sbin:/sbin"
    progress = Progress()
    environments = options.environments if options.command == "tests" else [_SCENARIOS]
    try:
        missing = _missing_packages(environments)
        if reason := _why_root(environments, missing):
            _become_root(reason)
        os.chdir(CHECKOUT)
        _install_packages(progress, missing)
        if options.command == "demo":
            return _demo(progress)
        if options.command == "groups":
            tox = _tox(progress)
            release = ["--release", options.release] if options.release else []
            names = [*release, *options.names]
            with _alone(progress), _deferred_interrupts():
                return _report([_run(progress, tox, "functional-full", names)])
        return _tests(progress, options.environments)
    except (logged.CommandFailed, FileNotFoundError) as error:
        print_error(f"{error}\nremove the cause, then repeat the command")
        return 1
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return 130


def _environment_name(text: str) -> str:
    known: list[str] = []
    for name in re.findall(r"^\[testenv:(.+)\]$", (CHECKOUT / "tox.ini").read_text(), re.MULTILINE):
        start, _, ends = name.rstrip("}").partition("{")
        known += [start + end for end in ends.split(",")]
    if text not in known:
        names = " ".join(known)
        raise argparse.ArgumentTypeError(f"{text!r} is no environment of tox.ini: {names}")
    return text


def _group(text: str) -> str:
    if text not in groups():
        raise argparse.ArgumentTypeError(f"{text!r} is no group: {' '.join(groups())}")
    return text


def _why_root(environments: Sequence[str], missing: Sequence[str]) -> str:
    """Why the command has to be root; empty if it has not."""
    if any(name not in _NEEDED for name in environments):
        return "Docker's engine needs root"
    if missing:
        return f"apt-get needs root to install {' '.join(missing)}"
    folders = [CHECKOUT / ".tox" / name for name in environments]
    for path in (_LOGS / "lock", _cache(), *folders):
        there = next(folder for folder in (path, *path.parents) if folder.exists())
        if not os.access(there, os.W_OK):
            return f"an earlier run left {there} to root"
    return ""


def _become_root(reason: str) -> None:
    """Restart under sudo, which asks for a password once, at the start."""
    if os.geteuid() == 0:
        return
    if not shutil.which("sudo"):
        raise FileNotFoundError(f"{reason}, and there is no sudo: be root")
    print(f"{reason}: continuing under sudo", flush=True)
    passed = ",".join(name for name in os.environ if _PRESERVED.fullmatch(name))
    words = ["sudo", f"--preserve-env={passed}", sys.executable, *sys.argv]
    os.execvp("sudo", words)  # noqa: S606 - without a shell


def _missing_packages(environments: Sequence[str]) -> list[str]:
    needed = {program for name in environments for program in _NEEDED.get(name, _PROGRAMS)}
    missing = [_PROGRAMS[program] for program in sorted(needed) if not shutil.which(program)]
    if importlib.util.find_spec("ensurepip") is None:
        missing.append("python3-venv")
    release = Path("/etc/os-release").read_text()
    if "mmdebstrap" in needed and re.search(r"^ID=ubuntu$", release, re.MULTILINE):
        missing += [name for path, name in _UBUNTU_ALSO.items() if not Path(path).exists()]
    return missing


def _install_packages(progress: Progress, missing: Sequence[str]) -> None:
    if not missing:
        return
    # The dpkg of a run that was killed may still be running.
    for path in _PACKAGE_LOCKS:
        with path.open("a") as file:
            locks.acquire(file, "packages are being installed", progress, fcntl.lockf)
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    with progress.step(f"installing with apt-get: {' '.join(missing)}") as step:
        # apt-get refuses to install after an interrupted installation until this has run. It fails
        # if a package has to be unpacked again, which the reinstallation below does.
        logged.run(["dpkg", "--configure", "-a"], _LOGS / "dpkg.log", step.note, environment)
        install = ["apt-get", "-q", "install", "-y", "--no-install-recommends"]
        commands = {"apt-update": ["apt-get", "-q", "update"]}
        if broken := _half_installed():
            commands["apt-reinstall"] = [*install, "--reinstall", *broken]
        commands["apt-install"] = [*install, *missing]
        for name, command in commands.items():
            logged.check(command, _LOGS / f"{name}.log", step, environment)


def _half_installed() -> Sequence[str]:
    """Names of the packages that must be installed again according to dpkg."""
    command = ["dpkg-query", "--show", "--showformat", "${db:Status-Eflag} ${binary:Package}\n"]
    lines = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout
    return re.findall(r"^reinstreq (.+)$", lines, re.MULTILINE)


def _environment(progress: Progress, name: str, requirements: Sequence[str]) -> Path:
    """Make a virtual environment outside the work tree, again if its requirements have changed."""
    # A virtual environment holds paths and an interpreter: one per checkout.
    key = "\0".join([str(CHECKOUT), sys.version, *requirements])
    for file in ("requirements.txt", "pyproject.toml"):
        key += (CHECKOUT / file).read_text() + (CHECKOUT / "tools" / file).read_text()
    folder = _cache() / f"{name}-{hashlib.sha256(key.encode()).hexdigest()[:12]}"
    if not (folder / "complete").exists():
        pip = [str(folder / "bin" / "pip"), "install", "--disable-pip-version-check"]
        with progress.step(f"installing with pip into {folder}: {' '.join(requirements)}") as step:
            venv = [sys.executable, "-m", "venv", "--clear", str(folder)]
            logged.check(venv, _LOGS / f"venv-{name}.log", step)
            logged.check([*pip, *requirements], _LOGS / f"pip-{name}.log", step)
        (folder / "complete").touch()
    return folder / "bin"


def _cache() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "devcloud"


def _demo(progress: Progress) -> int:
    programs = _environment(progress, "demo", ["-e", ".", "-e", "./tools"])
    with _deferred_interrupts():
        command = [str(programs / "k8s-vnf"), "demo"]
        return subprocess.run(command, check=False).returncode


def _tests(progress: Progress, environments: Sequence[str]) -> int:
    """Run every environment, even if one fails.

    The scenarios wait most of the time: other environments run in parallel, one after another.
    """
    tox = _tox(progress)
    scenarios = [name for name in environments if name == _SCENARIOS]
    others = [name for name in environments if name != _SCENARIOS]
    with _alone(progress), _deferred_interrupts(), ThreadPoolExecutor() as pool:
        quiet = bool(scenarios)
        beside = pool.submit(lambda: [_run(progress, tox, name, quiet=quiet) for name in others])
        outcomes = [_run(progress, tox, name) for name in scenarios]
        return _report(beside.result() + outcomes)


def _tox(progress: Progress) -> str:
    return str(_environment(progress, "tox", ["tox>=4.11"]) / "tox")


def _report(outcomes: "Sequence[_Outcome]") -> int:
    """Print the results of the environments, and the counts of tests; returns an exit status."""
    for outcome in outcomes:
        if outcome.status:
            print(f"\n--- {outcome.name} failed; {_reason(outcome.log)}\n---")
    print("\nenvironment       result    seconds  output")
    for outcome in outcomes:
        result = "FAILED" if outcome.status else "ok"
        print(f"{outcome.name:<16}  {result:<8}  {outcome.seconds:7.1f}  {outcome.log}")
    words = ("Passed", "Failed", "Skipped")
    counts = {word: sum(outcome.counts.get(word, 0) for outcome in outcomes) for word in words}
    print(", ".join(f"{number} {word.lower()}" for word, number in counts.items()), flush=True)
    return int(any(outcome.status for outcome in outcomes))


def _reason(log: Path) -> str:
    """The tests that failed, or the end of the output if no test failed."""
    sections = _FAILED_TESTS.findall(log.read_text(errors="replace"))
    if not sections:
        return logged.end_of(log)
    failed = "\n".join(text.strip() for text in sections)
    return f"its output is in {log}, by which these tests failed\n{failed}"


@dataclass(frozen=True)
class _Outcome:
    """The result of one of tox's environments; ``counts`` are stestr's totals in its output."""

    name: str
    status: int
    seconds: float
    log: Path
    counts: Mapping[str, int]


def _run(
    progress: Progress, tox: str, name: str, arguments: Sequence[str] = (), quiet: bool = False
) -> _Outcome:
    """Run an environment; its output goes to a file.

    Without a terminal the output is printed, too, for a ``quiet`` environment at its end. A quiet
    environment has a lower priority on the CPUs.
    """
    start = time.monotonic()
    log = _LOGS / f"{name}.log"
    mark = _LOGS / f"{name}.running"
    # If pip was killed, it may take an incomplete package for installed.
    again = ["--recreate"] if mark.exists() else []
    mark.touch()
    command = [*(["nice"] if quiet else []), tox, "-e", name, *again, "--", *arguments]
    with progress.step(name) as step:
        status = logged.run(command, log, step.note if quiet else step.echo)
        step.failed = status != 0
    if status in _ENDED:
        mark.unlink()
    text = log.read_text(errors="replace")
    if quiet and not progress.live:
        print(f"--- {name}\n{text}---", flush=True)
    counts = Counter[str]()
    for word, number in _COUNT.findall(text):  # by each lane of scenarios
        counts[word] += int(number)
    return _Outcome(name, status, time.monotonic() - start, log, counts)


@contextmanager
def _alone(progress: Progress) -> Iterator[None]:
    """Wait for another command in this checkout."""
    _LOGS.mkdir(parents=True, exist_ok=True)
    with (_LOGS / "lock").open("w") as file:
        locks.acquire(file, "another run of tests works in this checkout", progress)
        yield


@contextmanager
def _deferred_interrupts() -> Iterator[None]:
    """Raise KeyboardInterrupt only after the commands, which get Ctrl-C too, have ended."""
    interrupts: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, _: interrupts.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if interrupts:
        raise KeyboardInterrupt


if __name__ == "__main__":
    sys.exit(main())
