"""mount.nfs of machines that are containers: who mounts."""

import subprocess
import tempfile
import unittest
from pathlib import Path

WRAPPER = Path(__file__).parents[1] / "node/mount-nfs.sh"
_ARGUMENTS = ["10.0.0.5:/volume/nfs/pv1", "/mnt/with spaces", "-o", "rw"]


class MountTest(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        for name in ("mount.nfs.real", "python3"):
            program = self.folder / name
            program.write_text("""#!/bin/sh\nprintf '%s\\n' "${0##*/}" "$@"\n""")
            program.chmod(0o755)

    def mount(self, filesystems: str) -> list[str]:
        """Who is called, with which arguments, if the kernel has these file systems."""
        (self.folder / "filesystems").write_text(filesystems)
        script = WRAPPER.read_text()
        for place in ("/proc/", "/usr/sbin/", "/dev/"):
            script = script.replace(place, f"{self.folder}/")
        (self.folder / "fuse").touch()
        path = {"PATH": f"{self.folder}:/usr/bin:/bin"}
        command = ["sh", "-c", script, "mount.nfs", *_ARGUMENTS]
        ran = subprocess.run(command, capture_output=True, text=True, check=True, env=path)
        return ran.stdout.splitlines()

    def test_the_kernel_mounts_if_it_can(self) -> None:
        for listed in ("nodev\tnfs\nnodev\tnfs4\n", "\text4\nnodev\tnfs\n"):
            self.assertEqual(["mount.nfs.real", *_ARGUMENTS], self.mount(listed))

    def test_a_program_mounts_if_the_kernel_cannot(self) -> None:
        for listed in ("nodev\tnfsd\n\text4\n", "nodev\tfuse\n"):
            program = "/usr/local/lib/mount_nfs.py"
            self.assertEqual(["python3", program, *_ARGUMENTS], self.mount(listed))
