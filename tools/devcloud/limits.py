"""Limits of the host's kernel, which the containers of all clouds share.

Nodes raise the limits further, as on any machine: see the script of the Kubernetes package.
"""

from pathlib import Path

from tools.progress import Progress

_INOTIFY_INSTANCES = Path("/proc/sys/fs/inotify/max_user_instances")
# A machine that boots takes a dozen. If none is left, containerd starts without its CRI plugin.
_WANTED = 512


def raise_inotify_limit(progress: Progress) -> None:
    """Raise the number of inotify instances, until the next boot."""
    found = int(_INOTIFY_INSTANCES.read_text())
    if found >= _WANTED:
        return
    try:
        _INOTIFY_INSTANCES.write_text(f"{_WANTED}\n")
    except OSError as error:
        progress.say(f"cannot raise fs.inotify.max_user_instances from {found}: {error}")
        return
    progress.say(f"raised fs.inotify.max_user_instances from {found} to {_WANTED}")
