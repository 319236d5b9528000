"""Requests of the LCM API, read from files and adapted to the cloud."""

import json
from pathlib import Path
from typing import Any

from tackerclient.v1_0.client import Client

from tools.client.config import CONFIG


def load_request(
    path: Path, client: Client, network: str | None = None, **params: Any
) -> dict[str, Any]:
    """Load the request in a JSON file, with a network and the default VIM of the cloud.

    :param network: default: the network of the configuration
    :param params: parameters of the management driver to replace; None removes a parameter
    """
    request: dict[str, Any] = json.loads(path.read_text())
    for link in request["extVirtualLinks"]:
        link["resourceId"] = network or CONFIG.network
    default = next(vim for vim in client.list_vims()["vims"] if vim["is_default"])
    for vim in request["vimConnectionInfo"]:
        vim["vimId"] = default["id"]
    values = request["additionalParams"].values()
    (driver_params,) = (value for value in values if isinstance(value, dict))
    driver_params.update(params)
    for key in [key for key, value in driver_params.items() if value is None]:
        del driver_params[key]
    return request
