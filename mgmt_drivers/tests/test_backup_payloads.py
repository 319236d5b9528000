"""Payloads of backups, run for real, in a folder that plays the machine's root."""

import os
import stat
import subprocess
import tarfile
import tempfile
import unittest
from collections.abc import Sequence
from pathlib import Path

from mgmt_drivers.cluster.backup import backup
from mgmt_drivers.tests.test_backup import archive

_CAPABILITIES = Path(backup.__file__).parents[1]
_PKI = (
    "ca.crt", "ca.key", "front-proxy-ca.crt", "front-proxy-ca.key", "etcd/ca.crt", "etcd/ca.key",
    "sa.key", "sa.pub",
)
_TOLD = {"release": "v1.37.2", "pod_cidr": "192.168.0.0/16", "cluster_cidr": "10.96.0.0/12"}
# Containers that run, and etcd's programs: a snapshot is the time; a broken one has no status.
_CTR = """#!/bin/bash
shift 2
case "$1 $2" in
"tasks list") printf 'TASK PID STATUS\\nother 1 RUNNING\\netcd-id 2 %s\\n' "${STATE:-RUNNING}" ;;
"containers list") echo etcd-id ;;
"tasks exec")
    [ "$5" = etcd-id ] || exit 9
    shift 5
    case "$*" in
    *"snapshot save"*) echo "$RANDOM" >"${@: -1}" ;;
    "etcdutl snapshot status"*) [ ! -e "$ROOT/broken" ] && echo '{"hash":1,"totalKey":7}' ;;
    *) echo "no such program" >&2; exit 1 ;;
    esac
    ;;
esac
"""
# The storage server's sshd, with the forced command of a key.
_SSH = """#!/bin/bash
[ ! -e "$ROOT/down" ] || { echo "connection refused" >&2; exit 255; }
SSH_ORIGINAL_COMMAND="${@: -1}" bash "$ROOT/state/backup-store.sh" "$ROOT/store"
"""


class PayloadTest(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)
        self.store = self.root / "store"
        for path in ("bin", "state", "etc/kubernetes/manifests", "var/lib/etcd/member/snap"):
            (self.root / path).mkdir(parents=True)
        for name, text in (("ctr", _CTR), ("ssh", _SSH)):
            self.program(name, text)

    def program(self, name: str, text: str) -> None:
        (self.root / "bin" / name).write_text(text)
        (self.root / "bin" / name).chmod(0o755)

    def script(self, name: str) -> str:
        folder = "packages" if name == "in-container" else "backup"
        text = (_CAPABILITIES / folder / f"{name}.sh").read_text()
        for path in ("/etc/kubernetes", "/var/lib/etcd"):
            text = text.replace(path, f"{self.root}{path}")
        return text

    def run_script(
        self, name: str, *words: str, stdin: bytes = b"", **variables: str
    ) -> "subprocess.CompletedProcess[bytes]":
        path = f"{self.root}/bin:{os.environ['PATH']}"
        return subprocess.run(
            ["bash", "-c", self.script(name), name, *words], input=stdin, capture_output=True,
            env={"PATH": path, "ROOT": str(self.root), **variables}, timeout=60,
        )

    def names(self) -> list[str]:
        return sorted(path.name for path in self.store.glob("etcd-*"))


def _name(hour: int) -> str:
    return f"etcd-20261122T{hour:02}0000Z-v1.37.2-master-0123456789ab.tar.gz"


class StoreTest(PayloadTest):
    def save(self, hour: int, keep: int = 3, data: bytes = archive(_TOLD)) -> int:
        ran = self.run_script(
            "backup-store", str(self.store), f"save {_name(hour)} {keep}", stdin=data
        )
        return ran.returncode

    def test_the_newest_are_kept(self) -> None:
        for hour in range(5):
            self.assertEqual(0, self.save(hour))
        self.assertEqual([_name(hour) for hour in (2, 3, 4)], self.names())
        listed = self.run_script("backup-store", str(self.store), "list").stdout.decode()
        self.assertEqual(self.names(), listed.split())
        modes = {stat.S_IMODE(p.stat().st_mode) for p in self.store.glob("etcd-*")}
        self.assertEqual(({0o600}, 0o700), (modes, stat.S_IMODE(self.store.stat().st_mode)))
        read = self.run_script("backup-store", str(self.store), f"read {_name(4)}")
        self.assertEqual(archive(_TOLD)[-8:], read.stdout[-8:])

    def test_one_that_is_not_whole_removes_nothing(self) -> None:
        self.save(1, keep=1)
        for data in (b"", archive(_TOLD)[:-9], b"no archive"):
            self.assertNotEqual(0, self.save(2, keep=1, data=data))
        self.assertEqual([_name(1)], [path.name for path in self.store.iterdir()][-1:])
        self.assertEqual([_name(1)], self.names())
        self.assertFalse(list(self.store.glob(".new.*")))

    def test_a_clock_that_was_wrong_costs_no_backup_that_was_just_saved(self) -> None:
        self.save(20, keep=2)
        self.save(21, keep=2)
        self.assertEqual(0, self.save(3, keep=2))
        self.assertEqual([_name(3), _name(21)], self.names())

    def test_what_is_left_of_an_attempt_is_removed(self) -> None:
        self.save(1)
        (self.store / ".new.abc").write_text("half")
        self.save(2)
        self.assertFalse(list(self.store.glob(".new.*")))

    def test_a_key_can_do_nothing_else(self) -> None:
        self.save(1)
        (self.root / "secret").write_text("secret")
        for wanted in (
            "read ../secret", "read /etc/passwd", "read .lock", "save ../x 3", "sh", "", "-c id",
            f"save {_name(2)} 0", f"save {_name(2)} 1x", f"save {_name(2)}", "read etcd-$(id)",
            f"read {_name(1)}/../../secret",
        ):
            with self.subTest(wanted):
                ran = self.run_script("backup-store", str(self.store), SSH_ORIGINAL_COMMAND=wanted)
                self.assertNotEqual(0, ran.returncode)
                self.assertEqual(b"", ran.stdout)
        self.assertEqual([_name(1)], self.names())

    def test_a_folder_of_others_is_not_used(self) -> None:
        self.store.mkdir(mode=0o755)
        self.store.chmod(0o755)
        self.assertNotEqual(0, self.save(1))
        self.assertEqual([], self.names())


class ContainerTest(PayloadTest):
    """A program runs in the container that runs, whichever the runtime is."""

    def in_container(self, runtime: str, ids: str) -> tuple[int, str]:
        for name, text in (
            ("docker", 'case $1 in ps) printf %s "$IDS" ;; *) shift; echo "$@" ;; esac'),
            ("ctr", 'case "$3 $4" in "tasks list") printf %s "$IDS" | sed "s/$/ 7 RUNNING/" ;;'
                    ' "containers list") printf "stopped\\n%s" "$IDS" ;;'
                    ' *) shift 6; echo "$@" ;; esac'),
        ):
            self.program(name, f"#!/bin/bash\n{text}\n")
        ran = self.run_script("in-container", runtime, "etcd", "etcdctl", "a b", IDS=ids)
        return ran.returncode, (ran.stdout + ran.stderr).decode().strip()

    def test_in_container(self) -> None:
        nothing = (1, "no container etcd runs on the machine")
        for runtime in ("docker", "containerd"):
            for ids, answer in (
                ("0123abc\n", (0, "0123abc etcdctl a b")), ("", nothing),
                ("--privileged\n", nothing), ("a;id\n", nothing), ("x" * 5000 + "\n", nothing),
            ):
                with self.subTest(runtime=runtime, ids=ids[:20]):
                    self.assertEqual(answer, self.in_container(runtime, ids))


class MasterTest(PayloadTest):
    """A control-plane node saves backups, and makes a cluster of one."""

    def setUp(self) -> None:
        super().setUp()
        for name in _PKI:
            path = self.root / "etc/kubernetes/pki" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(name)
        (self.root / "etc/kubernetes/manifests/kube-apiserver.yaml").write_text(
            "    image: registry.k8s.io/kube-apiserver:v1.37.2\n"
        )
        (self.root / "var/lib/etcd/member/snap/db").write_text("data")
        for name in ("etcd-backup", "backup-store", "in-container"):
            (self.root / "state" / f"{name}.sh").write_text(self.script(name))
        self.configure()

    def configure(self, server: str = "") -> None:
        values = {
            "INTERVAL": "3600", "KEEP": "2", "FOLDER": str(self.store), "SERVER": server,
            "RUNTIME": "containerd", "NODE": "master-0123456789ab",
            "POD_CIDR": "192.168.0.0/16", "CLUSTER_CIDR": "10.96.0.0/12",
        }
        text = "".join(f'{name}="{value}"\n' for name, value in values.items())
        (self.root / "state/etcd-backup.conf").write_text(text)

    def backup(self, *words: str, **variables: str) -> "subprocess.CompletedProcess[bytes]":
        return subprocess.run(
            ["bash", str(self.root / "state/etcd-backup.sh"), *words], capture_output=True,
            env={"PATH": f"{self.root}/bin:{os.environ['PATH']}", "ROOT": str(self.root),
                 **variables}, timeout=60,
        )

    def assert_saved(self, ran: "subprocess.CompletedProcess[bytes]", count: int = 1) -> None:
        self.assertEqual((0, b""), (ran.returncode, ran.stderr))
        self.assertEqual(count, len(self.names()))
        self.assert_tidy()

    def assert_tidy(self) -> None:
        """Nothing that is secret is left over."""
        left = {path.name for path in (self.root / "state").iterdir()}
        known = {"etcd-backup.sh", "backup-store.sh", "in-container.sh", "etcd-backup.conf",
                 "etcd-backup.lock"}
        self.assertEqual(set(), left - known)
        left = {path.name for path in (self.root / "var/lib/etcd").iterdir()}
        self.assertEqual({"member"}, left)

    def test_a_backup_has_the_snapshot_and_its_pki(self) -> None:
        self.assert_saved(self.backup("save"))
        (name,) = self.names()
        self.assertRegex(name, r"^etcd-2\d{7}T\d{6}Z-v1\.37\.2-master-0123456789ab\.tar\.gz$")
        with tarfile.open(self.store / name) as file:
            members = {Path(member).as_posix() for member in file.getnames()}
        self.assertEqual({*_PKI, "etcd-backup.db", "metadata.json"}, members)
        found = backup.read_contents_of_file(self.store / name)
        wanted = backup.Contents("v1.37.2", _TOLD["pod_cidr"], _TOLD["cluster_cidr"])
        self.assertEqual(wanted, found)
        shown = self.run_script("show-backup", str(self.store / name)).stdout
        self.assertIn(b'"etcd": {"hash":1,"totalKey":7}', shown)
        self.assertEqual(name, self.backup("list").stdout.decode().strip())

    def test_the_interval_is_kept_whoever_saved_last(self) -> None:
        self.backup("save")
        self.assert_saved(self.backup("save"))
        (name,) = self.names()
        (self.store / name).rename(self.store / _name(1))
        self.assert_saved(self.backup("save"), count=2)

    def test_a_backup_of_the_future_stops_nothing(self) -> None:
        self.store.mkdir(mode=0o700)
        (self.store / _name(1).replace("2026", "2999")).write_bytes(archive(_TOLD))
        self.assert_saved(self.backup("save"), count=2)

    def test_over_ssh(self) -> None:
        self.configure("etcd-backup@192.0.2.7")
        self.assert_saved(self.backup("save"))
        (name,) = self.names()
        copy = self.root / "copy"
        self.assertEqual(0, self.backup("read", name, str(copy)).returncode)
        kept = (self.store / name).read_bytes()
        self.assertEqual((kept, kept), (copy.read_bytes(), self.backup("read", name).stdout))

    def test_what_fails_is_said_and_leaves_nothing(self) -> None:
        self.backup("save", "now")
        for words, prepare, variables in (
            ("no container etcd runs", lambda: None, {"STATE": "STOPPED"}),
            ("not whole", (self.root / "broken").touch, {}),
            ("too little space", lambda: self.program("df", "#!/bin/sh\necho Avail; echo 3\n"), {}),
        ):
            with self.subTest(words):
                prepare()
                ran = self.backup("save", "now", **variables)
                self.assertNotEqual(0, ran.returncode)
                self.assertIn(words, ran.stderr.decode())
                self.assertEqual(1, len(self.names()))
                self.assert_tidy()

    def test_a_storage_server_that_is_down_fails_it(self) -> None:
        self.configure("etcd-backup@192.0.2.7")
        (self.root / "down").touch()
        ran = self.backup("save")
        self.assertNotEqual(0, ran.returncode)
        self.assertIn("connection refused", ran.stderr.decode())
        self.assert_tidy()

    def restore(self, file: Path, *command: str) -> "subprocess.CompletedProcess[bytes]":
        work = self.root / "state/restoring"
        self.program("etcdutl", _RESTORE)
        prefix: Sequence[str] = ("etcdutl", "snapshot", "restore", "--mark-compacted")
        words = (str(file), "master-new", "https://192.0.2.9:2380", str(len(prefix)), str(work))
        return self.run_script("restore-etcd", *words, *prefix, *command, stdin=b"config")

    def test_a_cluster_is_made_of_it(self) -> None:
        self.backup("save")
        (name,) = self.names()
        for path in ("etc/kubernetes/pki", "var/lib/etcd/member"):
            subprocess.run(["rm", "-r", str(self.root / path)], check=True)
        for _ in range(2):  # also where an attempt was broken off
            ran = self.restore(self.store / name, "cat")
            self.assertEqual((0, b"config"), (ran.returncode, ran.stdout), ran.stderr)
        for file in _PKI:
            laid = self.root / "etc/kubernetes/pki" / file
            self.assertEqual(file, laid.read_text())
            wanted = 0o600 if file.endswith(".key") else 0o644
            self.assertEqual(wanted, stat.S_IMODE(laid.stat().st_mode), file)
        asked = (self.root / "var/lib/etcd/member/snap/db").read_text()
        peers = "--name master-new --initial-cluster master-new=https://192.0.2.9:2380"
        self.assertIn(peers, asked)
        self.assertIn("--mark-compacted", asked)
        self.assertFalse((self.root / "state/restoring").exists())

    def test_a_restore_that_fails_runs_nothing(self) -> None:
        self.backup("save")
        (name,) = self.names()
        (self.root / "refuses").touch()
        ran = self.restore(self.store / name, "touch", str(self.root / "ran"))
        self.assertNotEqual(0, ran.returncode)
        self.assertFalse((self.root / "ran").exists())
        self.assertEqual("data", (self.root / "var/lib/etcd/member/snap/db").read_text())


_RESTORE = """#!/bin/bash
[ ! -e "$ROOT/refuses" ] || { echo "hash mismatch" >&2; exit 1; }
[ -e "$4" ] || exit 1
data=${*: -1}
mkdir -p "$data/member/snap"
echo "$@" >"$data/member/snap/db"
"""
