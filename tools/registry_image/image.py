"""Packs programs into a `docker save` archive; the same programs give the same bytes."""

import io

from tools import docker_archive
from tools.registry_image.debian import Programs

TAG = "registry:2"

# The layout of the image which is usually pulled under this tag, so that what is written about
# that one is true of this one. REGISTRY_* variables override the configuration.
CONFIG_PATH = "etc/docker/registry/config.yml"
CONFIGURATION = b"""\
version: 0.1
log:
  fields:
    service: registry
storage:
  filesystem:
    rootdirectory: /var/lib/registry
  delete:
    enabled: true
http:
  addr: :5000
"""
_RUNTIME = {
    "Entrypoint": ["/bin/registry", "serve"],
    "Cmd": [f"/{CONFIG_PATH}"],
    "Env": ["PATH=/bin"],
    "ExposedPorts": {"5000/tcp": {}},
    "Volumes": {"/var/lib/registry": {}},
}


def pack(programs: Programs) -> bytes:
    """Return the archive that `docker load` takes."""
    layer = docker_archive.layer(
        {**programs.files, CONFIG_PATH: CONFIGURATION},
        links=programs.links,
        modes={CONFIG_PATH: 0o644},
        folders={"tmp": 0o1777, "var/lib/registry": 0o755},
    )
    stream = io.BytesIO()
    docker_archive.write(stream, TAG, layer, _RUNTIME, programs.architecture)
    return stream.getvalue()
