"""The command line of VNF packages: build, verify and migrate."""

import argparse
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from mgmt_drivers.schemas import request_schema
from tools import command
from tools.command import (
    Parser,
    UsageError,
    existing_file,
    existing_folder,
    output_file,
    output_folder,
    part,
    unique_id,
)
from tools.csar import build, check_heat, contents, drivers, migrate, signature, verify
from tools.csar.errors import CsarError
from tools.csar.package import Fault
from tools.csar.signature import Signer
from tools.progress import is_quiet


def _part(
    name: str, description: str, run: Callable[[argparse.Namespace], int]
) -> Parser:
    """A command, for which a package that is not right is a finding."""

    def report_depth(arguments: argparse.Namespace) -> int:
        try:
            return run(arguments)
        except RecursionError as error:
            text = "a package's YAML is nested too deeply, or has itself in it"
            raise CsarError(text) from error

    return part(f"package {name}", description, report_depth, (CsarError,))


def _build(arguments: argparse.Namespace) -> int:
    if (arguments.sign is None) != (arguments.certificate is None):
        raise UsageError("--sign and --certificate are given together")
    if arguments.passphrase_file and not arguments.sign:
        raise UsageError("--passphrase-file needs --sign")
    folder, key = arguments.package, arguments.sign
    csar = arguments.output or Path(f"{folder.name}.zip")
    files, vnfd_id = dict(arguments.file), arguments.vnfd_id or ""
    signer = key and Signer(key, arguments.certificate, arguments.passphrase_file)
    build.build(folder, csar, files, arguments.overlay, vnfd_id, say=_progress, signer=signer)
    print(f"{csar}: {csar.stat().st_size} bytes, SHA-256 {contents.sha256(csar)}")
    return 0


def _verify(arguments: argparse.Namespace) -> int:
    packages, overlays, authority = arguments.packages, arguments.overlay, arguments.ca
    for package in packages:
        is_csar = Path(package).is_file()
        if is_csar and overlays:
            raise UsageError(f"{package} is a CSAR: --overlay is laid over a folder only")
        if not is_csar and authority:
            raise UsageError(f"{package} is no CSAR, and only CSARs are signed: leave out --ca")
    if not check_heat.is_installed():
        print(check_heat.NOT_INSTALLED)
    by_package = {package: _faults(package, overlays, authority) for package in packages}
    return max([_print_faults(package, faults) for package, faults in by_package.items()])


def _print_faults(package: str, faults: Sequence[Fault]) -> int:
    """Print the faults of a package; returns the exit status, 0 if all faults are harmless."""
    warnings = [fault for fault in faults if fault.is_harmless]
    errors = [fault for fault in faults if not fault.is_harmless]
    for warning in warnings:
        print(f"{package}: warning: {warning}")
    for error in errors:
        print(f"{package}: {error}")
    counted = [_count(len(errors), "fault"), _count(len(warnings), "warning")]
    print(f"{package}: {', '.join(counted)}")
    return 1 if errors else 0


def _count(number: int, what: str) -> str:
    return f"{number or 'no'} {what}{'' if number == 1 else 's'}"


def _migrate(arguments: argparse.Namespace) -> int:
    folder: Path = arguments.folder
    target = arguments.output or folder.with_name(f"{folder.resolve().name}-migrated")
    found = migrate.migrate(folder, target, arguments.image or "")
    for line in found.done:
        print(line)
    for line in found.left:
        print(f"to do: {line}")
    print(f"{target}: verify it with `k8s-vnf package verify {target}`")
    return 0


def _write_schemas(arguments: argparse.Namespace) -> int:
    arguments.folder.mkdir(parents=True, exist_ok=True)
    for name, schema in request_schema.schemas():
        path = arguments.folder / name
        path.write_text(request_schema.text(schema))
        print(path)
    return 0


def _faults(package: str, overlays: Sequence[Path], authority: Path | None) -> list[Fault]:
    if Path(package).is_file():
        return _csar_faults(Path(package), authority)
    assembled = build.assemble(build.folder_of(package), overlays=overlays)
    return verify.faults(assembled, drivers.registered())


def _csar_faults(package: Path, authority: Path | None) -> list[Fault]:
    with signature.opened(package, authority) as (csar, found):
        try:
            with contents.of_csar(csar) as files:
                return [*found, *verify.faults(files, drivers.registered(), is_built=True)]
        except CsarError as error:  # a CSAR in a zip is read from another place
            place = package if csar == package else f"{package}: {csar.name}"
            text = str(error).replace(str(csar), str(place))
            raise CsarError("\n".join([*map(str, found), text])) from error


def parsers() -> Iterator[Parser]:
    making = _part("build", "Write a package's CSAR.", _build)
    making.add_argument(
        "package", type=package_folder, metavar="PACKAGE",
        help="a folder, or its name in vnf_packages/",
    )
    making.add_argument(
        "-o", "--output", type=output_file, metavar="FILE", help="default: <package>.zip"
    )
    making.add_argument(
        "--file",
        type=_named_file,
        action="append",
        default=[],
        metavar="NAME=PATH",
        help="add PATH to the CSAR as NAME; may be given again",
    )
    making.add_argument(
        "--vnfd-id",
        type=unique_id,
        metavar="UUID",
        help="VNFD id of the CSAR, instead of the package's: Tacker accepts each id only once",
    )
    making.add_argument(
        "--sign",
        type=existing_file,
        metavar="KEY",
        help="sign the CSAR by a private key in PEM; the file is then a zip of the CSAR, its "
        "signature and the certificate",
    )
    making.add_argument(
        "--certificate",
        type=existing_file,
        metavar="FILE",
        help="the certificate of KEY in PEM, followed by those between it and the CA's, if any",
    )
    making.add_argument(
        "--passphrase-file",
        type=existing_file,
        metavar="FILE",
        help="file with the passphrase of KEY; without it openssl asks for a passphrase",
    )
    checking = _part("verify", "List all faults of packages.", _verify)
    checking.add_argument(
        "packages", type=_verifiable, nargs="+", metavar="PACKAGE",
        help="a folder, or a CSAR, signed or not",
    )
    checking.add_argument(
        "--ca",
        type=existing_file,
        metavar="FILE",
        help="refuse CSARs that nobody has signed whose certificate is of a CA in this file (PEM)",
    )
    text = "Make a package of Tacker's sample driver one for these drivers."
    moving = _part("migrate", text, _migrate)
    moving.add_argument(
        "folder", type=existing_folder, metavar="FOLDER",
        help="the package's sources, which stay as they are",
    )
    moving.add_argument(
        "-o", "--output", type=output_folder, metavar="FOLDER", help="default: <folder>-migrated"
    )
    moving.add_argument(
        "--image",
        type=command.free_text,
        metavar="NAME",
        help="name of an image in the cloud, to replace the images in the package",
    )
    for added in (making, checking):
        added.add_argument(
            "--overlay",
            type=_overlay,
            action="append",
            default=[],
            metavar="FOLDER",
            help="lay a variant over the package: a folder, or its name in vnf_packages/overlays/; "
            "may be given again",
        )
    yield from (making, checking, moving)
    text = "Write the JSON schemas of requests and parameters, for editors and pipelines."
    writing = _part("schema", text, _write_schemas)
    writing.add_argument("folder", type=output_folder, metavar="FOLDER")
    yield writing


def package(text: str) -> Path:
    """The kind of a VNF package: a CSAR, a folder, or its name in vnf_packages/."""
    return Path(text) if Path(text).is_file() else package_folder(text)


def _named_file(text: str) -> tuple[str, Path]:
    name, separator, path = text.partition("=")
    if not (name and separator and path):
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME=PATH")
    return name, existing_file(path)


def package_folder(text: str, place: Path = build.PACKAGES) -> Path:
    try:
        return build.folder_of(text, place)
    except CsarError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def _overlay(text: str) -> Path:
    return package_folder(text, build.OVERLAYS)


def _verifiable(text: str) -> str:
    if not Path(text).is_file():
        package_folder(text)
    return text


def _progress(text: str) -> None:
    if not is_quiet():
        print(text, file=sys.stderr, flush=True)
