"""YAML of VNF packages and of the cluster, with a limit for the size and clear errors."""

from pathlib import Path
from typing import Any

import yaml

from mgmt_drivers.errors import BadPackage, MgmtDriverError

LARGEST = 4 << 20  # bytes; manifests with many definitions of resources have one or two million
# The C classes take a tenth of the time, but PyYAML may be built without libyaml.
_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_DUMPER: Any = getattr(yaml, "CSafeDumper", yaml.SafeDumper)


class BadYaml(MgmtDriverError):
    """The reason why a text is not YAML that the drivers accept; callers say which text it is."""


class BadFile(BadYaml):
    """A file of a package that cannot be read, or is not YAML that the drivers accept."""

    code = BadPackage.code


def load_all(text: str | bytes) -> list[Any]:
    """Parse all documents that are not empty; raises BadYaml, also if the text is too large."""
    if len(text) > LARGEST:
        raise BadYaml(f"larger than {LARGEST >> 20} MiB")
    try:
        text = text.decode() if isinstance(text, bytes) else text
    except UnicodeDecodeError as error:
        raise BadYaml(f"not text in UTF-8: {error}") from error
    try:
        documents = list(yaml.load_all(text, _LOADER))  # noqa: S506 - a safe loader
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 0
        raise BadYaml(f"line {line}: not YAML: {error.problem}") from error
    except (yaml.YAMLError, RecursionError) as error:
        raise BadYaml(f"not YAML: {error}") from error
    # Raised by constructors for scalars that look like numbers, dates or binaries and are not.
    except (ValueError, TypeError, LookupError, AttributeError, OverflowError) as error:
        raise BadYaml(f"a value cannot be read: {error}") from error
    return [document for document in documents if document is not None]


def load(text: str | bytes) -> Any:
    """Parse the only document of a text; None if it is empty. Raises BadYaml, also for several."""
    documents = load_all(text)
    if len(documents) > 1:
        raise BadYaml(f"{len(documents)} documents instead of one")
    return documents[0] if documents else None


def read(path: Path) -> Any:
    """Parse the only document of a file; None if it is empty. Raises BadFile naming the file."""
    try:
        with path.open("rb") as file:
            return load(file.read(LARGEST + 1))
    except OSError as error:
        raise BadFile(f"{path.name}: cannot be read: {error.strerror}") from error
    except BadYaml as error:
        raise BadFile(f"{path.name}: {error}") from error


def dump(*documents: Any) -> str:
    """The text of documents, whose mappings keep their order."""
    return yaml.dump_all(documents, Dumper=_DUMPER, sort_keys=False)
