"""A package from elsewhere is looked at, and does nothing."""

import os
import subprocess
import sys
import zipfile

from tools.csar import build, check_heat, contents
from tools.csar.tests.made_certificates import CA, Certificates
from tools.csar.tests.sample import PackageTest

# Runs the command; what it does besides reading goes into the file that DID names.
_WATCHED = """
import os, sys
log = os.open(os.environ["DID"], os.O_WRONLY | os.O_CREAT)
from tools.csar import check_heat, cli
from tools.k8s_vnf.app import main
if check_heat.is_installed():
    check_heat._heat()  # its own modules are no concern of the package
def watch(event, args):
    if event == "subprocess.Popen":
        did = f"runs {args[0]}"
    elif event in ("socket.connect", "socket.getaddrinfo", "os.system", "os.exec", "os.fork"):
        did = f"{event} {args}"
    elif event == "exec" and not os.path.isabs(args[0].co_filename):
        did = f"exec {args[0].co_filename}"
    elif event == "open" and args[2] & (os.O_WRONLY | os.O_RDWR | os.O_CREAT):
        did = f"writes {args[0]}"
    else:
        return
    os.write(log, f"{did}\\n".encode())
sys.addaudithook(watch)
sys.exit(main(["package", *sys.argv[1:]]))
"""
_REMOTE = """
heat_template_version: 2016-10-14
resources:
  a:
    type: http://127.0.0.1:9/nested.yaml
  b:
    type: OS::Heat::ResourceGroup
    properties: { resource_def: { type: file:///etc/hostname.yaml } }
"""


class ForeignTest(PackageTest):
    def test_it_does_nothing(self) -> None:
        made = Certificates(self.scratch)
        ca = made.issue("ca", None, *CA)
        marker = self.scratch / "marker"
        evil = f"import pathlib\npathlib.Path({str(marker)!r}).touch()\n"
        files = {
            "Scripts/evil.sh": f"#!/bin/sh\ntouch {marker}\n",
            "UserData/__init__.py": evil, "UserData/evil.py": evil, "tools/__init__.py": evil,
            "sitecustomize.py": evil, "conftest.py": evil,
        }  # fmt: skip
        for name, text in files.items():
            path = self.folder / name
            path.parent.mkdir(exist_ok=True)
            path.write_text(text)
        with (self.folder / "UserData/evil.py").open("a") as module:
            module.write(
                "class E:\n    @staticmethod\n    def instantiate(base_hot_dict, vnfd_dict, "
                "inst_req_info, grant_info): ...\n"
            )
        csar = build.build(self.folder, self.scratch / "a.zip", signer=made.issue("s", ca))
        remote = self.scratch / "remote.zip"
        with zipfile.ZipFile(build.build(self.folder, self.scratch / "b.zip")) as source:
            hot = "BaseHOT/simple/private_registry.yaml"
            with zipfile.ZipFile(remote, "w") as target:
                for name in source.namelist():
                    target.writestr(name, _REMOTE if name == hot else source.read(name))
        did, said = self.watch("verify", str(csar), str(remote), "--ca", str(ca.certificate))
        self.assertFalse(marker.exists())
        self.assertIn("remote.zip: is not signed", said)
        self.assertLessEqual({line.split(" ")[0] for line in did}, {"runs", "writes"}, did)
        self.assertEqual({"openssl"}, {line[5:] for line in did if line.startswith("runs ")})
        if check_heat.is_installed():
            self.assertIn("verify fetches nothing", said)

    def watch(self, *arguments: str) -> tuple[list[str], str]:
        """Return what the command did and said; it must leave its folders empty."""
        empty = [self.scratch / name for name in ("temporary", "home", "here")]
        for folder in empty:
            folder.mkdir()
        temporary, home, here = map(str, empty)
        log = self.scratch / "did"
        path = os.pathsep.join([str(contents.CHECKOUT), os.environ.get("PYTHONPATH", "")])
        # Heat's import keeps a list of the installed distributions there, none of the package.
        cache = str(self.scratch / "cache")
        own = {
            "DID": str(log), "TMPDIR": temporary, "HOME": home, "PYTHONPATH": path,
            "XDG_CACHE_HOME": cache,
        }  # fmt: skip
        done = subprocess.run(
            [sys.executable, "-c", _WATCHED, *arguments], cwd=here, env={**os.environ, **own},
            text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False,
        )  # fmt: skip
        self.assertEqual([], [path for folder in empty for path in folder.iterdir()])
        did = log.read_text().splitlines()
        outside = [d for d in did if d.startswith("writes ") and temporary not in d]
        self.assertEqual([], [d for d in outside if d != f"writes {os.devnull}"])
        return did, done.stdout
