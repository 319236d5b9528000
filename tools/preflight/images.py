"""Images in Glance, and the commands that make them of a Debian cloud image."""

import sys
from collections.abc import Sequence
from pathlib import Path

from openstack.connection import Connection

from tools.client.config import CONFIG
from tools.preflight.missing import Command, Missing, openstack
from tools.preflight.requirements import Image, images

_BASES = "https://cloud.debian.org/images/cloud"
_SUITES = {12: "bookworm", 13: "trixie"}
_SIZE = 700  # MiB of one, at most


_UNSET = "make it, with the packages of a cluster, or unset FUNCTIONAL_PREPARED_IMAGE"


def missing(connection: Connection) -> list[Missing]:
    found = [
        Missing(f"there is no active image {image.name}", commands(image))
        for image in images()
        if not is_active(connection, image.name)
    ]
    prepared = CONFIG.prepared_image
    if prepared and not is_active(connection, prepared):
        found.append(Missing(f"there is no active image {prepared}", hint=_UNSET))
    return [*_missing_space(connection, found), *found]


def _missing_space(connection: Connection, images: Sequence[Missing]) -> list[Missing]:
    """A limit by which Glance would refuse images: a devstack's default has room for few."""
    needed = sum(_SIZE for image in images if image.commands)
    shown = connection.image.get("/info/usage")
    usages = shown.json()["usage"] if shown.ok else {}
    space = usages.get("image_size_total", {"limit": -1, "usage": 0})
    total = space["usage"] + needed
    if space["limit"] < 0 or not needed or total <= space["limit"]:
        return []
    what = "the project's images may have {limit} MiB, {usage} used, ".format(**space)
    return [Missing(f"{what}{needed} needed", (openstack(
        "limit", "create", "--service", "image", "--project", connection.current_project.name,
        "--region", connection.config.get_region_name() or "RegionOne",
        "--resource-limit", str(total), "image_size_total",
    ),), hint="If the project has such a limit, `openstack limit set` changes it.")]


def is_active(connection: Connection, name: str) -> bool:
    shown = connection.image.find_image(name)
    return shown is not None and shown.status == "active"


def commands(image: Image) -> tuple[Command, ...]:
    """Fetch the base image once, give the copy a login, upload the copy."""
    folder = CONFIG.build / "images"
    source = f"debian-{image.debian}-genericcloud-amd64.qcow2"
    names = (source, f"{image.name}.qcow2", "password")
    base, made, password = (folder / name for name in names)
    url = f"{_BASES}/{_SUITES[image.debian]}/latest/{source}"
    fetch = f"test -e {base} || {{ curl -fL -o {base}.part {url} && mv {base}.part {base}; }}"
    return (
        ("mkdir", "-p", str(folder)),
        ("sh", "-c", fetch),
        # The password itself is in no list of commands.
        ("sh", "-c", f'umask 077 && echo "${{FUNCTIONAL_PASSWORD:-ubuntu}}" >{password}'),
        _customize(image, base, made, password),
        openstack(
            "image", "create", "--disk-format", "qcow2", "--container-format", "bare", "--public",
            "--file", str(made), image.name,
        ),
    )


def _customize(image: Image, base: Path, made: Path, password: Path) -> Command:
    """As root, who may read the kernel that libguestfs boots."""
    options = [word for package in image.packages for word in ("--install", package)]
    return (
        "sudo", sys.executable, "-m", "tools.k8s_vnf", "image", "build", str(base),
        "--output", str(made), "--user", CONFIG.username, "--password-file", str(password),
        *options,
    )
