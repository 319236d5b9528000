"""Requests of the LCM API, read from files and fitted to the cloud."""

import json
from pathlib import Path
from typing import Any

from tackerclient.v1_0.client import Client

from tools.client.config import CONFIG


def load_request(
    path: Path, client: Client, network: str | None = None, **params: Any
) -> dict[str, Any]:
    """The request in a JSON file, with a network (default: the configuration's) and default VIM.

    ``params`` replace parameters of the management driver; a parameter that is None is
    left out.
    """
    request: dict[str, Any] = json.loads(path.read_text())
    for link in request["extVirtualLinks"]:
        link["resourceId"] = network or CONFIG.network
    default = next(vim for vim in client.list_vims()["vims"] if vim["is_default"])
    for vim in request["vimConnectionInfo"]:
        vim["vimId"] = default["id"]
    found = request["additionalParams"].values()
    (driver_params,) = (value for value in found if isinstance(value, dict))
    driver_params.update(params)
    for key in [key for key, value in driver_params.items() if value is None]:
        del driver_params[key]
    return request
