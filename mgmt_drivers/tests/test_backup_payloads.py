"""Payloads of backups, run for real, in a folder that plays the machine's root."""

import fcntl
import gzip
import io
import os
import stat
import subprocess
import tarfile
import tempfile
import unittest
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from mgmt_drivers.cluster.backup import archive, backup, backup_keys
from mgmt_drivers.cluster.backup.backup_keys import BackupKeys
from mgmt_drivers.errors import MgmtDriverError
from mgmt_drivers.inventory import Node
from mgmt_drivers.machine.host import Host
from mgmt_drivers.secret import Secret
from mgmt_drivers.ssh.session import Result
from mgmt_drivers.testing.fakes import FakeSession, MemoryStore
from mgmt_drivers.testing.made_keys import made_pair

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
    *"alarm list"*)
        [ -z "${ISOLATED-}" ] || { echo "Error: context deadline exceeded" >&2; exit 1; }
        echo "${ALARMS-}"
        ;;
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
export SSH_ORIGINAL_COMMAND="${@: -1}"
bash "$ROOT/state/backup-store.sh" "$ROOT/store" master-0123456789ab 2
"""


class PayloadTest(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)
        self.store = self.root / "store"
        for path in ("bin", "state", "etc/kubernetes/manifests", "var/lib/etcd/member/snap"):
            (self.root / path).mkdir(parents=True)
        for name, text in (("ctr", _CTR), ("ssh", _SSH), ("sleep", "#!/bin/sh\n")):
            self.program(name, text)

    def program(self, name: str, text: str) -> None:
        (self.root / "bin" / name).write_text(text)
        (self.root / "bin" / name).chmod(0o755)

    def script(self, name: str) -> str:
        folder = "packages" if name == "static-pods" else "backup"
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


NODE, OTHER = "master-0123456789ab", "master-ba9876543210"
_MEMBERS = ("manifest.json", "manifest.json.sig", "password.enc", "data.enc")


def _name(hour: int, node: str = NODE) -> str:
    return f"etcd-20261122T{hour:02}0000Z-v1.37.2-0a1b2c3d-{node}.tar"


def sealed(*members: str, size: int = 8) -> bytes:
    """An archive with these members, of so many bytes each."""
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w") as file:
        for name in members or _MEMBERS:
            info = tarfile.TarInfo(name)
            info.size = size
            file.addfile(info, io.BytesIO(name[:1].encode() * size))
    return stream.getvalue()


class StoreTest(PayloadTest):
    def setUp(self) -> None:
        super().setUp()
        self.now = "20261122T200000Z"
        self.program("date", '#!/bin/bash\ncat "$ROOT/now"\n')
        (self.root / ".ssh").mkdir()
        self.let_in(NODE, OTHER)

    def let_in(self, *nodes: str) -> None:
        lines = "".join(f"restrict,command=\"x\" ssh-ed25519 AAAA {node}\n" for node in nodes)
        (self.root / ".ssh/authorized_keys").write_text(lines)

    def ask(
        self, request: str, node: str = NODE, keep: int = 3, data: bytes = b""
    ) -> "subprocess.CompletedProcess[bytes]":
        (self.root / "now").write_text(self.now)
        return self.run_script(
            "backup-store", str(self.store), node, str(keep), stdin=data, HOME=str(self.root),
            SSH_ORIGINAL_COMMAND=request,
        )

    def save(self, hour: int, node: str = NODE, keep: int = 3, data: bytes = sealed()) -> int:
        self.now = f"20261122T{hour:02}0000Z"
        return self.ask("save v1.37.2 0a1b2c3d", node, keep, data).returncode

    def test_the_newest_of_each_node_are_kept(self) -> None:
        for hour in range(5):
            self.assertEqual(0, self.save(hour))
        self.save(9, OTHER)
        self.assertEqual([*map(_name, (2, 3, 4)), _name(9, OTHER)], self.names())
        self.assertEqual(self.names(), self.ask("list").stdout.decode().split())
        modes = {stat.S_IMODE(p.stat().st_mode) for p in self.store.glob("etcd-*")}
        self.assertEqual(({0o600}, 0o700), (modes, stat.S_IMODE(self.store.stat().st_mode)))
        self.assertEqual(sealed(), self.ask(f"read {_name(4)}").stdout)

    def test_nodes_that_are_gone_keep_as_many_together(self) -> None:
        for hour in (1, 2, 3):
            self.save(hour, OTHER)
        old = "etcd-20261121T000000Z-v1.37.2-0a1b2c3d-master-0123456789ff.tar"
        (self.store / old).write_bytes(b"old")
        self.let_in(NODE)
        self.save(4, keep=2)
        # The newest of each of them first.
        self.assertEqual([old, _name(3, OTHER), _name(4)], self.names())

    def test_one_that_is_not_whole_removes_nothing(self) -> None:
        self.save(1, keep=1)
        others = sealed("data.enc"), sealed(*_MEMBERS, "x")
        large = sealed(size=30_000)
        cut = [sealed()[:2060], large[:20_000], large[:30_000]]  # in a header, and in the data
        for data in (b"", *cut, gzip.compress(sealed()), b"no archive", *others):
            self.assertNotEqual(0, self.save(2, keep=1, data=data))
        self.assertEqual([_name(1)], self.names())
        self.assertFalse(list(self.store.glob(".new.*")))

    def test_no_backup_is_replaced(self) -> None:
        self.save(1, keep=1)
        self.assertNotEqual(0, self.save(1, keep=1, data=sealed() + b"\0" * 512))
        self.assertEqual(sealed(), (self.store / _name(1)).read_bytes())

    def test_a_clock_that_was_ahead_costs_no_backup(self) -> None:
        for hour in (20, 21, 22):
            self.save(hour)
        for hour in (1, 2, 3):
            self.assertEqual(0, self.save(hour))
        self.assertEqual([*map(_name, (1, 2, 3))], self.names())

    def test_what_is_left_of_an_attempt_is_removed(self) -> None:
        self.save(1)
        (self.store / f".new.{NODE}").write_text("half")
        (self.store / f".new.{OTHER}").write_text("of a node that is gone")
        os.utime(self.store / f".new.{OTHER}", (0, 0))
        self.save(2)
        self.assertFalse(list(self.store.glob(".new.*")))

    def test_a_node_that_holds_the_line_holds_up_no_other(self) -> None:
        self.store.mkdir(mode=0o700)
        lock = (self.store / f".{NODE}.lock").open("w")
        self.addCleanup(lock.close)
        fcntl.flock(lock, fcntl.LOCK_EX)
        self.assertNotEqual(0, self.save(1))
        self.assertEqual(0, self.save(1, OTHER))

    def test_one_node_does_not_fill_the_disk(self) -> None:
        for left in (4096, 2 * len(sealed()) - 2, 2):
            self.program("df", f"#!/bin/sh\necho Avail; echo {left}\n")
            ran = self.ask("save v1.37.2 0a1b2c3d", data=sealed())
            self.assertNotEqual(0, ran.returncode)
            words = f"the backups of {NODE} take up half of the space: give it more\n"
            self.assertEqual(words, ran.stderr.decode())
        self.assertEqual([], self.names())

    def test_one_node_does_not_fill_the_memory(self) -> None:
        """By names without end, or by one that is as large as the disk."""
        self.program("tar", '#!/bin/sh\nulimit -v >"$ROOT/memory"; yes manifest.json\n')
        self.assertNotEqual(0, self.save(1))
        self.assertLess(int((self.root / "memory").read_text()), 1 << 20)  # KiB

    def test_a_key_can_do_nothing_else(self) -> None:
        self.save(1)
        (self.root / "secret").write_text("secret")
        for request in (
            "read ../secret", "read /etc/passwd", "read .lock", "save ../x 0a1b2c3d", "sh", "",
            "-c id", "save v1.37.2", "save v1.37.2 0a1b2c3d0a", "save v1.37 0a1b2c3d",
            "save v1.37.2-x 0a1b2c3d", "read etcd-$(id)", f"read {_name(1)}/../../secret",
            f"save {_name(2)} 1",
        ):
            with self.subTest(request):
                ran = self.ask(request, data=sealed())
                self.assertNotEqual(0, ran.returncode)
                self.assertEqual(b"", ran.stdout)
        self.assertEqual([_name(1)], self.names())

    def test_a_folder_of_others_is_not_used(self) -> None:
        self.store.mkdir(mode=0o755)
        self.store.chmod(0o755)
        self.assertNotEqual(0, self.save(1))
        self.assertEqual([], self.names())


# Runtimes whose container of a user comes first, and which heed the labels that are asked for.
_DOCKER = """#!/bin/bash
case $1 in
ps)
    case " ${*//label=io.kubernetes./} " in
    *" pod.namespace=kube-system "*" pod.name=$POD "*) printf %s "$IDS" ;;
    *) printf 'ofauser\n%s' "$IDS" ;;
    esac
    ;;
*) shift; echo "$@" ;;
esac
"""
_RUNNING = """#!/bin/bash
case "$3 $4" in
"tasks list") printf 'ofauser\n%s' "$IDS" | sed "s/$/ 7 RUNNING/" ;;
"containers list")
    wanted=${*//labels.\\"io.kubernetes./}
    case ,${wanted##* }, in
    *",pod.name\\"==$POD,pod.namespace\\"==kube-system,") printf 'stopped\n%s' "$IDS" ;;
    *) printf 'ofauser\n%s' "$IDS" ;;
    esac
    ;;
*) shift 6; echo "$@" ;;
esac
"""


class ContainerTest(PayloadTest):
    """A program runs in the static pod's container that runs, whichever the runtime is."""

    def in_container(self, runtime: str, ids: str, node: str = "master-1") -> tuple[int, str]:
        self.program("docker", _DOCKER)
        self.program("ctr", _RUNNING)
        words = ("exec", runtime, node, "etcd", "etcdctl", "a b")
        ran = self.run_script("static-pods", *words, IDS=ids, POD="etcd-master-1")
        return ran.returncode, (ran.stdout + ran.stderr).decode().strip()

    def test_a_users_container_of_the_same_name_is_none(self) -> None:
        for runtime in ("docker", "containerd"):
            with self.subTest(runtime):
                found = self.in_container(runtime, "b722kubeadm\n")
                self.assertEqual((0, "b722kubeadm etcdctl a b"), found)
                # The runtimes of this test do heed the labels.
                self.assertIn("ofauser", self.in_container(runtime, "b7\n", node="other")[1])

    def test_in_container(self) -> None:
        nothing = (1, "no container of the static pod etcd-master-1 runs on the machine")
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
        for name in ("etcd-backup", "backup-store", "static-pods"):
            (self.root / "state" / f"{name}.sh").write_text(self.script(name))
        store = MemoryStore()
        pair = made_pair(0)
        pairs = [{"public": pair.public, "private": pair.private.reveal()}]
        store.save(backup_keys.STORE_KEY, {"pairs": pairs, "signers": {}})
        own = self.run_script("backup-key", str(self.root / f"state/etcd-backup-{NODE}"))
        backup_keys.add_signer(store, NODE, " ".join(own.stdout.decode().split()[:2]))
        self.keys = backup_keys.load(store)
        (self.root / "state/etcd-backup.pem").write_text(self.keys.current.public)
        self.configure()

    def configure(self, server: str = "") -> None:
        values = {
            "INTERVAL": "3600", "KEEP": "2", "FOLDER": str(self.store), "SERVER": server,
            "RUNTIME": "containerd", "NODE": NODE, "KEY": self.keys.current.id,
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
        known = {"etcd-backup.sh", "backup-store.sh", "static-pods.sh", "etcd-backup.conf",
                 "etcd-backup.lock", "etcd-backup.pem", f"etcd-backup-{NODE}",
                 f"etcd-backup-{NODE}.pub"}
        self.assertEqual(set(), left - known)
        left = {path.name for path in (self.root / "var/lib/etcd").iterdir()}
        self.assertEqual({"member"}, left)

    def host(self, *words: str) -> Host:
        """A machine on which scripts of the drivers run for real."""
        case = self

        class Session(FakeSession):
            def run(self, argv: Sequence[str], *, stdin: Any = None, **options: Any) -> Result:
                data = stdin.reveal().encode() if isinstance(stdin, Secret) else b""
                ran = subprocess.run(
                    argv, input=data, capture_output=True,
                    env={"PATH": f"{case.root}/bin:{os.environ['PATH']}"}, timeout=60,
                )
                return Result(ran.returncode, ran.stdout.decode(), ran.stderr.decode())

        return Host(Node("vnfc", "VDU", "server", {}), Session())

    def opened(self, file: Path, keys: BackupKeys | None = None) -> Path:
        """The data of a backup, decrypted."""
        copied, path = self.root / "copied", self.root / "opened"
        copied.write_bytes(file.read_bytes())
        contents = archive.read(self.host(), str(copied), keys or self.keys)
        self.assertEqual(contents, archive.read_file(copied, keys or self.keys))
        archive.decrypt(self.host(), str(copied), contents, str(path))
        self.assertFalse(copied.exists())
        return path

    def test_alarms_of_etcd_are_in_the_journal(self) -> None:
        ran = self.backup("save", ALARMS="memberID:1 alarm:CORRUPT ")
        self.assertIn(b"saved all the same: memberID:1 alarm:CORRUPT", ran.stderr)
        (name,) = self.names()
        self.assertTrue(archive.read_file(self.store / name, self.keys).is_corrupt)

    def test_a_member_without_a_quorum_saves_nothing_by_its_timer(self) -> None:
        """Its data may be old; by hand they may be all that is left of a cluster."""
        words = "reaches no quorum: Error: context deadline exceeded"
        for word, count in (("", 0), ("now", 1)):
            ran = self.backup("save", word, ISOLATED="yes")
            self.assertEqual(count, len(self.names()))
            self.assertEqual(count == 0, ran.returncode != 0)
            self.assertIn(words, ran.stderr.decode())
            self.assert_tidy()

    def test_a_backup_has_the_snapshot_and_its_pki(self) -> None:
        self.assert_saved(self.backup("save"))
        (name,) = self.names()
        key = self.keys.current.id
        self.assertRegex(name, rf"^etcd-2\d{{7}}T\d{{6}}Z-v1\.37\.2-{key}-{NODE}\.tar$")
        with tarfile.open(self.store / name) as file:
            self.assertEqual(list(_MEMBERS), file.getnames())
        with tarfile.open(self.opened(self.store / name)) as file:
            members = {Path(member).as_posix() for member in file.getnames()}
        self.assertEqual({*_PKI, "etcd-backup.db"}, members)
        contents = archive.read_file(self.store / name, self.keys)
        self.assertFalse(contents.is_corrupt)
        told = (contents.release, contents.pod_cidr, contents.service_cidr, contents.node)
        self.assertEqual(("v1.37.2", _TOLD["pod_cidr"], _TOLD["cluster_cidr"], NODE), told)
        self.assertEqual(name, self.backup("list").stdout.decode().strip())

    def test_nothing_of_it_is_in_the_clear(self) -> None:
        self.backup("save")
        (name,) = self.names()
        data = (self.store / name).read_bytes()
        for secret in (b"sa.key", b"front-proxy", b"etcd-backup.db"):
            self.assertNotIn(secret, data)

    def test_a_backup_that_was_changed_is_refused(self) -> None:
        self.backup("save")
        (name,) = self.names()
        whole = (self.store / name).read_bytes()
        stranger = made_pair(1)
        no_signer = BackupKeys(self.keys.pairs, {})
        other_key = BackupKeys({stranger.id: stranger}, self.keys.signers)
        forged = self.forged(whole)
        with tarfile.open(self.store / name) as file:
            place = file.getmember("data.enc").offset_data
        for data, keys, words in (
            (whole.replace(b'"v1.37.2"', b'"v1.37.3"'), self.keys, "signature is not one of node"),
            (whole[:place] + b"other" + whole[place + 5 :], self.keys, "was changed after node"),
            (forged, self.keys, "signature is not one of node"),
            (whole, no_signer, "a node that the VNF has never had"),
            (whole, other_key, "a key that Tacker does not have"),
            (whole[:3000], self.keys, "is not a whole backup"),
            (b"", self.keys, "is not a whole backup"),
        ):
            with self.subTest(words):
                path = self.root / "changed"
                path.write_bytes(data)
                for read in (
                    lambda p, k: archive.read(self.host(), str(p), k), archive.read_file,
                ):
                    with self.assertRaisesRegex(MgmtDriverError, words):
                        read(path, keys)

    def forged(self, whole: bytes) -> bytes:
        """The same backup, signed by somebody else."""
        folder = self.root / "forged"
        folder.mkdir()
        with tarfile.open(fileobj=io.BytesIO(whole)) as file:
            file.extractall(folder, filter="data")
        subprocess.run(
            f"rm manifest.json.sig; ssh-keygen -q -t ed25519 -N '' -f other && "
            "ssh-keygen -q -Y sign -f other -n tacker-etcd-backup manifest.json && "
            f"tar --create --file whole {' '.join(_MEMBERS)}",
            shell=True, cwd=folder, check=True, capture_output=True,
        )
        return (folder / "whole").read_bytes()

    def test_the_interval_is_kept_whoever_saved_last(self) -> None:
        self.backup("save")
        self.assert_saved(self.backup("save"))
        (name,) = self.names()
        (self.store / name).rename(self.store / f"etcd-20261122T010000Z{name[20:]}")
        self.assert_saved(self.backup("save"), count=2)

    def test_another_node_is_relied_on_for_some_time_only(self) -> None:
        self.backup("save")
        (own,) = self.names()
        now = own[5:21]
        other = own.replace(NODE, OTHER)
        (self.store / own).rename(self.store / own.replace(now, "20250101T000000Z"))
        (self.store / other).write_bytes(b"garbage")
        self.assert_saved(self.backup("save"), count=3)

    def test_a_backup_of_the_future_or_of_another_cluster_stops_nothing(self) -> None:
        self.store.mkdir(mode=0o700)
        name = _name(1).replace("0a1b2c3d", self.keys.current.id)
        (self.store / name.replace("2026", "2999").replace(NODE, OTHER)).write_bytes(b"")
        (self.store / name.replace(self.keys.current.id, "00000000")).write_bytes(b"")
        (self.store / "etcd-99999999T999999Z-v1.37.2-x.tar").write_bytes(b"")
        self.assert_saved(self.backup("save"), count=4)

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
            ("no container of the static pod", lambda: None, {"STATE": "STOPPED"}),
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

    def test_what_a_save_that_was_killed_has_left_takes_no_space(self) -> None:
        left = self.root / "var/lib/etcd/etcd-backup.db"
        little = f'[ "$3" != {self.store} ] && [ -e {left} ]'
        self.program("df", f"#!/bin/sh\nif {little}; then echo 3; else echo 999999; fi\n")
        for path in (left, left.with_name("etcd-backup.db.part")):
            path.write_text("half")
        self.assert_saved(self.backup("save"))

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
        self.remove_cluster()
        for _ in range(2):  # also after an interrupted attempt
            ran = self.restore(self.opened(self.store / name), "cat")
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

    def remove_cluster(self) -> None:
        for path in ("etc/kubernetes/pki", "var/lib/etcd/member"):
            subprocess.run(["rm", "-r", str(self.root / path)], check=True)

    def test_the_key_of_the_secrets_is_in_it(self) -> None:
        path = self.root / "etc/kubernetes/pki/encryption.yaml"
        path.write_text("the key")
        self.assert_saved(self.backup("save"))
        (name,) = self.names()
        self.remove_cluster()
        ran = self.restore(self.opened(self.store / name), "cat")
        self.assertEqual((0, b"config"), (ran.returncode, ran.stdout), ran.stderr)
        self.assertEqual(("the key", 0o600), (path.read_text(), stat.S_IMODE(path.stat().st_mode)))

    def test_a_restore_that_fails_runs_nothing(self) -> None:
        self.backup("save")
        (name,) = self.names()
        (self.root / "refuses").touch()
        ran = self.restore(self.opened(self.store / name), "touch", str(self.root / "ran"))
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
