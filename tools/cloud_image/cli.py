"""Command line of the tool that prepares cloud images."""

import argparse
import re
from collections.abc import Iterator
from pathlib import Path

from tools import command
from tools.cloud_image.customize import ImageError, prepare
from tools.cloud_image.recipe import Login
from tools.command import existing_file, output_file
from tools.progress import Progress

_USER = re.compile(r"[a-z_][a-z0-9_-]{0,31}")
_PACKAGE = re.compile(r"[a-z0-9][a-z0-9.+-]+")


def _build(options: argparse.Namespace) -> int:
    login = Login(options.user, options.password_file, options.public_key_file)
    prepare(options.source, options.output, login, tuple(options.install), Progress())
    size = options.output.stat().st_size / 2**20
    print(f"{options.output}: {size:.0f} MiB. Upload it by")
    print(
        "  openstack image create --disk-format qcow2 --container-format bare "
        f"--file {options.output} NAME"
    )
    return 0


def parsers() -> Iterator[command.Parser]:
    parser = command.part(
        "image build",
        "Give a cloud image of Debian or Ubuntu a user whom the drivers can log in "
        "as, with sudo, and packages that machines without a package source need. The image "
        "itself is left as it is; a copy is changed. Whoever has an image with a password knows "
        "the password of all its machines: prefer a key.",
        _build,
        (ImageError, OSError),
    )
    parser.add_argument("source", type=_file, metavar="IMAGE", help="the cloud image")
    parser.add_argument(
        "-o", "--output", type=output_file, required=True, metavar="FILE",
        help="what to write (qcow2)",
    )
    parser.add_argument("--user", type=_user, default="ubuntu", help="default: %(default)s")
    how = parser.add_mutually_exclusive_group(required=True)
    how.add_argument("--password-file", type=_file, help="its first line is the password")
    how.add_argument("--public-key-file", type=_file, help="as ssh-keygen writes it")
    parser.add_argument(
        "--install", type=_package, action="append", default=[], metavar="PACKAGE",
        help="preinstall this package (may be repeated)",
    )
    yield parser


def _file(text: str) -> Path:
    return existing_file(text).absolute()  # qemu-img takes a name with a colon for a protocol


def _user(text: str) -> str:
    if not _USER.fullmatch(text):
        raise argparse.ArgumentTypeError(f"{text!r} is no user name: use a-z, 0-9, - and _")
    return text


def _package(text: str) -> str:
    if not _PACKAGE.fullmatch(text):
        raise argparse.ArgumentTypeError(f"{text!r} is no name of a package")
    return text
