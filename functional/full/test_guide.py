"""The command blocks of the guide, run page by page on a cluster like that of the demo."""

import json
import os
import re
import shutil
import sys
import tempfile
from contextlib import suppress
from itertools import groupby
from pathlib import Path
from typing import Any

from tackerclient.common.exceptions import TackerClientException

from functional import guide_blocks, shared
from functional.cluster_scenario import ClusterScenario
from functional.guide_blocks import Block, Command
from functional.guide_placeholders import Standing
from functional.guide_shell import Shell, scripts
from functional.requests import REQUESTS
from tools.client import stacks, wait
from tools.client.config import CHECKOUT, CONFIG
from tools.client.lcm import FINAL_STATES, Vnf
from tools.client.log import log, step
from tools.client.packages import kubernetes_csar
from tools.client.requests import load_request

_CLUSTER, _REGISTRY, _VIM = "demo-cluster", "demo-registry", "demo-kubernetes"
# Backups have to be on, and the registry's image made, before other pages use them.
_FIRST = ("howto/modification", "howto/private-registry")
_OF_THE_EMBEDDED_CLOUD = ("howto/embedded-cloud", "tutorial/first-cluster")
_OPERATION = re.compile(
    r"\bopenstack vnflcm (?:heal|scale|update|instantiate|terminate|change-vnfpkg) "
)
_LIMIT = 1200.0  # seconds for a command, and for an operation
_TAIL = 2000  # characters of a failure's output in the report
_ANY_CONTENT = (
    "1.37.tar", "ca.crt", "deployment.yaml", "helm-v3.22.0-linux-amd64.tar.gz", "key.asc",
    "tls.crt", "tls.key",
)
# The pages take kubectl, its kubeconfig and keys for granted.
_PREPARATION = (
    "mkdir bin",
    "ssh ubuntu@VIRTUAL-IP 'cat $(command -v kubectl)' >bin/kubectl && chmod +x bin/kubectl",
    "(umask 077; ssh ubuntu@VIRTUAL-IP cat .kube/config >kubeconfig)",
    "openssl req -x509 -newkey rsa:3072 -nodes -subj /CN=guide -keyout signer.key -out signer.pem",
    "cp signer.pem ca.pem",
)


class GuideBlocks(ClusterScenario):
    """Each command ends as the guide's source says; failures are reported together at the end."""

    def setUp(self) -> None:
        super().setUp()
        self.vim_name = _VIM
        self.registry = self.standing_registry()
        address = self.registry.partition(":")[0]
        self.standing = Standing(self.cloud, self.tacker, self.standing_cluster(), address)
        self.addCleanup(self.delete_packages)
        self.folder = Path(self.enter(tempfile.TemporaryDirectory()))
        self.make_folder()
        self.sent: set[str] = set()
        self.failures: list[str] = []

    def test_guide_blocks(self) -> None:
        blocks = guide_blocks.collect()
        run = 0
        for page, found in groupby(sorted(blocks, key=_order), lambda block: block.page):
            own = [block for block in found if block.runs]
            if page in _OF_THE_EMBEDDED_CLOUD and not CONFIG.kubernetes_mirror:
                log(f"{page}: not run: is for the embedded cloud")
                continue
            run += len(own)
            with step(f"{page}: {len(own)} blocks"), self.shell() as bash:
                for block in own:
                    self.run_block(block, bash)
        kept = sum(not block.runs for block in blocks)
        log(f"guide: {len(blocks)} blocks: {run} run, {kept} marked as not run, "
            f"{len(self.failures)} failures")
        self.assertEqual([], self.failures)

    def standing_registry(self) -> str:
        """Host and port of the demo's registry, or of another one that has the images."""
        for vnf in Vnf.all(self.tacker):
            if vnf.name == _REGISTRY:
                return f"{stacks.addresses(self.cloud, vnf.id)[0]}:5000"
        return shared.private_registry()

    def standing_cluster(self) -> Vnf:
        for vnf in Vnf.all(self.tacker):
            if vnf.name == _CLUSTER:
                self.vnfs.append(vnf)
                return vnf
        vnf = self.create_vnf(self.onboard_csar(kubernetes_csar()), _CLUSTER)
        self.assert_completed(vnf.instantiate(self.request("complex", self.registry)))
        return vnf

    def delete_packages(self) -> None:
        for id_ in self.standing.packages:
            with suppress(TackerClientException):
                self.tacker.update_vnf_package(id_, {"operationalState": "DISABLED"})
            self.tacker.delete_vnf_package(id_)

    def make_folder(self) -> None:
        """Fill the folder, in which the blocks may write, with what the checkout has."""
        for path in CHECKOUT.iterdir():
            if not path.name.startswith(".") and path.name != "build":
                (self.folder / path.name).symlink_to(path)
        askpass = self.folder / "askpass"
        askpass.write_text('#!/bin/sh\necho "$CLUSTER_PASSWORD"\n')
        askpass.chmod(0o700)
        for name, content in self.files().items():
            text = content if isinstance(content, str) else json.dumps(content)
            (self.folder / name).write_text(text)
        sample = self.folder / "FOLDER"
        shutil.copytree(CHECKOUT / "functional/samples_package", sample)
        (sample / "Files/images").mkdir(parents=True)
        (sample / "Files/images/node.img").write_text("not an image\n")
        with self.shell() as bash:
            for script in _PREPARATION:
                done = bash.run(self.standing.resolve(script), _LIMIT)
                self.assertEqual(0, done.status, done.output)

    def shell(self) -> Shell:
        """A shell that logs in to machines by the password of the cluster's users."""
        programs = [f"{self.folder}/bin", str(Path(sys.executable).parent), os.environ["PATH"]]
        return Shell(self.folder, {
            "CLUSTER_PASSWORD": CONFIG.password, "KUBECONFIG": f"{self.folder}/kubeconfig",
            "PATH": ":".join(programs), "SSH_ASKPASS": f"{self.folder}/askpass",
            "SSH_ASKPASS_REQUIRE": "force",
        })

    def files(self) -> dict[str, Any]:
        """Files that the pages name, by name: requests as on the pages, or any content."""
        addons = CHECKOUT / "functional/overlays/addons/Files/kubernetes/addons"
        request = load_request(REQUESTS / "kubernetes/complex.json", self.tacker, vim_name="other")
        changes = {
            "automatic_heal": {"share": 25}, "drain_timeout": "2h",
            "etcd_backup": {"folder": "/var/backups/etcd"},
        }
        return {
            **dict.fromkeys(_ANY_CONTENT, "some content\n"),
            **{path.name: path.read_text() for path in (REQUESTS / "kubernetes").glob("*.json")},
            "complex.json": request,
            "components.yaml": (addons / "metrics-server.yaml").read_text(),
            "modification.json": _modification(**changes),
            "modification.yaml": 'kubernetes_version: "1.37"\n',
            "renew-token.json": _modification(renew_vim_token=True),
            "scale.json": {
                "type": "SCALE_OUT", "aspectId": "worker_instance", "numberOfSteps": 1,
            },
        }

    def run_block(self, block: Block, bash: Shell) -> None:
        """Run a block up to its first failure."""
        for command, script in scripts(block.commands):
            is_operation = bool(_OPERATION.search(script))
            if is_operation and script in self.sent:
                log(f"{block}: sent before: {script}")
                continue
            if failure := self.run_command(command, script, is_operation, bash):
                log(f"{block}: FAILED: {failure}")
                self.failures.append(f"{block}: {failure}")
                return

    def run_command(self, command: Command, script: str, waits: bool, bash: Shell) -> str:
        """Run a command; returns what failed, or nothing."""
        self.sent.add(script)
        if "heal.json" in script:  # VNFCs come and go
            heal = {"vnfcInstanceId": [self.standing.vnfc()]}
            (self.folder / "heal.json").write_text(json.dumps(heal))
        try:
            resolved = self.standing.resolve(script)
            known = set(self.occurrences()) if waits else set()
            done = bash.run(resolved, _LIMIT)
        except Exception as error:  # of the cloud, which the next block may find well
            return f"{script}: {type(error).__name__}: {error}"
        log(f"$ {resolved}\n{done.output[-_TAIL:]}")
        wanted = command.mark.status if command.mark else 0
        if done.status is None or wanted not in (None, done.status):
            return f"{script}: status {done.status}, not {wanted}: {done.output[-_TAIL:]}"
        return self.await_operation(known) if waits else ""

    def occurrences(self) -> dict[str, tuple[Vnf, dict[str, Any]]]:
        """The operations of all VNF instances, by id."""
        return {o["id"]: (vnf, o) for vnf in Vnf.all(self.tacker) for o in vnf.occurrences()}

    def await_operation(self, known: set[str]) -> str:
        """Wait for the end of the operation that is not known; returns its error, or nothing."""

        def look() -> list[tuple[Vnf, dict[str, Any]]]:
            try:
                return [found for id_, found in self.occurrences().items() if id_ not in known]
            except TackerClientException as error:  # v1's API runs out of database connections
                log(f"Tacker does not tell of operations: {error}")
                return []

        def has_ended(found: list[tuple[Vnf, dict[str, Any]]]) -> bool:
            return bool(found) and all(o["operationState"] in FINAL_STATES for _, o in found)

        try:
            found = wait.until(look, has_ended, _LIMIT, "the operation")
        except TimeoutError as error:
            return str(error)
        failed = [pair for pair in found if pair[1]["operationState"] != "COMPLETED"]
        for vnf, occurrence in failed:
            with suppress(TackerClientException):  # v1 does not end modifications
                vnf.fail(occurrence)
        return "; ".join(f"{o['operation']}: {o['operationState']}" for _, o in failed)


def _order(block: Block) -> tuple[bool, str, int]:
    """In the order of the pages' names, but for the pages that come first."""
    return block.page not in _FIRST, block.page, block.line


def _modification(**params: Any) -> dict[str, Any]:
    return {"metadata": {"k8s_cluster_modification_param": json.dumps(params)}}
