"""The pod network: the CNI manifest of the VNF package, as the cluster gets it.

A manifest is what a CNI's project publishes, with one word in it that this module replaces:
``@POD_CIDR@``, wherever it stands, becomes the cluster's pod CIDR.
"""

import re

from mgmt_drivers.cluster.cluster_params import KubernetesParams

_POD_CIDR = "@POD_CIDR@"
_DOCUMENT = re.compile(r"^---[ \t]*(?:#.*)?$", re.MULTILINE)  # its beginning
_CONTENT = re.compile(r"^[^#\s]", re.MULTILINE)
_DEFINITION = re.compile(r"^kind:\s*[\"']?CustomResourceDefinition\b", re.MULTILINE)
_IMAGE = re.compile(r"^(?P<key>\s*(?:- )?image:\s*)(?P<image>\S+)$", re.MULTILINE)


def manifest(params: KubernetesParams) -> str:
    """The objects to apply.

    If ``image_repository`` is given, the images of the package's own manifest come from there under
    their short names, as kubeadm's images do. Images of another manifest keep their references.
    """
    text = params.cni_manifest.path.read_text().replace(_POD_CIDR, str(params.pod_cidr))
    return _IMAGE.sub(lambda m: m["key"] + _reference(params, m["image"]), text)


def split(manifest: str) -> tuple[str, str]:
    """The definitions of custom resources in a manifest, and its other objects."""
    documents = [text for text in _DOCUMENT.split(manifest) if _CONTENT.search(text)]
    definitions = [text for text in documents if _DEFINITION.search(text)]
    others = [text for text in documents if not _DEFINITION.search(text)]
    return "\n---\n".join(definitions), "\n---\n".join(others)


def images(params: KubernetesParams) -> list[str]:
    """References of the images that nodes need before they are ready.

    A manifest that is not the package's own counts as one without images: its author decides which
    images it pulls, and with which login.
    """
    if not params.cni_manifest.is_default:
        return []
    return images_in(manifest(params))


def images_in(text: str) -> list[str]:
    """References of the images in a manifest, each once."""
    return sorted({found["image"] for found in _IMAGE.finditer(text)})


def _reference(params: KubernetesParams, image: str) -> str:
    repository = params.image_repository
    if not params.cni_manifest.is_default or not repository:
        return image
    return f"{repository.reference}/{image.rpartition('/')[2]}"
