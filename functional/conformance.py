"""Kubernetes' conformance tests against a cluster, and the list of tests that are to fail."""

import csv
import os
import re
import signal
import subprocess
import tempfile
import urllib.request
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

import requests
import yaml

from tools.client.config import CONFIG
from tools.client.image_upload import upload
from tools.client.log import log, step
from tools.client.machines import Remote
from tools.client.web import ask

_EXPECTED = Path(__file__).with_name("conformance.csv")  # the guide shows the file
# Keys of the file that tells the tests where their images are: all are in one registry.
_REGISTRIES = (
    "promoterE2eRegistry", "buildImageRegistry", "gcEtcdRegistry", "gcRegistry",
    "sigStorageRegistry", "dockerLibraryRegistry", "cloudProviderGcpRegistry",
)
_PASSED, _TEST = "passed", "[It] "
_FILTERED = "skipped"  # the message of a test that was not selected


@dataclass(frozen=True)
class Selection:
    """Tests by labels and by a regular expression for their names; the limit is in minutes."""

    name: str
    labels: str
    limit: int
    names: str = ""
    processes: int = 4


PARALLEL = Selection("parallel", "Conformance && !(Serial || Disruptive)", limit=60)
SERIAL = Selection("serial", "Conformance && (Serial || Disruptive)", limit=45, processes=1)
POLICIES = Selection(  # those that need nothing but a network that enforces policies
    "policies", "Feature: containsAny NetworkPolicy && Feature: isSubsetOf {NetworkPolicy}",
    limit=45,
)
SUBSET = Selection(
    "subset", "Conformance && !(Serial || Disruptive || Slow)", limit=30,
    names=r"\[sig-(network|apps)\]|\[sig-storage\] (EmptyDir|Projected)",
)


def check(master: Remote, registry: str, selection: Selection, scenario: str) -> None:
    """Run tests on this machine against a cluster of the newest series, and show the results.

    :param registry: of the cluster's images, which gets those of the tests
    :param scenario: name of the folder in the logs in which JUnit file and output are kept
    :raises AssertionError: if a test does not pass that is not expected to fail, or no test ran
    """
    if not CONFIG.kubernetes_mirror:
        log("no conformance tests: they are the embedded cloud's")
        return
    folder = CONFIG.logs / f"{scenario}-{selection.name}"
    folder.mkdir(parents=True, exist_ok=True)
    programs = _fetch_programs()
    _push_images(registry)
    with step(f"conformance tests: {selection.name}"), tempfile.TemporaryDirectory() as private:
        kubeconfig = Path(private, "admin.conf")
        kubeconfig.write_text(master.run("sudo cat /etc/kubernetes/admin.conf"))
        images = folder / "images.yaml"
        images.write_text(yaml.safe_dump(dict.fromkeys(_REGISTRIES, registry)))
        command = _command(programs, kubeconfig, folder, selection)
        environment = {"KUBE_TEST_REPO_LIST": str(images)}
        status = _run(command, folder / "ginkgo.log", environment, selection.limit)
    selected = _selected((folder / "ginkgo.log").read_text(errors="replace"))
    outcomes = read((folder / "junit_01.xml").read_text()) if selected else {}
    log(table(outcomes))
    compare(outcomes)
    words = f"{len(outcomes)} of {selected} tests ran; ginkgo: status {status}, see {folder}"
    assert 0 < len(outcomes) == selected and (status == 0 or _failed(outcomes)), words


def read(junit: str) -> dict[str, str]:
    """The outcomes in a JUnit file by test: passed, failed, or another word of ginkgo's.

    Tests that were not selected are left out, and so are set-ups that passed.
    """
    found = {}
    for case in ElementTree.fromstring(junit).iter("testcase"):
        name, outcome = case.attrib["name"], case.attrib["status"]
        skipped, is_test = case.find("skipped"), name.startswith(_TEST)
        filtered = skipped is not None and skipped.attrib["message"] == _FILTERED
        if not filtered and (is_test or outcome != _PASSED):
            found[name.removeprefix(_TEST)] = outcome
    return found


def table(outcomes: Mapping[str, str]) -> str:
    """How many tests of each SIG passed and did not, as lines."""
    counts = Counter((name[: name.find("]") + 1], o == _PASSED) for name, o in outcomes.items())
    lines = ["passed  not passed  SIG"]
    for sig in sorted({sig for sig, _ in counts}):
        lines.append(f"{counts[sig, True]:6}  {counts[sig, False]:10}  {sig}")
    return "\n".join(lines)


def compare(outcomes: Mapping[str, str]) -> None:
    """Compare the tests that did not pass with those that are expected to fail.

    The log tells which of the expected ones failed, and which passed.

    :raises AssertionError: with the tests that did not pass and are not listed
    """
    listed = expected()
    for name in sorted(outcomes.keys() & listed):
        log(f"of {_EXPECTED.name}: {outcomes[name]}: {name}: {listed[name]}")
    failed = sorted(_failed(outcomes) - listed.keys())
    assert not failed, f"{len(failed)} conformance tests did not pass: {failed}"


def expected() -> dict[str, str]:
    """The full names of the tests that are expected to fail, each with the reason."""
    with _EXPECTED.open(newline="") as file:
        return {row["Test"]: row["Why"] for row in csv.DictReader(file)}


def progress(output: str) -> str:
    """The words for how far a run of ginkgo has come, by its output so far."""
    # A character for each test that passed; a test that failed has a line.
    ended = sum(map(len, re.findall(r"^•+", output, re.MULTILINE)))
    failed = len(re.findall(r"^• \[", output, re.MULTILINE))
    return f"{ended} of {_selected(output)} tests, {failed} failed"


def _selected(output: str) -> int:
    found = re.search(r"^Will run (\d+) of", output, re.MULTILINE)
    return int(found[1]) if found else 0


def _failed(outcomes: Mapping[str, str]) -> set[str]:
    return {name for name, outcome in outcomes.items() if outcome != _PASSED}


def _command(programs: Path, kubeconfig: Path, folder: Path, selection: Selection) -> list[str]:
    command = [str(programs / "ginkgo"), "run", "--no-color", "--silence-skips"]
    command += [f"--procs={selection.processes}", f"--timeout={selection.limit}m"]
    command += [f"--label-filter={selection.labels}"]
    command += [f"--focus={selection.names}"] if selection.names else []
    command += [str(programs / "e2e.test"), "--", f"--kubeconfig={kubeconfig}"]
    command += [f"--kubectl-path={programs / 'kubectl'}", "--provider=skeleton"]
    return [*command, "--disable-log-dump", f"--report-dir={folder}"]


def _run(command: Sequence[str], output: Path, more: Mapping[str, str], minutes: int) -> int:
    """Run ginkgo, and log each minute how far it has come; returns its exit status."""
    with output.open("w") as file:
        process = subprocess.Popen(
            command, stdout=file, stderr=subprocess.STDOUT, env={**os.environ, **more},
            cwd=output.parent, start_new_session=True,
        )
        try:
            for _ in range(minutes + 5):  # ginkgo has its own limit, and then writes the report
                try:
                    return process.wait(60)
                except subprocess.TimeoutExpired:
                    log(f"conformance: {progress(output.read_text(errors='replace'))}")
            raise TimeoutError(f"conformance: no end after {minutes + 5} minutes, see {output}")
        finally:
            if process.poll() is None:  # after Ctrl-C, too
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()


def _fetch_programs() -> Path:
    folder = CONFIG.build / "conformance"
    folder.mkdir(parents=True, exist_ok=True)
    for name in ("ginkgo", "e2e.test", "kubectl"):
        urllib.request.urlretrieve(f"{_mirror()}/{name}", folder / name)
        (folder / name).chmod(0o755)
    return folder


def _push_images(registry: str) -> None:
    """Push the images of the tests: another registry may have the address of an earlier one."""
    with step(f"push the images of the conformance tests to {registry}"):
        with requests.Session() as session:
            archive = ask(session, "GET", f"{_mirror()}/images.tar").content
        log(f"pushed {upload(archive, registry)}")


def _mirror() -> str:
    return f"{CONFIG.kubernetes_mirror}/conformance"
