"""Limits of the host's kernel, which the containers of all clouds share."""

from pathlib import Path

from tools.devcloud.progress import Progress

_WATCHERS = Path("/proc/sys/fs/inotify/max_user_instances")
# A node takes a dozen. Without one containerd starts without its CRI.
_WANTED = 2048


def ensure(progress: Progress) -> None:
    """Raise them, until the next boot."""
    found = int(_WATCHERS.read_text())
    if found >= _WANTED:
        return
    try:
        _WATCHERS.write_text(f"{_WANTED}\n")
    except OSError as error:
        progress.say(f"cannot raise fs.inotify.max_user_instances from {found}: {error}")
        return
    progress.say(f"raised fs.inotify.max_user_instances from {found} to {_WANTED}")
