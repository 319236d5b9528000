"""ETSI's type definitions, which every VNFD imports.

The files are taken from the installed python-tackerclient, so that the project has no copy. Other
editions have the same names, and Tacker's parser fails on some of them: hence the digests.
"""

from importlib import metadata
from pathlib import Path

from tools.csar import contents
from tools.csar.errors import CsarError

DISTRIBUTION = "python-tackerclient"
FOLDER = "tackerclient/tests/unit/osc/v1/fixture_data/sample_vnf_package/Definitions"
DIGESTS = {
    "etsi_nfv_sol001_common_types.yaml": (
        "8febe660f6255acc3f4879037bbaee025feebc301873376c486d911919b35c30"
    ),
    "etsi_nfv_sol001_vnfd_types.yaml": (
        "e500c31461377b0fcc6a80a15c53f83ef5d66a67506408df6658d84d9812ad62"
    ),
}


def definitions() -> dict[str, Path]:
    """Return the type definition files by name.

    :raises CsarError: the files are not installed, or are not the tested edition of SOL001 2.6.1
    """
    return {name: _checked(name, digest) for name, digest in DIGESTS.items()}


def _checked(name: str, digest: str) -> Path:
    path = _locate(name)
    found = contents.sha256(path)
    if found != digest:
        raise CsarError(
            f"{path}: SHA-256 is {found}, not {digest}: another edition of the ETSI types. "
            f"Install {DISTRIBUTION} 2.6.0, or try the new edition and then change "
            "DIGESTS in tools/csar/sol001.py"
        )
    return path


def _locate(name: str) -> Path:
    try:
        path = Path(str(metadata.distribution(DISTRIBUTION).locate_file(f"{FOLDER}/{name}")))
    except metadata.PackageNotFoundError as error:
        raise CsarError(
            f"{DISTRIBUTION} is not installed: pip install -r requirements.txt"
        ) from error
    if not path.is_file():
        raise CsarError(f"{path}: missing; install {DISTRIBUTION} 2.6.0")
    return path
