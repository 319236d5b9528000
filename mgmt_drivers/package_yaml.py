"""YAML of VNF packages and of the cluster: of a bounded size, and with clear errors."""

from pathlib import Path
from typing import Any

import yaml

from mgmt_drivers.errors import MgmtDriverError

_LARGEST = 4 << 20  # bytes; manifests with many definitions of resources have one or two million
# In a tenth of the time, unless this PyYAML has no libyaml.
_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class BadYaml(MgmtDriverError):
    """The reason why a text is not YAML that the drivers accept."""


def load_all(text: str | bytes) -> list[Any]:
    """The documents of a text; empty ones, which are nothing, left out.

    :raises BadYaml: when it is none, or is too large
    """
    if len(text) > _LARGEST:
        raise BadYaml(f"larger than {_LARGEST >> 20} MiB")
    try:
        text = text.decode() if isinstance(text, bytes) else text
    except UnicodeDecodeError as error:
        raise BadYaml(f"no text in UTF-8: {error}") from error
    try:
        documents = list(yaml.load_all(text, _LOADER))  # noqa: S506 - a safe one
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 0
        raise BadYaml(f"line {line}: no YAML: {error.problem}") from error
    except (yaml.YAMLError, RecursionError) as error:
        raise BadYaml(f"no YAML: {error}") from error
    # Raised by constructors for scalars that look like numbers, dates or binaries and are not.
    except (ValueError, TypeError, LookupError, AttributeError, OverflowError) as error:
        raise BadYaml(f"a value cannot be read: {error}") from error
    return [document for document in documents if document is not None]


def load(text: str | bytes) -> Any:
    """The only document of a text; None where it is empty.

    :raises BadYaml: as :func:`load_all`, and when there are several
    """
    found = load_all(text)
    if len(found) > 1:
        raise BadYaml(f"{len(found)} documents where one is expected")
    return found[0] if found else None


def read(path: Path) -> Any:
    """As :func:`load`, of a file.

    :raises BadYaml: also when it cannot be read; it names the file
    """
    try:
        return load(_content(path))
    except BadYaml as error:
        raise BadYaml(f"{path.name}: {error}") from error


def read_all(path: Path) -> list[Any]:
    """As :func:`load_all`, of a file.

    :raises BadYaml: also when it cannot be read
    """
    return load_all(_content(path))


def _content(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(_LARGEST + 1)
    except OSError as error:
        raise BadYaml(f"cannot be read: {error.strerror}") from error
