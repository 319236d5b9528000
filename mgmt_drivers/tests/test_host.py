"""The vocabulary of one machine: it looks before it acts."""

import dataclasses
import json
import os
import shutil
import subprocess
import tempfile
import tracemalloc
import unittest
from collections.abc import Sequence
from pathlib import Path
from unittest import mock

from mgmt_drivers.cluster.backup import restoring
from mgmt_drivers.cluster.backup.backup_params import Restore
from mgmt_drivers.errors import InventoryError, MgmtDriverError
from mgmt_drivers.machine import clocks, docker, files, interfaces, packages, platforms, units
from mgmt_drivers.machine.files import STATE_FOLDER, File
from mgmt_drivers.secret import Secret
from mgmt_drivers.ssh.session import Result
from mgmt_drivers.testing.fake_cluster import cluster
from mgmt_drivers.testing.fakes import fake_host


class HostTest(unittest.TestCase):
    def setUp(self) -> None:
        self.host, self.session = fake_host()
        self.addCleanup(self.session.assert_done)


class FilesTest(HostTest):
    def setUp(self) -> None:
        super().setUp()
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def command(self, *wanted: File) -> Sequence[str]:
        """The command that writes files, which no secret reaches."""
        self.session.expect("sudo", "write-files")
        files.write_all(self.host, wanted)
        return self.session.commands[-1]

    def test_files_are_written_by_one_command(self) -> None:
        paths = [self.folder / "a/one", self.folder / "two"]
        one, two = map(str, paths)
        command = self.command(File(one, Secret("first\n"), "0600"), File(two, b""))
        self.assertEqual(b"first\n", self.session.stdin[-1])
        self.assertNotIn("first", str(command))
        subprocess.run(command, input=b"first\n", check=True)
        self.assertEqual(["first\n", ""], [path.read_text() for path in paths])
        self.assertEqual([0o600, 0o644], [path.stat().st_mode & 0o777 for path in paths])

    def test_a_file_that_is_as_it_is_to_be_stays_untouched(self) -> None:
        path = self.folder / "x"
        for content, mode, is_same in (
            ("hello", "0644", False), ("hello", "0644", True), ("hello", "0600", False),
            ("HELLO", "0600", False),
        ):
            before = path.stat().st_ino if path.exists() else 0
            command = self.command(File(str(path), content, mode))
            subprocess.run(command, input=content, text=True, check=True)
            self.assertEqual(is_same, before == path.stat().st_ino, (content, mode))
            self.assertEqual(content, path.read_text())
            self.assertEqual(int(mode, 8), path.stat().st_mode & 0o777)

    def test_a_folder_is_made_once(self) -> None:
        folder = self.folder / "log/audit"
        command = self.command(File(f"{folder}/", "", "0700"), File(f"{folder}/x", "hello"))
        for mode in (0o700, 0o750):
            subprocess.run(command, input="hello", text=True, check=True)
            self.assertEqual(mode, folder.stat().st_mode & 0o777)
            self.assertEqual(0o755, folder.parent.stat().st_mode & 0o777)
            self.assertEqual("hello", (folder / "x").read_text())
            folder.chmod(0o750)

    def test_a_file_of_which_not_all_came_is_not_written(self) -> None:
        """The connection broke: the machine sees the end of the input."""
        path = self.folder / "x"
        command = self.command(File(str(path), "hello"))
        for came, wanted in (("he", None), ("hello", "hello"), ("", "hello")):
            subprocess.run(command, input=came, text=True, check=False)
            self.assertEqual(wanted, path.read_text() if path.exists() else None)
            self.assertEqual([path] if wanted else [], list(self.folder.iterdir()))

    def test_digests_tell_whether_all_files_are_as_they_are_to_be(self) -> None:
        wanted = [File(str(self.folder / name), name, "0644") for name in ("a", "b")]
        for path, content in (("a", "a"), ("b", "b"), ("b", "other")):
            (self.folder / path).write_text(content)
            (self.folder / path).chmod(0o644)
            self.session.expect("sudo", "digest-files", status=1)
            files.has_all(self.host, wanted)
            command = self.session.commands[-1]
            ran = subprocess.run(command, capture_output=True, text=True, check=False)
            is_there = (self.folder / "b").exists()
            self.assertEqual(is_there, ran.returncode == 0)
            is_same = is_there and content != "other"
            self.assertEqual(is_same, files.are_digests(ran.stdout, wanted))


class UnitsTest(HostTest):
    """With a stand-in for systemctl, which notes its words and whether the unit's file is there."""

    def setUp(self) -> None:
        super().setUp()
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)
        (self.root / "systemctl").write_text(
            '#!/bin/sh\ncat "$ROOT/x.conf" >>"$ROOT/ran"\necho "$@" >>"$ROOT/ran"\n'
            'exec test "$1" != "$FAILS"\n'
        )
        (self.root / "systemctl").chmod(0o755)
        self.wanted = [File(f"{self.root}/x.conf", "a: 1\n")]

    def run_last(self, stdin: bytes = b"", fails: str = "") -> subprocess.CompletedProcess[str]:
        command = [word.replace(STATE_FOLDER, str(self.root)) for word in self.session.commands[-1]]
        path = f"{self.root}:{os.environ['PATH']}"
        return subprocess.run(
            command, input=stdin.decode(), check=False, timeout=60, text=True, capture_output=True,
            env={"PATH": path, "ROOT": str(self.root), "FAILS": fails},
        )

    def configure(self, came: bytes | None = None, fails: str = "") -> tuple[int, list[str]]:
        """Run the command that configures a unit; returns its status, and what is there then."""
        self.session.expect("sudo", "apply-unit", "x")
        units.configure(self.host, "x", self.wanted)
        done = self.run_last(self.session.stdin[-1] if came is None else came, fails)
        return done.returncode, sorted(p.name for p in self.root.iterdir() if p.suffix)

    def is_configured(self) -> bool:
        """Run the command that asks for a unit whose files are there."""
        self.session.expect("sudo", "show-unit", "x", status=1)
        units.is_as_configured(self.host, "x", self.wanted)
        shown = self.run_last()
        return shown.returncode == 0 and files.are_digests(shown.stdout, self.wanted)

    def ran(self) -> list[str]:
        return (self.root / "ran").read_text().splitlines()

    def test_a_unit_reads_files_that_are_written(self) -> None:
        self.assertEqual((0, ["x.conf"]), self.configure())
        read = ["is-enabled --quiet x", "reload-or-restart x"]
        self.assertEqual([line for words in read for line in ("a: 1", words)], self.ran())
        self.assertTrue(self.is_configured())

    def test_a_unit_that_has_not_read_its_files_is_not_configured(self) -> None:
        self.assertEqual((1, ["x.conf", "x.pending"]), self.configure(fails="reload-or-restart"))
        self.assertFalse(self.is_configured())
        self.assertEqual((0, ["x.conf"]), self.configure())
        self.assertTrue(self.is_configured())

    def test_files_that_have_not_arrived_are_not_applied(self) -> None:
        self.assertEqual((1, ["x.pending"]), self.configure(came=b"a"))
        self.assertFalse((self.root / "ran").exists())
        self.assertFalse(self.is_configured())


class LargeFilesTest(unittest.TestCase):
    """Backups in VNF packages have gigabytes."""

    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = Path(folder.name, "large")
        with self.path.open("wb") as file:
            file.truncate(100 << 20)
        self.made, _ = cluster()
        self.session = mock.Mock()
        self.session.run.return_value = Result(0)
        self.host = dataclasses.replace(self.made.leader, session=self.session)
        tracemalloc.start()
        self.addCleanup(tracemalloc.stop)

    def assert_streamed(self) -> None:
        write, *_ = self.session.run.call_args_list
        self.assertTrue(write.kwargs["stdin"] is self.path, "not streamed")
        self.assertEqual(str(100 << 20), write.args[0][-1])
        # At 1 MiB/s, beyond the 60 s for any command.
        self.assertEqual(160, write.kwargs["timeout"])
        self.assertLess(tracemalloc.get_traced_memory()[1], 20 << 20)

    def test_a_large_file_is_streamed_and_has_time(self) -> None:
        files.write(self.host, "/etc/x", self.path)
        self.assert_streamed()

    def test_a_backup_of_the_package(self) -> None:
        self.session.run.return_value = Result(1)
        with self.assertRaisesRegex(MgmtDriverError, "not a whole backup"):
            restoring.fetch(self.host, self.made, Restore("large", self.path))
        self.assert_streamed()


class InterfacesTest(HostTest):
    def test_the_interface_that_has_an_address(self) -> None:
        found = [{"local": "192.0.2.1"}, {"local": "192.0.2.10"}]  # the virtual IP is there, too
        shown = json.dumps([{}, {"ifname": "ens3", "addr_info": found}])
        self.session.expect("ip", "-json", "-4", "address", stdout=shown)
        self.assertEqual("ens3", interfaces.find(self.host, "192.0.2.10"))
        for nothing in ("", "[]", "[{}]"):
            self.session.expect("ip", stdout=nothing)
            with self.assertRaisesRegex(InventoryError, "no interface .* 192.0.2.10"):
                interfaces.find(self.host, "192.0.2.10")


class PackagesTest(HostTest):
    APT = ("sudo", "env", "DEBIAN_FRONTEND=noninteractive", "NEEDRESTART_SUSPEND=1")
    DPKG = ("sudo", "env", "DEBIAN_FRONTEND=noninteractive", "dpkg")

    def test_installed_packages_are_left(self) -> None:
        self.session.expect("sudo", "dpkg-query", stdout="installed a\ninstalled b\n")
        packages.install(self.host, ["a", "b"])

    def test_what_is_missing_is_installed(self) -> None:
        listed = "installed a\nconfig-files b\n"
        self.session.expect("sudo", "dpkg-query", status=1, stdout=listed)
        self.session.expect(*self.APT)
        self.session.expect(*self.APT)
        packages.install(self.host, ["a", "b", "c"])
        self.assertEqual(("install", "-y", "--no-install-recommends", "b", "c"),
                         self.session.ran[-1][-5:])
        self.assertIn("DPkg::Options::=--force-confold", self.session.ran[-1])

    def test_a_held_lock_is_waited_for(self) -> None:
        self.session.expect("sudo", "dpkg-query")
        self.session.expect(*self.APT, status=100, stderr="E: Could not get lock /var/lib/apt")
        self.session.expect(*self.APT)
        self.session.expect(*self.APT)
        packages.install(self.host, ["a"])

    def test_no_way_to_the_sources(self) -> None:
        self.session.expect("sudo", "dpkg-query")
        self.session.expect(*self.APT, status=100, stderr="Temporary failure resolving")
        with self.assertRaisesRegex(
            MgmtDriverError, "cannot install a .* Temporary failure resolving"
        ):
            packages.install(self.host, ["a"])


    def test_an_interrupted_transaction_is_ended_once(self) -> None:
        said = "E: dpkg was interrupted, you must manually run 'dpkg --configure -a' to correct it."
        self.session.expect(*self.APT, status=100, stderr=said)
        self.session.expect(*self.DPKG)
        self.session.expect(*self.APT, status=100, stderr="E: Could not get lock /var/lib/dpkg")
        self.session.expect(*self.APT)
        packages.run(self.host, *self.APT[1:])
        self.session.expect(*self.APT, status=100, stderr=said)
        self.session.expect(*self.DPKG)
        self.session.expect(*self.APT, status=100, stderr=said)
        with self.assertRaisesRegex(MgmtDriverError, "dpkg was interrupted"):
            packages.run(self.host, *self.APT[1:])

    def test_dpkg_does_not_run_beside_another(self) -> None:
        for words in ("dpkg frontend lock was locked by another process with pid 7",
                      "dpkg frontend lock was locked by /usr/bin/python3.13 process with pid 172",
                      "dpkg status database is locked by another process"):
            self.session.expect(*self.DPKG, status=2, stderr=f"dpkg: error: {words}")
            self.session.expect(*self.DPKG)
            packages.repair(self.host)

    def test_packages_that_cannot_be_configured_are_named(self) -> None:
        self.session.expect(*self.DPKG, status=1, stderr="error processing package x (--configure)")
        with self.assertRaisesRegex(MgmtDriverError, "interrupted.*package x.*dpkg --configure -a"):
            packages.repair(self.host)


_CONTROL = """\
Package: sample
Version: {version}
Architecture: all
Maintainer: nobody <nobody@example.com>
Description: has a configuration file
"""


@unittest.skipUnless(shutil.which("dpkg-deb"), "no dpkg here")
class InterruptedTest(HostTest):
    """The real dpkg, in a folder that plays the machine's root."""

    def setUp(self) -> None:
        super().setUp()
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)
        for name in ("db/updates", "db/info", "root"):
            (self.root / name).mkdir(parents=True)
        (self.root / "db/status").touch()

    def dpkg(self, *words: str) -> "subprocess.CompletedProcess[str]":
        options = ["--force-not-root", f"--root={self.root}/root", f"--admindir={self.root}/db"]
        options += ["--force-bad-path", f"--log={self.root}/log"]
        return subprocess.run(
            ["dpkg", *options, *words],
            stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, check=False,
        )

    def package(self, version: str) -> str:
        source = self.root / version
        (source / "DEBIAN").mkdir(parents=True)
        (source / "etc").mkdir()
        (source / "DEBIAN/control").write_text(_CONTROL.format(version=version))
        (source / "DEBIAN/conffiles").write_text("/etc/sample\n")
        (source / "etc/sample").write_text(f"of version {version}\n")
        made = f"{source}.deb"
        command = ["dpkg-deb", "--root-owner-group", "--build", str(source), made]
        subprocess.run(command, check=True, capture_output=True)
        return made

    def test_a_transaction_that_was_broken_off_is_ended_without_a_question(self) -> None:
        """Also where a file of configuration was changed by hand, of which dpkg would ask."""
        done = self.dpkg("--install", self.package("1"))
        self.assertEqual(0, done.returncode, done.stderr)
        configuration = self.root / "root/etc/sample"
        configuration.write_text("of the machine's owner\n")
        self.dpkg("--unpack", self.package("2"))
        self.assertNotEqual(0, self.dpkg("--configure", "-a").returncode)  # it asked nobody
        self.session.expect("sudo", "env", "DEBIAN_FRONTEND=noninteractive", "dpkg")
        packages.repair(self.host)
        words = self.session.ran[-1]
        done = self.dpkg(*words[words.index("dpkg") + 1 :])
        self.assertEqual(0, done.returncode, done.stderr)
        self.assertIn("install ok installed", (self.root / "db/status").read_text())
        self.assertEqual("of the machine's owner\n", configuration.read_text())


class ClocksTest(HostTest):
    def test_how_far_a_clock_is_ahead(self) -> None:
        self.host.clock.sleep(1000)
        self.session.expect("date", "+%s.%N", stdout="1012.500000000\n")
        self.assertEqual(clocks.Offset(12.5, 0), clocks.read_offset(self.host))
        for lie in ("", "now", "1e400", "nan"):
            self.session.expect("date", stdout=lie)
            with self.assertRaisesRegex(MgmtDriverError, "which is not a time"):
                clocks.read_offset(self.host)


class PlatformsTest(HostTest):
    def test_supported(self) -> None:
        self.session.expect_facts('ubuntu "22.04"')
        self.assertEqual("Ubuntu 22.04", platforms.detect(self.host).name)

    def test_debian_gets_the_parser_without_which_docker_starts_no_container(self) -> None:
        self.session.expect_facts('debian "12"')
        self.assertEqual(("docker.io", "apparmor"), platforms.detect(self.host).docker)

    def test_unsupported(self) -> None:
        self.session.expect_facts('"centos" "7"')
        with self.assertRaisesRegex(MgmtDriverError, "runs centos 7; supported: Deb"):
            platforms.detect(self.host)


class DockerTest(HostTest):
    def test_container_that_is_not_there(self) -> None:
        self.session.expect("sudo", "docker", "container", "inspect", "x", status=1, stdout="[]")
        self.assertIsNone(docker.inspect_container(self.host, "x"))

    def test_image(self) -> None:
        self.session.expect("sudo", "docker", "image", "inspect", stdout="sha256:abc\n")
        self.assertTrue(docker.has_image(self.host, "x"))
