"""The process of one hook of Tacker's v2 API.

The process reads a pickled dictionary from standard input and writes a pickled dictionary, and
nothing else, to standard output (Tacker's vnflcm_driver_v2).
"""

import fcntl
import io
import logging
import logging.handlers
import os
import pickle
import socket
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from mgmt_drivers.engine.services import Services, Store
from mgmt_drivers.errors import text_of
from mgmt_drivers.inventory import Heat, VimAccess
from mgmt_drivers.tacker import options
from mgmt_drivers.tacker.v2 import Call

LOG = logging.getLogger(__name__)

_FOLDER = "/var/log/tacker/mgmt_drivers"
_FALLBACK = f"{tempfile.gettempdir()}/mgmt_drivers-{os.getuid()}"
_LOG_SIZE = 10 << 20  # bytes; a process rotates a larger log
_OLD_LOGS = 5

def run(functions: Mapping[str, Any]) -> None:
    """Run the hook that standard input names; an unknown hook does nothing.

    :param functions: of a script, those of hooks by the names of Tacker's operations
    """
    os.umask(0o077)  # other users must not read logs and traces
    output = _claim_standard_output()
    section = options.read()
    folder, log = _log_to_file(section.trace_dir or _FOLDER)
    trace_folder = folder if section.trace_dir else None

    def services(access: Callable[[], VimAccess], store: Store) -> Services:
        return Services(Heat(access), store, trace_folder, section.ssh_timeout)

    call = Call(pickle.load(sys.stdin.buffer), services)  # noqa: S301 - from Tacker itself
    status = 0
    try:
        LOG.info("%s of VNF %s", call.operation, call.instance["id"])
        functions.get(call.operation, lambda call: None)(call)
    except Exception as error:  # noqa: BLE001 - reported in one line; the log has the traceback
        LOG.exception("%s failed", call.operation)
        status = 1
        sys.stderr.write(f"{text_of(error)} (details: {log})\n")
    output.write(pickle.dumps(call.answer))
    output.close()
    sys.stderr.flush()
    os._exit(status)  # threads of connections that hang are not waited for


def _claim_standard_output() -> io.BufferedWriter:
    """Reserve standard output for the answer; anything else that is printed is discarded."""
    own = os.fdopen(os.dup(1), "wb")
    with Path(os.devnull).open("wb") as nowhere:
        os.dup2(nowhere.fileno(), 1)
    return own


def _log_to_file(preferred: str) -> tuple[Path | None, str]:
    """Open the log file; returns its folder, which is also for traces, and its name.

    The file is the host's own: conductors may share the folder, and over NFS lines that two hosts
    append to one file overwrite each other. Warnings of libraries go to the log, too: standard
    error has the error only.
    """
    root = logging.getLogger()
    logging.captureWarnings(True)
    for name in (preferred, _FALLBACK):
        folder = Path(name)
        try:
            folder.mkdir(parents=True, exist_ok=True)
            if folder.is_symlink() or folder.stat().st_uid != os.getuid():
                continue  # another user has prepared the folder
            handler = _rotated(folder / f"v2-{socket.gethostname()}.log")
        except OSError:
            continue
        handler.setFormatter(logging.Formatter("%(asctime)s %(process)d %(levelname)s %(message)s"))
        root.addHandler(handler)
        logging.getLogger("mgmt_drivers").setLevel(logging.DEBUG)
        return folder, handler.baseFilename
    root.addHandler(logging.NullHandler())
    return None, "none: no folder can be written"


def _rotated(path: Path) -> logging.FileHandler:
    """Open the log for appending; a large log is rotated first, by one process at a time.

    Only when a process begins: other processes may be writing, and go on in their open file.
    """
    handler = logging.handlers.RotatingFileHandler(path, backupCount=_OLD_LOGS, encoding="utf-8")
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        fcntl.flock(folder, fcntl.LOCK_EX)
        if path.stat().st_size > _LOG_SIZE:
            handler.doRollover()
    finally:
        os.close(folder)
    return handler
