"""The objects of manifests: reading, images, and their way into a cluster."""

import functools
import json
import re
from collections.abc import Callable, Sequence
from typing import Any

from mgmt_drivers import package_yaml
from mgmt_drivers.clock import NotYet
from mgmt_drivers.cluster.nodes import kubectl
from mgmt_drivers.cluster.packages.repository_params import ImageRepository
from mgmt_drivers.errors import CommandFailed
from mgmt_drivers.machine.host import Host
from mgmt_drivers.package_yaml import BadYaml

Object = dict[str, Any]  # as the Kubernetes API takes it

DEFINITION = "CustomResourceDefinition"
# In a text within an object, such as the manifest of a pod in a ConfigMap.
_IMAGE = re.compile(r"^(?P<key>\s*(?:- )?image:\s*[\"']?)(?P<image>[^\s\"']+)", re.MULTILINE)
_LIMIT = 60.0  # seconds for the API to serve a kind whose definition is established


def parse(text: str | bytes) -> list[Object]:
    """Parse a manifest; a list counts as the objects in it.

    :raises BadYaml: if the text is not YAML, or anything in it is no object of the API
    """
    found: list[Any] = []
    for document in package_yaml.load_all(text):
        is_list = isinstance(document, dict) and isinstance(document.get("items"), list)
        found += document["items"] if is_list else [document]
    if not all(map(_is_object, found)):
        raise BadYaml(
            "an object lacks apiVersion, kind or metadata.name, or metadata.labels are no mapping"
        )
    return found


def _is_object(thing: Any) -> bool:
    if not isinstance(thing, dict) or not isinstance(metadata := thing.get("metadata"), dict):
        return False
    words = (thing.get("apiVersion"), thing.get("kind"), metadata.get("name"))
    is_named = all(isinstance(w, str) for w in (*words, metadata.get("namespace", "")))
    return is_named and isinstance(metadata.get("labels") or {}, dict)


def of_kind(kind: str, objects: Sequence[Object]) -> list[Object]:
    return [thing for thing in objects if thing["kind"] == kind]


def text_of(objects: Sequence[Object]) -> str:
    whole = {"apiVersion": "v1", "kind": "List", "items": [*objects]}
    return json.dumps(whole, default=str)  # YAML has dates, JSON has none


def describe(thing: Object) -> str:
    """Kind and name of an object, such as ``Deployment.apps kube-system/coredns``."""
    group, metadata = thing["apiVersion"].rpartition("/")[0], thing["metadata"]
    names = [metadata[key] for key in ("namespace", "name") if metadata.get(key)]
    return f"{'.'.join(filter(None, (thing['kind'], group)))} {'/'.join(names)}"


@functools.lru_cache(maxsize=16)  # each node of a cluster asks again
def images_in(text: str | bytes) -> tuple[str, ...]:
    """References of the images that a manifest names, each once; raises BadYaml."""
    found: dict[str, str] = {}
    _with_images(parse(text), lambda image: found.setdefault(image, image))
    return tuple(sorted(found))


def from_repository(objects: list[Object], repository: ImageRepository | None) -> list[Object]:
    """The objects, whose images come from a repository, if any, under their short names."""
    if repository is None:
        return objects
    return [_with_images(thing, repository.own_name) for thing in objects]


def _with_images(value: Any, rename: Callable[[str], str]) -> Any:
    if isinstance(value, dict) and value.get("kind") != DEFINITION:
        copy = {key: _with_images(found, rename) for key, found in value.items()}
        image = copy.get("image")
        return {**copy, "image": rename(image)} if isinstance(image, str) else copy
    if isinstance(value, list):
        return [_with_images(found, rename) for found in value]
    if isinstance(value, str) and "\n" in value:
        return _IMAGE.sub(lambda match: match["key"] + rename(match["image"]), value)
    return value


def find(host: Host, objects: Sequence[Object]) -> list[Object]:
    """Find those of the objects that the cluster has, as it has them."""
    words = ("--filename", "-", "--ignore-not-found")
    return kubectl.list_objects(host, *words, stdin=text_of(objects)) if objects else []


def apply(host: Host, objects: Sequence[Object], takes_over: bool) -> None:
    """Apply objects in their order, on the server's side; definitions of custom resources first."""
    definitions = [thing for thing in objects if thing["kind"] == DEFINITION]
    others = [thing for thing in objects if thing["kind"] != DEFINITION]
    if definitions:
        kubectl.merge(host, text_of(definitions), takes_over)
        kubectl.wait_for(host, "Established", text_of(definitions))

    def apply_others() -> None:
        try:
            kubectl.merge(host, text_of(others), takes_over)
        except CommandFailed as error:
            if not definitions or "no matches for kind" not in error.tail:
                raise
            raise NotYet(error.tail) from error

    if others:
        host.clock.until(apply_others, _LIMIT, "the kinds that the manifest defines")
