"""The parameters in JSON Schema (draft 2020-12), for editors and pipelines; the drivers read none.

``k8s-vnf package schema mgmt_drivers/schemas`` writes the schemas anew: of each object of
parameters, and of a request that has some of the objects in ``additionalParams``.
"""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from mgmt_drivers.cluster import cluster_params, modification
from mgmt_drivers.params.declaration import ObjectOf
from mgmt_drivers.registry import registry_params

# Each object that a request may have, and the dataclass that declares its parameters.
OBJECTS: Mapping[str, type[Any]] = {
    cluster_params.NAME: cluster_params.KubernetesParams,
    modification.NAME: modification.Modification,
    registry_params.NAME: registry_params.PrivateRegistryParams,
    registry_params.MODIFICATION: registry_params.RegistryModification,
}
FOLDER = Path(__file__).parent
_DIALECT = {"$schema": "https://json-schema.org/draft/2020-12/schema"}


def schemas() -> Iterator[tuple[str, dict[str, Any]]]:
    for name, cls in OBJECTS.items():
        yield f"{name}.json", {**_DIALECT, "title": name, **ObjectOf(cls).schema()}
    references = {name: {"$ref": f"{name}.json"} for name in OBJECTS}
    params = {"type": "object", "properties": references}
    yield "request.json", {
        **_DIALECT,
        "title": "A request to Tacker",
        "type": "object",
        "properties": {"additionalParams": params},
    }


def text(schema: Mapping[str, Any]) -> str:
    return json.dumps(schema, indent=2) + "\n"
