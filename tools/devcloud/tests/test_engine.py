"""The Docker engine, which several checkouts share."""

import unittest
from types import SimpleNamespace
from typing import Any

from tools.devcloud import engine


def with_listed(containers: list[str], networks: list[str]) -> Any:
    """A client of an engine that has these, all of them ours."""
    return SimpleNamespace(
        containers=SimpleNamespace(list=lambda **_: containers),
        networks=SimpleNamespace(list=lambda **_: networks),
    )


class SharedEngineTest(unittest.TestCase):
    def test_a_cloud_that_comes_up_keeps_the_engine(self) -> None:
        """It has a network before its first container: another checkout's `down` may come now."""
        for containers, networks, exists in (
            ([], [], False), ([], ["network"], True), (["controller"], [], True)
        ):
            found = engine.any_cloud_exists(with_listed(containers, networks))
            self.assertEqual(exists, found, (containers, networks))
