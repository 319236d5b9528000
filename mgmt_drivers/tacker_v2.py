"""What Tacker's v2 API gives a script for a hook, and what it gets back.

Nothing of Tacker is imported: all comes and goes as dictionaries.
"""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from mgmt_drivers import request
from mgmt_drivers.driver import Surroundings

_KEY = "mgmt_driver_"  # begins ours among the instance's metadata
_PARAMS = "params"


class Call:
    """One hook: what Tacker gave, and what it is to get back."""

    def __init__(self, given: Mapping[str, Any], folder: Path | None) -> None:
        self.operation: str = given["operation"]
        self.request: dict[str, Any] = given["request"]
        self.grant_request: dict[str, Any] = given["grant_request"] or {}
        self.instance: dict[str, Any] = given["vnf_instance"]
        self._package = Path(given["tmp_csar_dir"])
        # Tacker hands this on to the hooks that follow, also of a retry; it saves the
        # instance only when the operation has ended well.
        self._memory: dict[str, Any] = dict(given.get("user_script_err_handling_data") or {})
        self._folder = folder

    @property
    def answer(self) -> dict[str, Any]:
        return {
            "vnf_instance": self.instance,
            "user_script_err_handling_data": self._memory,
        }

    @property
    def vnfcs(self) -> list[request.Vnfc]:
        return request.vnfcs_from_v2(self.instance)

    def keep(self, key: str, value: Any) -> None:
        """Keep something that JSON can hold, for later hooks and operations."""
        self._memory[key] = value
        metadata = self.instance.get("metadata") or {}
        self.instance["metadata"] = {**metadata, f"{_KEY}{key}": json.dumps(value)}

    def kept(self, key: str, default: Any) -> Any:
        if key in self._memory:
            return self._memory[key]
        text = (self.instance.get("metadata") or {}).get(f"{_KEY}{key}")
        return json.loads(text) if text else default

    def forget(self) -> None:
        """Take away all that was kept."""
        self._memory.clear()
        metadata = self.instance.get("metadata") or {}
        self.instance["metadata"] = {k: v for k, v in metadata.items() if not k.startswith(_KEY)}

    def lcm_request(self, operation: str, targets: Iterable[str] = ()) -> request.LcmRequest:
        """:param targets: ids of the VNFCs that the operation is about, where not about all"""
        if self.operation.startswith("instantiate"):
            self._keep_params()
        info = self.instance.get("instantiatedVnfInfo") or {}
        return request.from_v2(
            operation,
            self.instance,
            self.kept(_PARAMS, {}),
            self._package,
            flavour=self.request.get("flavourId") or info["flavourId"],
            targets=frozenset(targets),
            host_keys=self.kept("ssh_host_keys", {}),
        )

    def _keep_params(self) -> None:
        """Later operations need the parameters of the instantiate request; Tacker drops them."""
        metadata = self.instance.get("metadata") or {}
        params = self.request.get("additionalParams") or {}
        self.instance["metadata"] = {**metadata, f"{_KEY}{_PARAMS}": json.dumps(params)}

    @property
    def surroundings(self) -> Surroundings:
        return Surroundings(self._folder, lambda keys: self.keep("ssh_host_keys", keys))
