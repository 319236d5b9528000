"""What the scripts that Tacker's v2 API runs have in common.

A script is a process for one hook. It gets a pickled dictionary on its standard
input and answers with one on its standard output, on which nothing else may be
(Tacker's vnflcm_driver_v2). It imports nothing of Tacker.
"""

import io
import json
import logging
import os
import pickle
import sys
import tempfile
import traceback
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from mgmt_drivers import request
from mgmt_drivers.driver import Surroundings
from mgmt_drivers.errors import MgmtDriverError

LOG = logging.getLogger(__name__)

_FOLDERS = ("/var/log/tacker/mgmt_drivers", f"{tempfile.gettempdir()}/mgmt_drivers-{os.getuid()}")
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


Hook = Callable[[Call], None]


def run(hooks: Mapping[str, Hook]) -> None:
    """Run the hook that standard input asks for; one that is not there does nothing."""
    output = _claim_standard_output()
    folder, log = _log_to_file()
    call = Call(pickle.load(sys.stdin.buffer), folder)  # noqa: S301 - from Tacker itself
    status = 0
    try:
        LOG.info("%s of VNF %s", call.operation, call.instance["id"])
        hooks.get(call.operation, lambda call: None)(call)
    except Exception as error:  # noqa: BLE001 - said in one line, the rest is in the log
        LOG.exception("%s failed", call.operation)
        status = 1
        text = str(error) if isinstance(error, MgmtDriverError) else _last_line(error)
        sys.stderr.write(f"{text} (details: {log})\n")
    output.write(pickle.dumps(call.answer))
    output.close()
    sys.stderr.flush()
    os._exit(status)  # threads of connections that hang are not waited for


def _claim_standard_output() -> io.BufferedWriter:
    """Keep standard output for the answer; what anybody prints goes nowhere."""
    own = os.fdopen(os.dup(1), "wb")
    with Path(os.devnull).open("wb") as nowhere:
        os.dup2(nowhere.fileno(), 1)
    return own


def _log_to_file() -> tuple[Path | None, str]:
    """Where traces go, and the name of the log file."""
    for name in _FOLDERS:
        folder = Path(name)
        try:
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            handler = logging.FileHandler(folder / "v2.log", encoding="utf-8")
        except OSError:
            continue
        handler.setFormatter(logging.Formatter("%(asctime)s %(process)d %(levelname)s %(message)s"))
        logging.getLogger("mgmt_drivers").addHandler(handler)
        logging.getLogger("mgmt_drivers").setLevel(logging.DEBUG)
        return folder, handler.baseFilename
    return None, "none: no folder can be written"


def _last_line(error: BaseException) -> str:
    return "".join(traceback.format_exception_only(error)).strip().splitlines()[-1]
