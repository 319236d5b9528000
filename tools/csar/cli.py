"""The command line: build, verify and migrate."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from tools.csar import build, check_heat, contents, drivers, migrate, signature, verify
from tools.csar.errors import CsarError
from tools.csar.package import Fault


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command; 0 is success, 1 a fault of the package, 2 an error of usage."""
    arguments = _parser().parse_args(argv)
    try:
        if arguments.command == "build":
            return _build(arguments)
        if arguments.command == "migrate":
            return _migrate(arguments)
        return _verify(arguments.packages, _overlays(arguments), arguments.ca)
    except (CsarError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
    except RecursionError:
        print("error: a package's YAML is nested too deeply, or has itself in it", file=sys.stderr)
    return 1


def _build(arguments: argparse.Namespace) -> int:
    folder = build.folder_of(arguments.package)
    csar = arguments.output or Path(f"{folder.name}.zip")
    files, overlays = dict(arguments.file), _overlays(arguments)
    signer = _signer(arguments)
    build.build(folder, csar, files, overlays, arguments.vnfd_id, say=_progress, signer=signer)
    print(f"{csar}: {csar.stat().st_size} bytes, SHA-256 {contents.sha256(csar)}")
    return 0


def _signer(arguments: argparse.Namespace) -> signature.Signer | None:
    if (arguments.sign is None) != (arguments.certificate is None):
        raise CsarError("--sign and --certificate are given together")
    if arguments.sign is None:
        return None
    return signature.Signer(arguments.sign, arguments.certificate, arguments.passphrase_file)


def _overlays(arguments: argparse.Namespace) -> list[Path]:
    return [build.folder_of(name, build.OVERLAYS) for name in arguments.overlay]


def _verify(packages: Sequence[str], overlays: Sequence[Path], authority: Path | None) -> int:
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
    if not folder.is_dir():
        raise CsarError(f"{folder}: no such folder")
    target = arguments.output or folder.with_name(f"{folder.resolve().name}-migrated")
    found = migrate.migrate(folder, target, arguments.image)
    for line in found.done:
        print(line)
    for line in found.left:
        print(f"to do: {line}")
    print(f"{target}: verify it with `python -m tools.csar verify {target}`")
    return 0


def _faults(package: str, overlays: Sequence[Path], authority: Path | None) -> list[Fault]:
    if Path(package).is_file():
        if overlays:
            raise CsarError(f"{package} is a CSAR: an overlay can be laid over a folder only")
        return _csar_faults(Path(package), authority)
    if authority:
        raise CsarError(f"{package} is no CSAR, and only CSARs are signed: leave out --ca")
    assembled = build.assemble(build.folder_of(package), overlays=overlays)
    return verify.faults(assembled, drivers.registered())


def _csar_faults(package: Path, authority: Path | None) -> list[Fault]:
    with signature.opened(package, authority) as (csar, found):
        try:
            with contents.of_csar(csar) as files:
                return [*found, *verify.csar_faults(files, drivers.registered())]
        except CsarError as error:  # a CSAR in a zip is read from another place
            place = package if csar == package else f"{package}: {csar.name}"
            text = str(error).replace(str(csar), str(place))
            raise CsarError("\n".join([*map(str, found), text])) from error


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tools.csar", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    making = commands.add_parser("build", help="write a package's CSAR")
    making.add_argument("package", help="a folder, or its name in vnf_packages/")
    making.add_argument("-o", "--output", type=Path, metavar="FILE", help="default: <package>.zip")
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
        default="",
        metavar="UUID",
        help="VNFD id of the CSAR, instead of the package's: Tacker accepts each id only once",
    )
    making.add_argument(
        "--sign",
        type=Path,
        metavar="KEY",
        help="sign the CSAR by a private key in PEM; the file is then a zip of the CSAR, its "
        "signature and the certificate",
    )
    making.add_argument(
        "--certificate",
        type=Path,
        metavar="FILE",
        help="the certificate of KEY in PEM, followed by those between it and the CA's, if any",
    )
    making.add_argument(
        "--passphrase-file",
        type=Path,
        metavar="FILE",
        help="file with the passphrase of KEY; without it openssl asks for a passphrase",
    )
    checking = commands.add_parser("verify", help="list all faults of packages")
    checking.add_argument(
        "packages", nargs="+", metavar="PACKAGE", help="a folder, or a CSAR, signed or not"
    )
    checking.add_argument(
        "--ca",
        type=Path,
        metavar="FILE",
        help="refuse CSARs that nobody has signed whose certificate is of a CA in this file (PEM)",
    )
    moving = commands.add_parser(
        "migrate", help="make a package of Tacker's sample driver one for these drivers"
    )
    moving.add_argument("folder", type=Path, help="the package's sources, which stay as they are")
    moving.add_argument(
        "-o", "--output", type=Path, metavar="FOLDER", help="default: <folder>-migrated"
    )
    moving.add_argument(
        "--image",
        default="",
        metavar="NAME",
        help="name of an image in the cloud, to replace the images in the package",
    )
    for command in (making, checking):
        command.add_argument(
            "--overlay",
            action="append",
            default=[],
            metavar="FOLDER",
            help="lay a variant over the package: a folder, or its name in vnf_packages/overlays/; "
            "may be given again",
        )
    return parser


def _named_file(text: str) -> tuple[str, Path]:
    name, separator, path = text.partition("=")
    if not (name and separator and path):
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME=PATH")
    return name, Path(path)


def _progress(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
