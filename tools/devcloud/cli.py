"""The command line of the embedded cloud."""

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import docker

from tools.command import Parser, free_text, output_folder, part, whole
from tools.devcloud import diagnosis, engine, openrc, recipes, servers
from tools.devcloud.cloud import Cloud, find_controller, read_settings
from tools.devcloud.controller import services
from tools.devcloud.error_report import report_errors
from tools.devcloud.errors import CloudError
from tools.devcloud.identity import Identity
from tools.devcloud.settings import Settings
from tools.progress import Progress

_NODE_USER = "ubuntu"
_NODE_PASSWORD = "ubuntu"  # noqa: S105 - public: that of the specifications' images


def parsers() -> Iterator[Parser]:
    up = _part("up", _up, "Bring up a small OpenStack, with Tacker, on this machine.")
    up.add_argument(
        "--oldest", metavar="SERIES", choices=[*recipes.MIRRORS], default=recipes.NEWEST,
        help="with the series of Kubernetes from this one on, of "
        f"{', '.join(recipes.MIRRORS)} (default: {recipes.NEWEST})",
    )
    up.add_argument(
        "--release", metavar="RELEASE", choices=recipes.RELEASES,
        help=f"of OpenStack, of {', '.join(recipes.RELEASES)} (default: that of the cloud that is "
        f"there, or {recipes.RELEASES[0]})",
    )
    up.add_argument(
        "--monitoring", action="store_true",
        help="with Prometheus and Alertmanager, which tell Tacker what to heal and to scale",
    )
    yield up
    down = _part("down", _down, "Remove all of the cloud but the caches.")
    down.add_argument("--all", action="store_true", help="remove the caches and images too")
    yield down
    yield _part("status", _status, "Show services and nodes of the cloud.")
    logs = _part("logs", _logs, "Show the log of a service, or of all of them.")
    names = services.names(monitoring=True)
    logs.add_argument("service", nargs="?", choices=names, metavar="SERVICE", help=", ".join(names))
    logs.add_argument("-f", "--follow", action="store_true", help="keep printing new lines")
    logs.add_argument("-n", "--lines", type=whole(1), default=200, help="how many (default: 200)")
    yield logs
    traces = _part("traces", _traces, "Copy the drivers' traces and logs into a folder.")
    traces.add_argument("folder", type=output_folder, metavar="FOLDER")
    yield traces
    ssh = _part("ssh", _ssh, "Open a shell on a node, or run a command there.")
    ssh.add_argument("node", type=free_text, metavar="NODE", help="name, id or address; see status")
    text = "what to run there; default: a shell"
    words = ssh.add_argument("words", nargs=argparse.REMAINDER, metavar="COMMAND", help=text)
    words.required = False  # the error of a missing node would name it, too
    yield ssh
    yield _part("openrc", _openrc, 'Print OS_* variables: eval "$(k8s-vnf cloud openrc)".')


def _part(
    name: str, run: Callable[[Identity, argparse.Namespace], int], description: str
) -> Parser:
    def of_this_checkout(options: argparse.Namespace) -> int:
        return report_errors(lambda: run(Identity(), options))

    return part(f"cloud {name}", description, of_this_checkout)


def _up(identity: Identity, options: argparse.Namespace) -> int:
    progress = Progress()
    settings = Cloud(identity, progress).up(
        options.oldest, options.release, options.monitoring
    )
    # A run of scenarios that was killed may have left it: it is the user's now.
    identity.of_a_run.unlink(missing_ok=True)
    progress.say(f"the cloud is up: {openrc.variables(settings)['OS_AUTH_URL']}")
    progress.say('credentials: eval "$(k8s-vnf cloud openrc)"')
    return 0


def _down(identity: Identity, options: argparse.Namespace) -> int:
    progress = Progress()
    Cloud(identity, progress).down(everything=options.all)
    progress.say("the cloud is gone" + (", caches too" if options.all else ""))
    return 0


def load_settings(identity: Identity) -> Settings:
    """Settings of the cloud that is up; raises CloudError when none is."""
    path = identity.state / "settings.json"
    if not path.exists():
        raise CloudError("this checkout has no cloud; `k8s-vnf cloud up` makes one")
    return read_settings(path)


def _controller(identity: Identity) -> tuple[docker.DockerClient, Any]:
    load_settings(identity)
    client = engine.connect()
    container = find_controller(client, identity)
    if container is None or container.status != "running":
        raise CloudError("the controller does not run; `k8s-vnf cloud up` starts it")
    return client, container


def _status(identity: Identity, options: argparse.Namespace) -> int:
    client, container = _controller(identity)
    settings = load_settings(identity)
    print(
        f"cloud {identity.name} of OpenStack {settings.release} at {settings.address}, "
        f"public network {settings.network.cidr}"
    )
    names = services.names(bool(settings.monitoring))
    states = container.exec_run(["systemctl", "is-active", *names]).output.decode().split()
    if settings.monitoring:
        print(f"Prometheus at {openrc.prometheus(settings)} reads {settings.monitoring}")
    print("services:")
    for name, state in zip(names, states, strict=True):
        print(f"  {name:<24} {state}")
    print("nodes:")
    for node in servers.find_all(settings):
        addresses = ",".join(node.addresses)
        print(f"  {node.name:<32} {addresses:<16} {node.host:<10} {node.status}")
    return 0 if set(states) == {"active"} else 1


def _logs(identity: Identity, options: argparse.Namespace) -> int:
    client, container = _controller(identity)
    command = ["journalctl", "--no-pager", f"--lines={options.lines}"]
    command += ["--follow"] if options.follow else []
    command += [f"--unit={options.service}"] if options.service else []
    run = client.api.exec_create(container.id, command)
    for chunk in client.api.exec_start(run["Id"], stream=True):
        sys.stdout.buffer.write(chunk)
        sys.stdout.flush()
    return 0


def _traces(identity: Identity, options: argparse.Namespace) -> int:
    _controller(identity)
    for path in sorted(diagnosis.copy_traces(identity, options.folder).glob("*")):
        print(path)
    return 0


def _ssh(identity: Identity, options: argparse.Namespace) -> int:
    _controller(identity)
    nodes = servers.find_all(load_settings(identity))
    matching = [n for n in nodes if options.node in (n.name, n.id, *n.addresses)]
    if len(matching) != 1:
        known = ", ".join(f"{n.name} ({','.join(n.addresses)})" for n in nodes) or "none"
        raise CloudError(f"{options.node} is not the name of exactly one node; nodes: {known}")
    return _run_ssh(matching[0].addresses[0], options.words)


def _run_ssh(address: str, words: Sequence[str]) -> int:
    """Log in with the image's public password, which a helper program prints for ssh."""
    with tempfile.TemporaryDirectory() as folder:
        helper = Path(folder) / "askpass"
        helper.write_text(f"#!/bin/sh\necho {_NODE_PASSWORD}\n")
        helper.chmod(0o700)
        environment = {**os.environ, "SSH_ASKPASS": str(helper), "SSH_ASKPASS_REQUIRE": "force"}
        # New nodes get the addresses of old ones: their host keys differ.
        command = ["ssh", "-o", "StrictHostKeyChecking=no", "-o", "UserKnownHostsFile=/dev/null"]
        command += ["-o", "LogLevel=ERROR", "-o", "PubkeyAuthentication=no"]
        command += [f"{_NODE_USER}@{address}", *words]
        return subprocess.run(command, env=environment, check=False).returncode


def _openrc(identity: Identity, options: argparse.Namespace) -> int:
    sys.stdout.write(openrc.shell(load_settings(identity)) + "\n")
    return 0
