"""TOSCA-Metadata/TOSCA.meta: a header, then one block for each other file.

The form is ETSI SOL004's, restricted to what Tacker reads: empty lines separate the blocks, and
each block is YAML by itself. The whole file must be YAML, too, of which only the keys of the first
block count.
"""

import re
from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import Any

from mgmt_drivers import package_yaml

NAME = "TOSCA-Metadata/TOSCA.meta"
ENTRY = "Entry-Definitions"
ALGORITHM = "SHA-256"
BLOCK_KEYS = ("Name", "Content-Type", "Algorithm", "Hash")

_PARTED = re.compile(r"\n[ \t\r]*\n")
_CONTENT_TYPES = {
    ".json": "application/json",
    ".md": "text/markdown",
    ".py": "text/x-python",
    ".sh": "application/x-sh",
    ".tar": "application/x-tar",
    ".yaml": "application/yaml",
    ".yml": "application/yaml",
}


def is_artifact(name: str) -> bool:
    """Say whether a file gets a block: all but this one, since Tacker checks only what has one.

    Tacker also publishes files with a block as artifacts of the package, the VNFD among them.
    """
    return name != NAME


def render(text: str, digests: Mapping[str, str]) -> str:
    """Return the header, as its author wrote it, with a block for each name and SHA-256.

    :param text: the author's file; its blocks may be outdated and are dropped
    """
    blocks = [_block(name, digest) for name, digest in sorted(digests.items())]
    return "\n".join([header(text), *blocks])


def header(text: str) -> str:
    """Return the lines of the header, without any block."""
    return next((part.strip() for part in _PARTED.split(text) if part.strip()), "") + "\n"


def parse(text: str) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Return the header and the blocks.

    :raises ValueError: a part is not a mapping
    """
    first, *blocks = [_mapping(part) for part in _PARTED.split(text) if part.strip()] or [{}]
    return first, blocks


def _block(name: str, digest: str) -> str:
    content_type = _CONTENT_TYPES.get(PurePosixPath(name).suffix, "application/octet-stream")
    values = (name, content_type, ALGORITHM, digest)
    return "".join(f"{key}: {value}\n" for key, value in zip(BLOCK_KEYS, values, strict=True))


def _mapping(part: str) -> dict[str, Any]:
    try:
        value = package_yaml.load(part)
    except package_yaml.BadYaml as error:
        raise ValueError(str(error)) from error
    if not isinstance(value, dict):
        raise ValueError(f"not a mapping: {part.strip()[:60]!r}")
    return value
