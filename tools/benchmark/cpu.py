"""Seconds of CPU that the servers of the embedded cloud use."""

import contextlib
from collections import defaultdict
from collections.abc import Collection, Iterator

import docker
import requests

from tools.client import wait
from tools.devcloud import engine
from tools.devcloud.identity import LABEL, SERVER_LABEL, Identity

_PERIOD = 2.0  # seconds; a server that is deleted loses what it used since the last look


class Meter:
    """Follows the counters of the servers' containers.

    The engine on this machine tells the counters (cgroups' own), and costs the servers nothing.

    :raises CloudError: if no engine answers
    """

    def __init__(self) -> None:
        self._api = engine.connect().api
        self._counters: dict[str, float] = {}  # by container
        self._used: dict[str, float] = defaultdict(float)  # by server

    def used(self, servers: Collection[str]) -> float:
        """Seconds that these servers have used since the beginning; ids as in Nova."""
        return sum(self._used[server] for server in servers)

    @contextlib.contextmanager
    def running(self) -> Iterator["Meter"]:
        self._look()
        self._used.clear()
        with wait.meanwhile(self._try_to_look, _PERIOD):
            yield self
        self._look()

    def _try_to_look(self) -> None:
        with contextlib.suppress(docker.errors.DockerException, requests.RequestException):
            self._look()  # the next look makes good for one that is missed

    def _look(self) -> None:
        labels = [f"{LABEL}={Identity().name}", SERVER_LABEL]
        for container in self._api.containers(filters={"label": labels}):
            with contextlib.suppress(docker.errors.APIError):  # it may be gone
                stats = self._api.stats(container["Id"], stream=False, one_shot=True)
                seconds = stats["cpu_stats"]["cpu_usage"]["total_usage"] / 1e9
                before = self._counters.get(container["Id"], 0.0)
                # A container that was started again counts from 0.
                used = seconds - before if seconds >= before else seconds
                self._used[container["Labels"][SERVER_LABEL]] += used
                self._counters[container["Id"]] = seconds
