"""Machines' containers: their removal."""

import subprocess
import tempfile
import unittest
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar
from unittest import mock

import docker

from tools.devcloud import machine


class FakeContainer:
    """Docker fails to end it a number of times."""

    id = "1f" * 32
    attrs: ClassVar = {"Image": "sha256:1"}

    def __init__(self, failures: int = 0, client: Any = None) -> None:
        self.failures, self.client = failures, client
        self.left = True

    def remove(self, **_: bool) -> None:
        if not self.left:
            raise docker.errors.NotFound("no such container")
        if self.failures:
            self.failures -= 1
            raise docker.errors.APIError("did not receive an exit event")
        self.left = False

    def stop(self, timeout: int) -> None:
        self.remove()


class FrozenContainer(FakeContainer):
    """For Docker a container that does not end while a cgroup below its own is frozen."""

    def __init__(self, state: Path, client: Any) -> None:
        super().__init__(client=client)
        self.state = state

    def remove(self, **options: bool) -> None:
        self.failures = int(self.state.read_text().strip() != "THAWED")
        super().remove(**options)


class ThawTest(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.cgroups = Path(folder.name)
        self.client = mock.Mock()
        self.client.containers.run = self.run_container

    def run_container(self, _: str, words: Sequence[str], **options: Any) -> None:
        """Run the command on the folder that plays the host's cgroups."""
        (mount,) = options["mounts"]
        self.assertEqual("/sys/fs/cgroup", mount["Source"])
        words = [word.replace(mount["Target"], str(self.cgroups)) for word in words]
        subprocess.run([*options["entrypoint"], *words], check=True)

    def freeze(self, path: str) -> Path:
        state = self.cgroups / "freezer" / path / "freezer.state"
        state.parent.mkdir(parents=True)
        state.write_text("FROZEN")
        return state

    def test_a_frozen_pod_does_not_keep_a_machine(self) -> None:
        for number, parent in enumerate(("docker/{}", "docker-{}.scope")):
            state = self.freeze(parent.format(FrozenContainer.id) + f"/kubepods/pod{number}/c1")
            container = FrozenContainer(state, self.client)
            machine.remove(container)
            self.assertFalse(container.left)
            state.write_text("FROZEN")
            container.left = True
            machine.stop(container, 1)
            self.assertFalse(container.left)

    def test_others_stay_frozen(self) -> None:
        others = self.freeze("docker/2e2e/kubepods/pod2/c2")
        with self.assertRaisesRegex(docker.errors.APIError, "exit event"):
            machine.remove(FrozenContainer(others, self.client))
        self.assertEqual("FROZEN", others.read_text())


class SlowRemovalTest(unittest.TestCase):
    def test_docker_is_asked_again(self) -> None:
        client = mock.Mock()
        client.containers.run.side_effect = docker.errors.APIError("find: it went")
        container = FakeContainer(failures=4, client=client)
        machine.remove(container)
        self.assertFalse(container.left)
        machine.remove(container)
        with self.assertRaisesRegex(docker.errors.APIError, "exit event"):
            machine.remove(FakeContainer(failures=5, client=client))
