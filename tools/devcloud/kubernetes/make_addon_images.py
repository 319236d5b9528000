"""Packs the programs of add-ons into images. Run inside the mirror's build: SETS TARGET."""

import sys
from pathlib import Path

from tools import docker_archive

# The references in the add-ons' manifests, and the program of each image. All are static.
_IMAGES = {
    "registry.k8s.io/metrics-server/metrics-server:v0.8.0": "metrics-server/bin/metrics-server",
    "devcloud.example/nfs-provisioner:v1": "nfs-provisioner/bin/nfs-provisioner",
}


def main(sets: Path, target: Path) -> None:
    for reference, name in _IMAGES.items():
        program = sets / name
        content = docker_archive.layer({f"bin/{program.name}": program.read_bytes()}, {})
        short = reference.rpartition("/")[2].partition(":")[0]
        with (target / f"{short}.tar").open("wb") as file:
            settings = {"Entrypoint": [f"/bin/{program.name}"]}
            docker_archive.write(file, reference, content, settings)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
