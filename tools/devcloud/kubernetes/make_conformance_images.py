"""Makes the images that Kubernetes' conformance tests name.

Run inside their build: PROGRAMS ROOT TARGET. PROGRAMS has the programs, and the sources of the
images beside it; ROOT is a Debian root file system as a tar. e2e.test tells the images' versions.
"""

import subprocess
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from tools import docker_archive

_PATH = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
# A test looks for the groups that a user has in agnhost's image.
_USER = b"user-defined-in-image:x:1000:1000::/home/user-defined-in-image:/bin/sh\n"
_GROUPS = (
    b"user-defined-in-image:x:1000:\n"
    b"group-defined-in-image:x:50000:user-defined-in-image\n"
)
# A test of image volumes looks for the name of this distribution.
_RELEASE = b'NAME="Alpine Linux"\nID=alpine\n'

_SHELLS = ("bash", "busybox", "sh")
# Tests look for the words of busybox's own shell, and for variables such as data-1, which Debian's
# busybox drops and bash keeps.
_SHELL = rb"""#!/bin/bash
mapfile -t -d '' variables </proc/self/environ
if [[ "${variables[*]%%=*}" == *[^[:alnum:]_[:space:]]* ]]; then
    exec -a "$0" /bin/bash "$@"
fi
exec -a "$0" /bin/busybox "$@"
"""

# Layers, the lowest first, and settings.
Image = tuple[Sequence[bytes], dict[str, Any]]


def main(programs: Path, root: Path, target: Path) -> None:
    command = [str(programs / "e2e.test"), "--list-images"]
    told = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
    busybox, bash = (Path("/bin", name).read_bytes() for name in ("busybox", "bash-static"))
    applets = subprocess.check_output(["/bin/busybox", "--list"], text=True).split()
    made = {**images(programs, root.read_bytes()), "busybox": of_busybox(busybox, bash, applets)}
    with target.open("wb") as file:
        docker_archive.write_all(file, named(sorted(told), made))


def named(references: Iterable[str], made: dict[str, Image]) -> dict[str, Image]:
    """The images that are made, by reference; those of another version are other images."""
    found: dict[str, Image] = {}
    missing = set(made)
    for reference in references:
        name, _, version = reference.rpartition("/")[2].partition(":")
        if name in made:
            layers, settings = made[name]
            more = {"Env": [_PATH], "Labels": {"version": version}}
            found[reference] = layers, {**settings, **more}
            missing.discard(name)
    if missing:
        raise SystemExit(f"the tests name no image {sorted(missing)}")
    return found


def images(programs: Path, root: bytes) -> dict[str, Image]:
    """Images by their short names, without busybox."""
    sources = programs.parent / "images"
    server = programs / "sample-apiserver"
    agnhost = [root, _agnhost(programs / "agnhost", sources / "agnhost/porter")]
    files = {"usr/local/bin/nnp": (programs / "nonewprivs").read_bytes()}
    setuid = docker_archive.layer(files, modes=dict.fromkeys(files, 0o6755))
    pause, serve = ({"Entrypoint": ["/agnhost"], "Cmd": [c]} for c in ("pause", "test-webserver"))
    return {
        "agnhost": (agnhost, pause),
        "glibc-dns-testing": ([root], {"Cmd": ["bash"]}),
        "nginx": ([root], {"Cmd": ["nginx", "-g", "daemon off;"]}),
        "nonewprivs": ([setuid], {"Cmd": ["nnp"]}),
        "sample-apiserver": (
            [root, docker_archive.layer({server.name: server.read_bytes()})],
            {"Entrypoint": [f"/{server.name}"]},
        ),
        **{
            name: ([*agnhost, _picture(sources / name / "html")], serve)
            for name in ("kitten", "nautilus")
        },
    }


def of_busybox(busybox: bytes, bash: bytes, applets: Iterable[str]) -> Image:
    """A link for each applet but the shell."""
    links = {f"bin/{name}": "busybox" for name in applets if name not in _SHELLS}
    text = {
        "etc/passwd": b"root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534::/home:/bin/false\n",
        "etc/group": b"root:x:0:\nnobody:x:65534:\n",
    }
    content = docker_archive.layer(
        {"bin/busybox": busybox, "bin/bash": bash, "bin/sh": _SHELL, **text},
        links,
        dict.fromkeys(text, 0o644),
        {"tmp": 0o1777, **dict.fromkeys(("home", "root", "usr/bin", "var/www"), 0o755)},
    )
    return [content], {"Cmd": ["sh"]}


def _agnhost(program: Path, porter: Path) -> bytes:
    """With the users of the root file system, which is that of this container, and another."""
    text = {name: (porter / name).read_bytes() for name in ("localhost.crt", "localhost.key")}
    for name, more in (("etc/passwd", _USER), ("etc/group", _GROUPS)):
        text[name] = Path("/", name).read_bytes() + more
    files = {"agnhost": program.read_bytes(), **text}
    modes = dict.fromkeys(text, 0o644)
    return docker_archive.layer(files, {"agnhost-2": "agnhost"}, modes, {"uploads": 0o1777})


def _picture(folder: Path) -> bytes:
    files = {path.name: path.read_bytes() for path in folder.iterdir()}
    return docker_archive.layer({**files, "etc/os-release": _RELEASE})


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
