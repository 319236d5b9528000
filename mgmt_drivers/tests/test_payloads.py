"""Shell payloads, run for real, in a folder that plays the machine's root."""

import base64
import contextlib
import functools
import os
import queue
import re
import signal
import socket
import socketserver
import subprocess
import tempfile
import threading
import time
import unittest
from collections.abc import Callable, Sequence
from pathlib import Path

import mgmt_drivers
from mgmt_drivers.cluster.kubeadm import kubeadm
from mgmt_drivers.cluster.nodes import kubectl
from mgmt_drivers.testing import made_certificates
from mgmt_drivers.testing.fake_cluster import cluster
from mgmt_drivers.testing.made_certificates import signed

_FOLDER = Path(mgmt_drivers.__file__).parent
_SCRIPT = (_FOLDER / "cluster/kubeadm/run-kubeadm.sh").read_text()
# Notes how it was called; an init that breaks off leaves what a real one does.
_KUBEADM = """#!/bin/sh
echo "$1" >>"$ROOT/ran"
case $1 in
reset)
    [ ! -e "$ROOT/etc/kubernetes/admin.conf" ] || touch "$ROOT/knows-the-cluster"
    rm -rf "$ROOT/etc/kubernetes" "$ROOT/var/lib/etcd" "$ROOT/logins"
    ;;
*)
    mkdir -p "$ROOT/etc/kubernetes" "$ROOT/var/lib/etcd/member"
    cat >"$ROOT/config"
    cp --preserve "$ROOT/run/tacker-mgmt-drivers-discovery.conf" "$ROOT/given" 2>/dev/null
    touch "$ROOT/etc/kubernetes/kubelet.conf"
    [ ! -e "$ROOT/breaks" ]
    ;;
esac
"""


class ChangeKeysTest(unittest.TestCase):
    """The keys of a login user, among whose lines are others."""

    def test_a_key_is_added_and_removed_as_its_own_line(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            text = (_FOLDER / "cluster/access/change-keys.sh").read_text()

            def change(*words: str) -> str:
                environment = {"HOME": folder, "PATH": os.environ["PATH"]}
                command = ["sh", "-c", text, "change-keys", *words]
                subprocess.run(command, env=environment, check=True, timeout=60)
                return keys.read_text()

            keys = Path(folder, ".ssh/authorized_keys")
            self.assertEqual("ssh-ed25519 AAAAnew\n", change("add", "ssh-ed25519 AAAAnew"))
            others = "# of people\nssh-rsa AAAAother a b\nssh-ed25519 AAAAoldest\n"
            keys.write_text(f'from="192.0.2.1" ssh-ed25519 AAAAold me\n{others}')
            new = "ssh-ed25519 AAAAnew\n"
            self.assertIn(" AAAAold me\n", change("add", new.strip()))
            self.assertEqual(others + new, change("remove", "ssh-ed25519 AAAAold"))
            self.assertEqual(others + new, change("add", new.strip()))
            self.assertEqual(0o600, keys.stat().st_mode & 0o777)
            self.assertEqual(0o700, keys.parent.stat().st_mode & 0o777)


class IssueApiCertificateTest(unittest.TestCase):
    """A kubeadm that keeps a certificate which it finds, as the real one does."""

    def issue(self, root: Path, fails: str = "") -> int:
        program = root / "bin/kubeadm"
        program.parent.mkdir(exist_ok=True)
        program.write_text(
            "#!/bin/bash\nconfig=$(cat)\nfolder=${config##*certificatesDir: }\n"
            '[ -e "$folder/ca.key" ] && [ ! -e "$folder/apiserver.crt" ] || exit 3\n'
            f"{fails}\n"
            'echo "$config" | head -1 >"$folder/apiserver.crt"; echo key >"$folder/apiserver.key"'
        )
        program.chmod(0o755)
        text = (_FOLDER / "cluster/kubeadm/issue-api-certificate.sh").read_text()
        ran = subprocess.run(
            ["bash", "-c", text.replace("/etc/kubernetes", str(root))], text=True, timeout=60,
            env={"PATH": f"{root}/bin:{os.environ['PATH']}"}, input="kind: ClusterConfiguration\n",
        )
        return ran.returncode

    def test_the_old_one_is_replaced_when_the_new_one_is_there(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            pki = Path(folder, "pki")
            pki.mkdir()
            for name in ("ca.crt", "ca.key", "apiserver.crt", "apiserver.key"):
                (pki / name).write_text("old")
            self.assertEqual(9, self.issue(Path(folder), "exit 9"))
            self.assertEqual("old", (pki / "apiserver.crt").read_text())
            self.assertEqual(0, self.issue(Path(folder)))
            self.assertEqual(
                ("kind: ClusterConfiguration\n", "key\n"),
                ((pki / "apiserver.crt").read_text(), (pki / "apiserver.key").read_text()),
            )
            self.assertEqual({"pki", "bin"}, {path.name for path in Path(folder).iterdir()})


class LeaveOutTest(unittest.TestCase):
    """A socket that answers as HAProxy's does, line by line, and notes what it is told."""

    answer = b"\n"

    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = f"{folder.name}/admin.sock"
        self.states = {"master-1": "UP", "master-2": "UP 1/3", "BACKEND": "UP"}
        told = self.told = queue.Queue[str]()
        states, answer = self.states, self.answer

        class Answer(socketserver.StreamRequestHandler):
            def handle(self) -> None:
                line = self.rfile.readline().decode().strip()
                if line != "show stat":
                    told.put(line)
                    self.wfile.write(answer)
                    return
                lines = (f"apiservers,{name}{',' * 16}{states[name]},1\n" for name in states)
                self.wfile.write("".join(["# pxname,svname\n", *lines, "\n"]).encode())

        server = socketserver.UnixStreamServer(self.path, Answer)
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        threading.Thread(target=server.serve_forever, args=(0.05,)).start()

    def run_script(self, verb: str, *words: str) -> "subprocess.CompletedProcess[str]":
        script = (_FOLDER / "cluster/load_balancer/leave-out.sh").read_text()
        command = ["bash", "-c", script, "leave-out", verb, self.path, *words]
        return subprocess.run(command, capture_output=True, text=True, timeout=60)

    def list_told(self) -> list[str]:
        return [self.told.get() for _ in range(self.told.qsize())]

    def leave_out(self, *words: str) -> list[str]:
        ran = self.run_script(*words)
        self.assertEqual((0, "", ""), (ran.returncode, ran.stdout, ran.stderr))
        return self.list_told()

    def assert_nothing_to_tell(self, *words: str) -> None:
        ran = self.run_script(*words)
        self.assertEqual((1, "", ""), (ran.returncode, ran.stdout, ran.stderr))
        self.assertEqual([], self.list_told())

    def test_out_and_in(self) -> None:
        out = "set server apiservers/master-1 state"
        self.assertEqual([f"{out} drain"], self.leave_out("out", "master-1", "drain"))
        sessions = "shutdown sessions server apiservers/master-1"
        self.assertEqual([f"{out} maint", sessions], self.leave_out("out", "master-1", "maint"))
        self.assertEqual([f"{out} ready"], self.leave_out("in", "master-1"))

    def test_the_last_apiserver_stays(self) -> None:
        for state in ("DOWN", "DOWN 1/2", "MAINT", "DRAIN", "NOLB"):
            self.states["master-2"] = state
            self.assert_nothing_to_tell("out", "master-1", "maint")
        self.assertEqual(2, len(self.leave_out("out", "master-2", "maint")))

    def test_the_end_of_the_operation(self) -> None:
        """The guard outlives the command that begins it, and takes no session meanwhile."""
        lock = f"{self.path}.lock"
        operation = subprocess.Popen(
            ["flock", lock, "sh", "-c", "echo held; cat"], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, text=True,
        )
        assert operation.stdin and operation.stdout
        self.addCleanup(operation.stdout.close)
        self.assertEqual("held\n", operation.stdout.readline())
        self.assertEqual([], self.leave_out("guard", lock))
        operation.stdin.close()
        self.assertEqual(0, operation.wait(60))
        told = [self.told.get(timeout=60) for _ in range(2)]
        self.assertEqual([f"set server apiservers/master-{n} state ready" for n in (1, 2)], told)

    def test_a_configuration_of_earlier_drivers(self) -> None:
        self.path += ".other"
        for words in (("out", "master-1", "maint"), ("in", "master-1"), ("guard", "lock")):
            self.assert_nothing_to_tell(*words)

    def test_a_haproxy_that_does_not_answer(self) -> None:
        """Such as a socket that the package's own configuration has left behind."""
        self.path += ".left"
        with socket.socket(socket.AF_UNIX) as left:
            left.bind(self.path)
        for words in (("out", "master-1", "maint"), ("in", "master-1"), ("guard", "lock")):
            ran = self.run_script(*words)
            self.assertEqual(1, ran.returncode)
            self.assertRegex(ran.stderr, f"^no answer at {self.path}: .*refused\n$")

    def test_a_haproxy_that_does_not_obey(self) -> None:
        with self.assertRaisesRegex(AssertionError, "state maint: No such server"):
            self.answer = b"No such server.\n\n"
            self.setUp()
            self.leave_out("out", "master-1", "maint")


class SetConntrackTest(unittest.TestCase):
    """A kernel whose module shows its limits once it is loaded."""

    def ask(self, modprobe: str) -> int:
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder)
            program = root / "modprobe"
            program.write_text(f"#!/bin/sh\n[ $1 = nf_conntrack ] || exit\n{modprobe}")
            program.chmod(0o755)
            text = (_FOLDER / "cluster/kubeadm/set-conntrack.sh").read_text()
            text = re.sub("/(proc|sys)/[a-z_/]*/", f"{root}/", text)
            path = {"PATH": f"{root}:{os.environ['PATH']}"}
            ran = subprocess.run(["sh", "-c", text], env=path, capture_output=True, timeout=60)
            return ran.returncode

    def test_the_module_is_loaded_first(self) -> None:
        limits = 'cd "${0%/*}"; echo 65536 >nf_conntrack_max; echo 1 >hashsize\n'
        self.assertEqual(0, self.ask(limits))
        self.assertNotEqual(0, self.ask("exit 1"))


class DropMetadataTest(unittest.TestCase):
    """Programs of the machine that note their arguments and input, or fail."""

    def run_with(self, **programs: str) -> tuple[int, str]:
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder)
            for name, text in programs.items():
                (root / name).write_text(f"#!/bin/sh\n{text}\n")
                (root / name).chmod(0o755)
            (root / "cat").symlink_to("/bin/cat")
            (root / "noted").touch()
            text = (_FOLDER / "cluster/pod_network/drop-metadata.sh").read_text()
            env = {"PATH": folder, "NOTED": str(root / "noted")}
            ran = subprocess.run(["/bin/sh", "-c", text], env=env, timeout=60, check=False)
            return ran.returncode, (root / "noted").read_text()

    def test_nftables_in_a_table_of_its_own(self) -> None:
        status, noted = self.run_with(nft='{ echo "$@"; cat; } >>"$NOTED"', iptables="exit 1")
        self.assertEqual(0, status)
        self.assertTrue(noted.startswith("-f -\ntable ip tacker-metadata\ndelete table"), noted)
        self.assertIn("hook forward priority 0\n        ip daddr 169.254.169.254 drop", noted)

    def test_iptables_once(self) -> None:
        """Without nft, or where the kernel does not know nft."""
        has = 'echo "$@" >>"$NOTED"; [ "$4" = --append ] || exit '
        for others in ({}, {"nft": "exit 1"}):
            for is_there in (0, 1):
                status, noted = self.run_with(iptables=f"{has}{is_there}", **others)
                rule = "FORWARD --destination 169.254.169.254 --jump DROP\n"
                verbs = ["check", "append"][: 1 + is_there]
                lines = [f"--wait --table mangle --{verb} {rule}" for verb in verbs]
                self.assertEqual((0, "".join(lines)), (status, noted))

    def test_a_machine_with_neither(self) -> None:
        self.assertNotEqual(0, self.run_with()[0])


class GiveKubeconfigTest(unittest.TestCase):
    """With stand-ins for what looks up a user, and acts as one."""

    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)
        (self.root / "bin").mkdir()
        (self.root / "home").mkdir()
        getent = f"#!/bin/sh\necho me:x:1:1::{self.root}/home:/bin/sh\n"
        for name, text in (
            ("getent", getent),
            ("runuser", f'#!/bin/sh\n[ "$2" = me ] && [ ! -e {self.root}/breaks ] || exit 1\n'
                        'shift 3\nexec "$@"\n'),
        ):
            (self.root / "bin" / name).write_text(text)
            (self.root / "bin" / name).chmod(0o755)
        self.admin = self.root / "admin.conf"
        self.admin.write_text("first")
        self.copy = self.root / "home/.kube/config"

    def give(self) -> str:
        text = (_FOLDER / "cluster/access/give-kubeconfig.sh").read_text()
        text = text.replace("/etc/kubernetes/admin.conf", str(self.admin))
        done = subprocess.run(
            ["sh", "-c", text, "give-kubeconfig", str(self.root / "copies")],
            env={"PATH": f"{self.root}/bin:{os.environ['PATH']}", "SUDO_USER": "me"},
            text=True, capture_output=True, timeout=60,
        )
        return done.stdout.strip() or f"exit status {done.returncode}"

    def test_it_is_copied_for_the_user_alone_and_renewed(self) -> None:
        self.assertEqual(["changed", "unchanged"], [self.give(), self.give()])
        self.assertEqual("first", self.copy.read_text())
        self.assertEqual(0o600, self.copy.stat().st_mode & 0o777)
        self.assertEqual(0o700, self.copy.parent.stat().st_mode & 0o777)
        self.admin.write_text("renewed")
        self.assertEqual("changed", self.give())
        self.assertEqual("renewed", self.copy.read_text())

    def test_the_users_own_stays(self) -> None:
        self.copy.parent.mkdir()
        self.copy.write_text("own")
        self.assertEqual("kept", self.give())
        self.assertEqual("own", self.copy.read_text())

    def test_a_copy_that_was_broken_off_is_tried_again(self) -> None:
        self.assertEqual("changed", self.give())
        self.admin.write_text("renewed")
        (self.root / "breaks").touch()
        self.assertEqual("exit status 1", self.give())
        (self.root / "breaks").unlink()
        self.assertEqual("changed", self.give())
        self.assertEqual("renewed", self.copy.read_text())

    def test_a_user_without_a_home_gets_none(self) -> None:
        (self.root / "home").rmdir()
        self.assertEqual("kept", self.give())


class RunKubeadmTest(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)
        for path in ("bin", "etc", "run", "var/lib/etcd", "state"):
            (self.root / path).mkdir(parents=True)
        self.marker = self.root / "state/member-server-1"
        for name, text in (("kubeadm", _KUBEADM), ("systemctl", ""), ("ip", "")):
            (self.root / "bin" / name).write_text(text or "#!/bin/sh\n")
            (self.root / "bin" / name).chmod(0o755)

    def run_kubeadm(self, verb: str) -> subprocess.CompletedProcess[str]:
        text = _SCRIPT
        for path in ("/etc/kubernetes", "/etc/cni", "/run/", "/var/lib"):
            text = text.replace(path, f"{self.root}{path}")
        words = ["socket", str(self.marker), str(self.root / "logins"), verb, "kubeadm", verb]
        environment = {"PATH": f"{self.root}/bin:{os.environ['PATH']}", "ROOT": str(self.root)}
        return subprocess.run(
            ["bash", "-c", text, "run-kubeadm", *words],
            env=environment, text=True, stderr=subprocess.PIPE, timeout=60,
            input="kubeconfig: 1\n---\nconfig: 2\n---\nmore: 3\n",
        )

    def ran(self) -> list[str]:
        return (self.root / "ran").read_text().split()

    def test_a_member_is_left_alone(self) -> None:
        for _ in range(2):
            self.assertEqual(0, self.run_kubeadm("init").returncode)
        self.assertEqual(["init"], self.ran())

    def test_no_lock_lies_where_everybody_may_write(self) -> None:
        for path in Path(mgmt_drivers.__file__).parent.rglob("*"):
            if path.suffix in (".py", ".sh") and not {"tests", "testing"} & {*path.parts}:
                self.assertNotIn('"/run/lock', path.read_text(), path)
                self.assertNotIn(">/run/lock", path.read_text(), path)

    def test_an_init_that_was_broken_off_is_begun_anew(self) -> None:
        (self.root / "breaks").touch()
        self.assertNotEqual(0, self.run_kubeadm("init").returncode)
        (self.root / "breaks").unlink()
        self.assertEqual(0, self.run_kubeadm("init").returncode)
        self.assertEqual(["init", "reset", "init"], self.ran())

    def test_a_cluster_whose_mark_is_lost_is_not_reset_for_an_init(self) -> None:
        self.run_kubeadm("init")
        (self.marker).unlink()
        refused = self.run_kubeadm("init")
        self.assertEqual(1, refused.returncode)
        self.assertIn("nothing was reset", refused.stderr)
        self.assertEqual(["init"], self.ran())
        self.assertTrue((self.root / "var/lib/etcd/member").exists())

    def test_data_of_etcd_alone_are_enough_to_refuse_an_init(self) -> None:
        """A backup would be laid over them."""
        (self.root / "var/lib/etcd/member").mkdir()
        refused = self.run_kubeadm("init")
        self.assertEqual(1, refused.returncode)
        self.assertIn("nothing was reset", refused.stderr)
        self.assertFalse((self.root / "ran").exists())

    def test_what_a_join_left_is_not_reset_for_an_init(self) -> None:
        (self.root / "breaks").touch()
        self.run_kubeadm("join")
        self.assertEqual(1, self.run_kubeadm("init").returncode)
        self.assertEqual(["join"], self.ran())

    def test_a_machine_that_joins_is_reset(self) -> None:
        """The others have a quorum without it, as was seen before."""
        self.run_kubeadm("join")
        (self.marker).unlink()
        self.assertEqual(0, self.run_kubeadm("join").returncode)
        self.assertEqual(["join", "reset", "join"], self.ran())

    def test_the_image_was_made_from_a_node(self) -> None:
        """A reset must not know the cluster of that node, whose member of etcd it would remove."""
        for other, verbs in (("member-server-10", ("init", "join")), ("member", ("join",))):
            for verb in verbs:
                self.run_kubeadm(verb)
                self.marker.rename(self.root / "state" / other)
                (self.root / "etc/kubernetes/admin.conf").touch()
                (self.root / "ran").unlink()
                self.assertEqual(0, self.run_kubeadm(verb).returncode)
                self.assertEqual(["reset", verb], self.ran())
                self.assertEqual([self.marker], [*(self.root / "state").glob("member*")])
                self.assertFalse((self.root / "knows-the-cluster").exists())
                self.run_kubeadm("reset")

    def test_a_node_of_earlier_drivers_leaves(self) -> None:
        self.run_kubeadm("join")
        self.marker.rename(self.root / "state/member")
        self.assertEqual(0, self.run_kubeadm("reset").returncode)
        self.assertEqual([], [*(self.root / "state").glob("member*")])
    def test_a_join_has_a_kubeconfig_for_root_alone_while_it_runs(self) -> None:
        for breaks in (True, False):
            (self.root / "breaks").touch() if breaks else (self.root / "breaks").unlink()
            self.run_kubeadm("join")
            self.assertEqual("kubeconfig: 1\n", (self.root / "given").read_text())
            self.assertEqual(0o600, (self.root / "given").stat().st_mode & 0o777)
            self.assertEqual("config: 2\n---\nmore: 3\n", (self.root / "config").read_text())
            self.assertEqual([], [*(self.root / "run").iterdir()])

    def test_a_member_that_leaves_is_reset(self) -> None:
        """The logins stay, for a machine that joins again is not configured anew."""
        logins = self.root / "logins"
        logins.write_text("{}")
        self.run_kubeadm("join")
        for _ in range(2):
            self.assertEqual(0, self.run_kubeadm("reset").returncode)
            self.assertFalse((self.marker).exists())
            self.assertEqual("{}", logins.read_text())
        self.run_kubeadm("join")
        self.assertEqual(["join", "reset", "join"], self.ran())


class ValidateConfigTest(unittest.TestCase):
    """kubeadm validates the configurations at the beginning of the standard input."""

    def run_script(self, number: int, given: str) -> subprocess.CompletedProcess[str]:
        text = (_FOLDER / "cluster/kubeadm/validate-config.sh").read_text()
        with tempfile.TemporaryDirectory() as folder:
            program = Path(folder, "kubeadm")
            program.write_text(
                '#!/bin/sh\nset -e\n[ "$*" = "config validate --config /dev/stdin" ]\n'
                'text=$(cat)\necho "validates $text" >&2\n! echo "$text" | grep -q bad\n'
            )
            program.chmod(0o755)
            return subprocess.run(
                ["bash", "-c", text, "validate-config", str(number), "cat"], input=given,
                env={"PATH": f"{folder}:{os.environ['PATH']}"}, text=True, timeout=60,
                capture_output=True,
            )

    def test_the_command_gets_the_rest(self) -> None:
        ran = self.run_script(2, "one: 1\n---\nmore: 1\n...\ntwo: 2\n...\nfor: init\n---\nx: y\n")
        self.assertEqual((0, "for: init\n---\nx: y\n"), (ran.returncode, ran.stdout))
        self.assertEqual("validates one: 1\n---\nmore: 1\nvalidates two: 2\n", ran.stderr)

    def test_the_command_does_not_run(self) -> None:
        for given in ("bad: 1\n...\ntwo: 2", "one: 1\n...\nbad: 2"):
            ran = self.run_script(2, f"{given}\n...\nfor: init\n")
            self.assertEqual((1, ""), (ran.returncode, ran.stdout))
            self.assertIn("kubeadm refuses a kubelet_config", ran.stderr)


class ProxyOfTheImageTest(unittest.TestCase):
    """Ubuntu's sudo passes the variables of /etc/environment on to commands."""

    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)
        for path in ("bin", "etc/kubernetes/pki", "run", "var/lib/tacker-mgmt-drivers"):
            (self.root / path).mkdir(parents=True)
        (self.root / "etc/kubernetes/pki/ca.crt").touch()
        for name in ("kubeadm", "kubectl"):
            program = self.root / "bin" / name
            program.write_text(f'#!/bin/sh\n{{ echo "{name} $*"; env; }} >>"$ROOT/ran"\n')
            program.chmod(0o755)
        self.made, sessions = cluster(masters=3)
        self.session = sessions[self.made.name(self.made.leader)]

    def assert_direct(self, argv: Sequence[str], *wanted: str) -> None:
        """Run a command: it runs the wanted programs, and no program has a proxy."""
        own = re.compile("/(etc/kubernetes|run/|var/lib)")
        words = [own.sub(rf"{self.root}/\1", word) for word in argv]
        environment = {"PATH": f"{self.root}/bin:{os.environ['PATH']}", "ROOT": str(self.root)}
        for name in ("HTTPS_PROXY", "https_proxy", "No_Proxy", "ftp_proxy", "PROXY_OF"):
            environment[name] = "http://proxy:3128"
        subprocess.run(words, env=environment, input=b"", timeout=60, check=True)
        shown = (self.root / "ran").read_text()
        (self.root / "ran").unlink()
        for program in wanted:
            self.assertRegex(shown, f"(?m)^{program}")
        self.assertNotRegex(shown, "(?im)_proxy=")
        self.assertIn("PROXY_OF=http", shown)

    def test_init_and_reset(self) -> None:
        leader = self.made.leader
        self.session.expect_control_plane_files()
        self.session.expect("sudo", "kubeadm", "version", stdout="v1.20.2")
        self.session.expect("sudo", "run-kubeadm")
        kubeadm.init(
            leader, self.made, with_dns=True, validates=True, sets_conntrack=True,
            has_iptables=True,
        )
        argv = self.session.commands[-1]
        begin = argv[: argv.index("init") + 1]
        self.assert_direct([*begin, "kubeadm", "init"], "kubeadm reset", "kubeadm init")

    def test_join_credentials(self) -> None:
        new = self.made.hosts[1]
        serving = made_certificates.serving(self.made.name(new), self.made.address(new))
        self.session.expect("sudo", "read-file", "/etc/kubernetes/pki/encryption.yaml")
        self.session.expect("sudo", "kubeadm", "version", stdout="v1.20.2")
        self.session.expect("sudo", "create-token", stdout=f"\n---\n{serving}---\n")
        self.session.expect("sudo", "kubeadm", "init", "phase", "upload-certs")
        kubeadm.create_join_credentials(self.made.leader, self.made, [new])
        *_, create, upload = self.session.commands
        begin = create[: create.index("tacker-mgmt-drivers") + 1]
        self.assert_direct([*begin, "true"], "kubectl .* delete", "kubeadm token create")
        self.assert_direct(upload, "kubeadm init phase upload-certs")

    def test_upgrade_and_renewal(self) -> None:
        self.session.expect_control_plane_files()
        self.session.expect("sudo", "waking-kubelet")
        kubeadm.upgrade_node(self.made.leader, self.made)
        self.assert_direct(self.session.commands[-1], "kubeadm upgrade node")
        self.session.expect("sudo", "flock")
        kubeadm.renew_certificates(self.made.leader)
        self.assert_direct(self.session.commands[-1], "kubeadm certs renew all")

    def test_whether_an_apiserver_is_ready(self) -> None:
        self.session.expect("sudo", "kubectl", stdout="ok")
        kubectl.wait_for_api(self.made.leader, "192.0.2.100", 16443, 1.0)
        self.assert_direct(self.session.commands[-1], "kubectl .* https://192.0.2.100:16443 ")


class CreateTokenTest(unittest.TestCase):
    """Credentials that killed joins have left are revoked, and nobody else's tokens."""

    def test_own_tokens_are_revoked(self) -> None:
        own, other = (base64.b64encode(word.encode()).decode() for word in ("ours", "ours too"))
        listed = f"bootstrap-token-a {own}\nbootstrap-token-b \nbootstrap-token-c {other}\n"
        kubectl = f"""#!/bin/sh
case "$*" in
*" delete "*) echo "${{@#*admin.conf}}" >>"$ROOT/deleted" ;;
*" get secrets "*) printf '{listed}' ;;
*" get secret "*) printf bootstrap-token-owner ;;
esac
"""
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder)
            (root / "ca.crt").write_text("CA\n")
            for name, text in (("kubectl", kubectl), ("kubeadm", "#!/bin/sh\ncat\n")):
                (root / name).write_text(text)
                (root / name).chmod(0o755)
            text = (_FOLDER / "cluster/kubeadm/create-token.sh").read_text()
            text = text.replace("/etc/kubernetes/pki/ca.crt", str(root / "ca.crt"))
            done = subprocess.run(
                ["sh", "-c", text, "create-token", "ours", "echo", "issued"], input="config",
                env={"PATH": f"{root}:{os.environ['PATH']}", "ROOT": folder},
                text=True, capture_output=True, timeout=60, check=True,
            )
            deleted = (root / "deleted").read_text()
        self.assertEqual("CA\n\n---\nissued\n", done.stdout)
        names = [word for word in deleted.split() if word.startswith(("boot", "kubeadm"))]
        self.assertEqual(["kubeadm-certs", "bootstrap-token-a", "bootstrap-token-owner"], names)


class PrepareSnapshotTest(unittest.TestCase):
    def test_leftovers_go_and_the_space_is_checked(self) -> None:
        text = (_FOLDER / "cluster/etcd/prepare-snapshot.sh").read_text()
        for free, status in ((21, 0), (19, 1)):
            with tempfile.TemporaryDirectory() as folder:
                root = Path(folder)
                (root / "member/snap").mkdir(parents=True)
                (root / "member/snap/db").write_text("0123456789")
                (root / "s.db.part").write_text("part")
                (root / "df").write_text(f"#!/bin/sh\necho Avail\necho {free}\n")
                (root / "df").chmod(0o755)
                done = subprocess.run(
                    ["sh", "-c", text, "prepare-snapshot", folder, "s.db", folder],
                    env={"PATH": f"{root}:{os.environ['PATH']}"},
                    text=True, capture_output=True, timeout=60,
                )
                self.assertFalse((root / "s.db.part").exists())
            self.assertEqual(status, done.returncode)
            self.assertEqual("too little space" in done.stderr, status == 1)


class MeasureSyncsTest(unittest.TestCase):
    def test_a_folder_that_does_not_exist_yet(self) -> None:
        text = (_FOLDER / "cluster/etcd/measure-syncs.sh").read_text()
        with tempfile.TemporaryDirectory() as folder:
            words = ["bash", "-c", text, "measure-syncs", f"{folder}/lib/etcd"]
            told = subprocess.run(words, capture_output=True, text=True, timeout=60)
            self.assertRegex(told.stdout, "^[0-9]+[.][0-9]\n$", told.stderr)
            self.assertEqual([], [*Path(folder).iterdir()])


class DescribeMachineTest(unittest.TestCase):
    def test_whom_the_machine_must_reach(self) -> None:
        """The parent has the variable, as sudo has; the script itself has not."""
        text = (_FOLDER / "machine/describe-machine.sh").read_text()
        with tempfile.TemporaryDirectory() as folder:
            servers = Path(folder, "resolv.conf")
            servers.write_text("# nameserver 9.9.9.9\nnameserver\t192.0.2.53 \nsearch x\n")
            text = text.replace("/etc/resolv.conf", str(servers)).replace("/run/systemd", folder)
            words = ["sh", "-c", "env -u SSH_CONNECTION sh -c \"$@\"; :", "sudo", text, "x", folder]
            done = subprocess.run(
                words, capture_output=True, timeout=60, text=True, check=True,
                env={**os.environ, "SSH_CONNECTION": "203.0.113.9 50000 192.0.2.1 22"},
            )
        system, notes, peers, release = done.stdout.split("\n\n", 3)
        self.assertRegex(system, "^(cloud-init|none)\n[a-z0-9]+$")
        self.assertEqual("resolv.conf\n.", notes)
        self.assertEqual("client 203.0.113.9\nnameserver 192.0.2.53\n.", peers)
        self.assertIn("ID=", release)


class RestartKubeletTest(unittest.TestCase):
    def test_kubelet_restarts_after_its_files_are_seen_to(self) -> None:
        text = (_FOLDER / "cluster/upgrade/restart-kubelet.sh").read_text()
        for status, ran in ((0, "seen\ndaemon-reload\nrestart kubelet\n"), (3, "seen\n")):
            with tempfile.TemporaryDirectory() as folder:
                systemctl = Path(folder, "systemctl")
                systemctl.write_text('#!/bin/sh\necho "$@"\n')
                systemctl.chmod(0o755)
                first = ("sh", "-c", f"echo seen; exit {status}")
                done = subprocess.run(
                    ["sh", "-c", text, "restart-kubelet", *first], timeout=60, text=True,
                    env={"PATH": f"{folder}:{os.environ['PATH']}"}, capture_output=True,
                )
            self.assertEqual((status, ran), (done.returncode, done.stdout))


class ApplyUnitTest(unittest.TestCase):
    def test_a_unit_reads_its_files(self) -> None:
        """A unit of a package is enabled, and systemd knows it."""
        text = (_FOLDER / "machine/apply-unit.sh").read_text()
        own, packages = "/etc/systemd/system/own.timer", "/etc/haproxy/haproxy.cfg"
        reload, enable = "daemon-reload\n", "enable --quiet x\n"
        for path, is_enabled, ran in (
            (own, False, enable), (own, True, reload),
            (packages, False, enable), (packages, True, ""),
        ):
            with self.subTest(path, is_enabled=is_enabled), tempfile.TemporaryDirectory() as folder:
                pending, systemctl = Path(folder, "pending"), Path(folder, "systemctl")
                status = 0 if is_enabled else 1
                systemctl.write_text(
                    f'#!/bin/sh\n[ "$1" != is-enabled ] || exit {status}\necho "$@"\n'
                    f"[ -e {pending} ] || echo no marker\n"
                )
                systemctl.chmod(0o755)
                words = ("apply-unit", "x", str(pending), "echo", "written", path)
                done = subprocess.run(
                    ["sh", "-c", text, *words], timeout=60, text=True, check=True,
                    env={"PATH": f"{folder}:{os.environ['PATH']}"}, capture_output=True,
                )
                expected = f"written {path}\n{ran}reload-or-restart x\n"
                self.assertEqual((expected, False), (done.stdout, pending.exists()))


class LeadKubeletTest(unittest.TestCase):
    def test_kubelet_leaves_an_apiserver_that_is_to_be_upgraded(self) -> None:
        text = (_FOLDER / "cluster/kubeadm/lead-kubelet.sh").read_text()
        own, all_ = "https://10.0.0.5:6443", "https://10.0.0.9:16443"
        for release, server, ran in (("v1.37.2", all_, "restart kubelet\n"), ("v1.36.3", own, "")):
            with self.subTest(release), tempfile.TemporaryDirectory() as folder:
                conf, manifest, systemctl = (Path(folder, n) for n in ("conf", "pod", "systemctl"))
                conf.write_text(f"clusters:\n- cluster:\n    server: {own}\n  name: c\n")
                manifest.write_text("  - image: registry:5000/kube-apiserver:v1.36.3\n")
                systemctl.write_text('#!/bin/sh\necho "$@"\n')
                systemctl.chmod(0o755)
                words = ("lead-kubelet", str(conf), "10.0.0.9:16443", str(manifest), release)
                done = subprocess.run(
                    ["sh", "-c", text, *words], timeout=60, text=True, check=True,
                    env={"PATH": f"{folder}:{os.environ['PATH']}"}, capture_output=True,
                )
                self.assertEqual(ran, done.stdout)
                expected = f"clusters:\n- cluster:\n    server: {server}\n  name: c\n"
                self.assertEqual(expected, conf.read_text())


class WakingKubeletTest(unittest.TestCase):
    """With a stand-in for kubectl, which says that it ran."""

    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.woken = Path(self.folder, "woken")

    def start(
        self, command: str, kubectl: str = "exit 1", prepare: Callable[[], object] | None = None
    ) -> subprocess.Popen[bytes]:
        path = Path(self.folder, "kubectl")
        path.write_text(f'#!/bin/sh\necho "$@" >>{self.woken}\n{kubectl}\n')
        path.chmod(0o755)
        text = (_FOLDER / "cluster/kubeadm/waking-kubelet.sh").read_text()
        conf = f"{self.folder}/admin.conf"
        words = ("waking-kubelet", conf, "node1", "woken", "sh", "-c", command)
        started = subprocess.Popen(
            ["sh", "-c", text, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            env={"PATH": f"{self.folder}:{os.environ['PATH']}"}, preexec_fn=prepare,
            start_new_session=True,
        )
        self.addCleanup(self.end, started)
        return started

    def end(self, started: subprocess.Popen[bytes]) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(started.pid, signal.SIGKILL)
        started.communicate()

    def assert_ended(self) -> None:
        """No loop is left."""
        command = ["pgrep", "--full", f"{self.folder}/admin.conf"]
        deadline = time.monotonic() + 30
        while subprocess.run(command, stdout=subprocess.DEVNULL).returncode == 0:
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.1)

    def until_woken(self) -> str:
        return f"until grep -qs node1 {self.woken}; do sleep 0.1; done"

    def test_kubelet_is_woken_while_a_command_runs(self) -> None:
        started = self.start(f"{self.until_woken()}; exit 7")
        self.assertEqual((b"", b""), started.communicate(timeout=60))
        self.assertEqual(7, started.returncode)
        self.assertRegex(self.woken.read_text(), r"^(--kubeconfig \S+admin.conf .* woken=\d+\n)+$")
        self.assert_ended()

    def test_a_loop_that_has_died_changes_nothing(self) -> None:
        command = f"{self.until_woken()}; sleep 0.5; echo why >&2; exit 3"
        started = self.start(command, "kill -s KILL $PPID")
        self.assertEqual((b"", b"why\n"), started.communicate(timeout=60))
        self.assertEqual(3, started.returncode)

    def test_the_loop_ends_if_sigterm_is_ignored(self) -> None:
        ignore = functools.partial(signal.signal, signal.SIGTERM, signal.SIG_IGN)
        started = self.start("exit 0", prepare=ignore)
        self.assertEqual(0, started.wait(timeout=60))
        self.assert_ended()

    def test_the_loop_ends_with_its_shell(self) -> None:
        started = self.start(f"{self.until_woken()}; exec sleep 60")
        deadline = time.monotonic() + 30
        while not self.woken.exists():
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.1)
        started.kill()
        started.wait()
        self.assert_ended()


class NamesNodeTest(unittest.TestCase):
    def test_names(self) -> None:
        text = (_FOLDER / "cluster/kubeadm/names-node.sh").read_text()
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "kubelet.pem")
            path.write_bytes(signed("system:node:worker-0123456789ab").certificate)
            for name, short_id, is_named in (
                (path, "0123456789ab", True), (path, "3456789ab", False),
                (path, "0123456789", False), (Path(folder, "none"), "0123456789ab", False),
            ):
                words = ["sh", "-c", text, "names-node", str(name), short_id]
                done = subprocess.run(words, capture_output=True, timeout=60)
                self.assertEqual(is_named, done.returncode == 0, (name, short_id))
class WaitForCloudInitTest(unittest.TestCase):
    """With a stand-in for cloud-init, and for the files by which a reboot is announced."""

    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)
        for path in ("bin", "proc/7", "run/cloud-init", "run/systemd/shutdown"):
            (self.root / path).mkdir(parents=True)
        for name, text in (
            ("cloud-init", 'echo "$@" >>"$ROOT/ran"'),
            ("systemctl", 'cat "$ROOT/state"'),
            ("sleep", 'echo slept >>"$ROOT/ran"; rm -f "$ROOT"/run/*/*/* "$ROOT/proc/7/cmdline"; '
                      'echo running >"$ROOT/state"'),
        ):
            (self.root / "bin" / name).write_text(f"#!/bin/sh\n{text}\n")
            (self.root / "bin" / name).chmod(0o755)
        (self.root / "state").write_text("starting\n")

    def ran(self) -> str:
        text = (_FOLDER / "setup/wait-for-cloud-init.sh").read_text()
        text = text.replace("/run/", f"{self.root}/run/").replace("/proc/", f"{self.root}/proc/")
        subprocess.run(
            ["bash", "-c", text, "wait-for-cloud-init"], timeout=60, stderr=subprocess.DEVNULL,
            env={"PATH": f"{self.root}/bin:{os.environ['PATH']}", "ROOT": str(self.root)},
        )
        found = self.root / "ran"
        return found.read_text() if found.exists() else ""

    def test_cloud_init_is_waited_for(self) -> None:
        self.assertEqual("status --wait\n", self.ran())

    def test_what_has_ended_is_not(self) -> None:
        (self.root / "run/cloud-init/result.json").touch()
        tonight = (time.time_ns() // 1000) + 3600 * 10**6
        (self.root / "run/systemd/shutdown/scheduled").write_text(f"USEC={tonight}\nWARN_WALL=1\n")
        (self.root / "proc/7/cmdline").write_bytes(b"/bin/sh\0/usr/bin/cloud-init-like\0")
        self.assertEqual("", self.ran())

    def test_a_reboot_that_is_announced_is_waited_for(self) -> None:
        (self.root / "run/cloud-init/result.json").touch()
        for path, content in (
            ("proc/7/cmdline", "/usr/bin/python3\0/usr/bin/cloud-init\0modules\0"),
            ("run/systemd/shutdown/scheduled", f"USEC={time.time_ns() // 1000}\n"),
            ("state", "stopping\n"),
            ("state", "offline\n"),
            ("state", ""),  # nobody answers any more
        ):
            with self.subTest(path, content=content):
                (self.root / path).write_text(content)
                self.assertEqual("slept\n", self.ran())
                (self.root / "ran").unlink()


class HoldLockTest(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.lock = Path(folder.name) / "state" / "lock"
        self.text = (_FOLDER / "engine/hold-lock.sh").read_text()

    def hold(self, who: str, patience: str = "0.2") -> "subprocess.Popen[str]":
        process = subprocess.Popen(
            ["bash", "-c", self.text, "hold-lock", str(self.lock), who, patience],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )
        for pipe in (process.stdin, process.stdout, process.stderr):
            assert pipe
            self.addCleanup(pipe.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def first_line(self, process: "subprocess.Popen[str]") -> str:
        assert process.stdout
        return process.stdout.readline()

    def test_another_is_told_who_has_it(self) -> None:
        self.assertEqual("held\n", self.first_line(self.hold("the first")))
        for _ in range(2):
            out, said = self.hold("another").communicate(timeout=20)
            self.assertEqual(("", "the first\n"), (out, said))
        self.assertEqual(75, self.hold("another").wait(20))

    def test_it_is_free_when_the_connection_or_the_program_ends(self) -> None:
        for end in ("input", "kill"):
            first = self.hold("the first")
            self.assertEqual("held\n", self.first_line(first))
            waiting = self.hold("the second", patience="20")
            if end == "kill":
                first.kill()
            else:
                assert first.stdin
                first.stdin.close()
            self.assertEqual("held\n", self.first_line(waiting))
            waiting.kill()
            waiting.wait()

    def test_it_speaks_so_that_sshd_notices_who_is_gone(self) -> None:
        self.text, count = re.subn("-t 30 ", "-t 0.05 ", self.text)
        self.assertEqual(1, count)
        process = self.hold("the first")
        lines = [self.first_line(process) for _ in range(3)]
        self.assertEqual(["held\n", "\n", "\n"], lines)
        self.assertEqual(75, self.hold("another").wait(20))


class WriteFilesTest(unittest.TestCase):
    def test_new_folders_are_open_and_the_file_is_not(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "etc/kubernetes/apiserver/policy.yaml")
            script = (_FOLDER / "machine/write-files.sh").read_text()
            words = ["sh", "-c", script, "write-files", str(path), "0600", "5"]
            subprocess.run(words, input=b"text\n", umask=0o077, check=True, timeout=60)
            self.assertEqual("text\n", path.read_text())
            modes = [place.stat().st_mode & 0o777 for place in (path, *list(path.parents)[:3])]
            self.assertEqual([0o600, 0o755, 0o755, 0o755], modes)


class GiveFolderTest(unittest.TestCase):
    """Folders of root's are played by a stat that says so."""

    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)
        self.owner = "0"

    def given(self, path: str) -> list[str]:
        """What chown is called with."""
        programs = {"stat": f"echo {self.owner}", "chown": 'echo "$@"'}
        (self.root / "bin").mkdir(exist_ok=True)
        for name, line in programs.items():
            (self.root / "bin" / name).write_text(f"#!/bin/sh\n{line}\n")
            (self.root / "bin" / name).chmod(0o755)
        script = (_FOLDER / "machine/give-folder.sh").read_text()
        ran = subprocess.run(
            ["sh", "-c", script, "give-folder", str(self.root / path), "nobody:nogroup", "0777"],
            umask=0o077,
            env={"PATH": f"{self.root}/bin:{os.environ['PATH']}"},
            text=True, stdout=subprocess.PIPE, check=True,
        )
        self.assertTrue((self.root / path).is_dir())
        return ran.stdout.split()

    def test_a_new_folder_and_an_empty_file_system_are_given(self) -> None:
        for path in ("new/folder", "mounted"):
            (self.root / "mounted/lost+found").mkdir(parents=True, exist_ok=True)
            self.assertEqual(["nobody:nogroup", "."], self.given(path))
            self.assertEqual(0o777, (self.root / path).stat().st_mode & 0o7777)
        self.assertEqual(0o755, (self.root / "new").stat().st_mode & 0o7777)

    def test_what_has_data_or_an_owner_stays(self) -> None:
        (self.root / "full").mkdir()
        (self.root / "full/data").write_text("x")
        self.assertEqual([], self.given("full"))
        self.owner = "1000"
        self.assertEqual([], self.given("theirs"))

    def test_the_target_of_a_link_stays(self) -> None:
        """A client of an export may put a link in the place of a folder below."""
        (self.root / "target").mkdir(0o700)
        (self.root / "link").symlink_to("target")
        (self.root / "bin").mkdir()
        self.owner = "$(/usr/bin/stat \"$@\" | sed 's/^[0-9]*$/0/')"
        self.assertEqual([], self.given("link"))
        self.assertEqual(0o700, (self.root / "target").stat().st_mode & 0o7777)
