"""Machines' containers: their removal."""

import tempfile
import unittest
from pathlib import Path

import docker

from tools.devcloud import machine


class FrozenContainer:
    """For Docker a container that cannot be killed while a cgroup below its own is frozen."""

    id = "1f" * 32

    def __init__(self, state: Path) -> None:
        self.state = state
        self.removed = False

    def remove(self, **_: bool) -> None:
        if self.state.read_text() != "THAWED":
            raise docker.errors.APIError("could not kill container")
        self.removed = True


class RemovalTest(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.freezer = Path(folder.name)

    def freeze(self, path: str) -> Path:
        state = self.freezer / path / "freezer.state"
        state.parent.mkdir(parents=True)
        state.write_text("FROZEN")
        return state

    def test_a_frozen_pod_does_not_keep_a_machine(self) -> None:
        for parent in (f"docker/{FrozenContainer.id}", f"docker-{FrozenContainer.id}.scope"):
            container = FrozenContainer(self.freeze(f"{parent}/kubepods/pod1/c1"))
            machine.remove(container, ["/absent", str(self.freezer)])
            self.assertTrue(container.removed)

    def test_others_stay_frozen(self) -> None:
        others = self.freeze("docker/2e2e/kubepods/pod2/c2")
        container = FrozenContainer(others)
        with self.assertRaisesRegex(docker.errors.APIError, "could not kill"):
            machine.remove(container, [str(self.freezer)])
        self.assertEqual("FROZEN", others.read_text())


class SlowContainer:
    """A container that needs longer to die than Docker waits, and is gone then."""

    id = "3a" * 32

    def __init__(self, asked: int) -> None:
        self.left = asked

    def remove(self, **_: bool) -> None:
        self.left -= 1
        if self.left:
            raise docker.errors.APIError("did not receive an exit event")
        raise docker.errors.NotFound("no such container")


class SlowRemovalTest(unittest.TestCase):
    def test_docker_is_asked_again(self) -> None:
        container = SlowContainer(asked=5)
        machine.remove(container, [])
        self.assertEqual(0, container.left)
        with self.assertRaisesRegex(docker.errors.APIError, "exit event"):
            machine.remove(SlowContainer(asked=6), [])
