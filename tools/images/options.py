"""Options of commands that find the images of a release and of a VNF package."""

import argparse

from mgmt_drivers.cluster.series import SUPPORTED, read_version
from tools.client.config import CONFIG
from tools.client.packages import SOURCES
from tools.command import existing_folder, free_text


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--kubernetes-version", type=_version, default=CONFIG.kubernetes_version,
        metavar="VERSION", help="a series or a release; default: %(default)s",
    )
    parser.add_argument(
        "--package", type=existing_folder, default=SOURCES / "kubernetes", metavar="FOLDER",
        help="the VNF package whose pod network and network policies are meant; default: "
        "vnf_packages/kubernetes",
    )
    parser.add_argument(
        "--addon", type=free_text, action="append", default=[], metavar="FILE",
        help="manifest of another add-on in the package, such as "
        "Files/kubernetes/addons/metrics-server.yaml, or a chart, CHART.tgz or CHART.tgz:VALUES, "
        "which needs Helm here; may be given several times",
    )


def _version(text: str) -> str:
    if not read_version(text):
        first, *_, last = SUPPORTED
        wanted = f"a version from {first} to {last} is needed"
        raise argparse.ArgumentTypeError(f"{text!r}: {wanted}")
    return text
