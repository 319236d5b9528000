"""The command line of the bundle."""

import argparse
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

from mgmt_drivers.cluster.cluster_params import CONTAINERD, DOCKER
from mgmt_drivers.cluster.packages.repository_params import PUBLIC, SERIES
from mgmt_drivers.cluster.series import read_version
from mgmt_drivers.errors import MgmtDriverError
from mgmt_drivers.package import sha256_of
from tools import command
from tools.bundle import bundle, systems
from tools.bundle.bundle import KUBERNETES_KEY, Wanted
from tools.bundle.programs import BundleError, check_installed, run
from tools.bundle.repository import find_key
from tools.command import existing_file, free_text, output_file
from tools.images import options as image_options
from tools.images.references import ImageError
from tools.progress import Progress, print_error

_URL = re.compile(r"(https?://|copy:/)[!-~]+")
_ARCHITECTURES = ("amd64", "arm64")
_DOWNLOADER = "/usr/lib/apt/apt-helper"


def _make(options: argparse.Namespace) -> int:
    """Make the bundle; returns an exit status."""
    if reason := _why_not_together(options):
        raise command.UsageError(reason)
    output: Path = options.output
    work = output.with_name(f"{output.name}.parts")
    try:
        check_installed()
        work.mkdir(parents=True, exist_ok=True)
        bundle.make(_wanted(options, work), output, work, Progress())
        shutil.rmtree(work)
    except KeyboardInterrupt:
        print_error(f"interrupted; repeat the command to go on from {work}, or remove the folder")
        return 130
    print(f"{output}: {output.stat().st_size} bytes, SHA-256 {sha256_of(output)}")
    return command.GOOD


def _why_not_together(options: argparse.Namespace) -> str:
    """Say which arguments do not go together; empty if all do."""
    others = sorted({name for name, _ in options.sources} - {*options.system})
    if others:
        return f"--sources {others[0]}=FILE is for a system that no --system names"
    url = options.package_repository
    if not url.startswith("https:") and not options.package_key:
        return "--package-repository needs --package-key: a key is fetched over https only"
    version = read_version(options.kubernetes_version)
    if options.runtime == DOCKER and version and not version.series.dockershim:
        return f"Kubernetes {version.series.name} has no support for Docker; leave out --runtime"
    return ""


def _wanted(options: argparse.Namespace, work: Path) -> Wanted:
    version = read_version(options.kubernetes_version)
    assert version, "the parser has read it"
    url = options.package_repository.rstrip("/").replace(SERIES, version.series.name) + "/"
    key = options.package_key or _fetched_key(url, work)
    line = f"deb [signed-by={key.absolute()}] {url} /\n"
    own = dict(options.sources)
    sources = {
        name: {
            "kubernetes.list": line,
            "system.sources": own[name].read_text()
            if name in own
            else systems.sources(name, options.architecture),
        }
        for name in options.system
    }
    return Wanted(
        str(version), options.runtime, options.architecture, sources, options.also,
        options.package, options.addon, options.image, options.archive, find_key(options.key),
    )


def _fetched_key(url: str, work: Path) -> Path:
    path = work / KUBERNETES_KEY
    advice = "Name the file of the repository's key by --package-key"
    run(_DOWNLOADER, "download-file", f"{url}Release.key", str(path), advice=advice)
    return path


def parsers() -> Iterator[command.Parser]:
    text = (
        "Make the bundle: one file with the packages and images of a release of Kubernetes, from "
        "which a private registry VNF serves clusters of a site without internet. What was "
        "fetched is kept beside the file until it is written, in FILE.parts."
    )
    parser = command.part("bundle", text, _make, (BundleError, ImageError, MgmtDriverError))
    parser.add_argument(
        "-o", "--output", type=output_file, required=True, metavar="FILE", help="what to write"
    )
    parser.add_argument(
        "--system", action="append", required=True, choices=systems.NAMES,
        help="system of machines, of clusters or of the registry; may be given several times",
    )
    parser.add_argument(
        "--key", type=free_text, required=True, metavar="NAME",
        help="key of gpg's keyring that signs the packages: an e-mail address, or a fingerprint",
    )
    image_options.add(parser)
    parser.add_argument(
        "--runtime", choices=(CONTAINERD, DOCKER), default=CONTAINERD,
        help="the container runtime of clusters; default: %(default)s",
    )
    parser.add_argument(
        "--architecture", choices=_ARCHITECTURES, default=_ARCHITECTURES[0],
        help="of all machines; default: %(default)s",
    )
    parser.add_argument(
        "--package-repository", type=_url, default=PUBLIC, metavar="URL",
        help=f"flat apt repository with Kubernetes, {SERIES} for the series; default: %(default)s",
    )
    parser.add_argument(
        "--package-key", type=existing_file, metavar="FILE",
        help="the repository's key, ASCII-armored; default: fetched from a repository with https",
    )
    parser.add_argument(
        "--sources", type=_named_file, action="append", default=[], metavar="SYSTEM=FILE",
        help="sources of apt (deb822 format) for a system, such as a mirror's, in place of the "
        "public archive; may be given several times",
    )
    parser.add_argument(
        "--also", type=free_text, action="append", default=[], metavar="PACKAGE",
        help="a package beside those that the drivers install; may be given several times",
    )
    parser.add_argument(
        "--image", type=free_text, action="append", default=[], metavar="REFERENCE",
        help="an image beside those of Kubernetes and of the VNF package; may be given several "
        "times",
    )
    parser.add_argument(
        "--archive", type=existing_file, action="append", default=[], metavar="FILE",
        help="a file of `docker save`: its images are taken from there, and not from registries; "
        "may be given several times",
    )
    yield parser


def _url(text: str) -> str:
    if not _URL.fullmatch(text):
        wanted = "a URL with http or https, or copy: and a folder, is needed"
        raise argparse.ArgumentTypeError(f"{text!r}: {wanted}")
    return text


def _named_file(text: str) -> tuple[str, Path]:
    name, _, path = text.partition("=")
    if name not in systems.NAMES:
        wanted = f"SYSTEM=FILE is needed, SYSTEM one of {', '.join(systems.NAMES)}"
        raise argparse.ArgumentTypeError(f"{text!r}: {wanted}")
    return name, existing_file(path)
