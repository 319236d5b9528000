"""The fuzzer itself: a short run of it finds nothing, and what would be wrong it finds."""

import contextlib
import copy
import io
import json
import subprocess
import tempfile
import unittest
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest import mock

from hypothesis import given, settings
from hypothesis import strategies as st

from mgmt_drivers.cluster.cluster_params import NAME as KUBERNETES
from mgmt_drivers.machine import syntax
from mgmt_drivers.registry.registry_params import NAME as REGISTRY
from tools.fuzz import cli, syntaxes
from tools.fuzz.attack import ACCEPTED, REFUSED, Attack
from tools.fuzz.judge import Habits, judge, secrets_in
from tools.fuzz.machines import Cloud, Command, Rendering
from tools.fuzz.meaning import Finding
from tools.fuzz.meaning_kubernetes import of_request
from tools.fuzz.meaning_modification import of_request as modified
from tools.fuzz.mutations import Input
from tools.fuzz.packages import Package, Packages
from tools.fuzz.seeds import Seed, all_seeds, known_parameters
from tools.fuzz.syntaxes import Malformed


class SeedsTest(unittest.TestCase):
    def test_every_parameter_is_in_one(self) -> None:
        found: set[str] = set()
        for seed in all_seeds():
            _note_paths(seed.parameter, seed.params, found)
        self.assertEqual(known_parameters(), found, "add it to the variations in seeds.py")


class RunTest(unittest.TestCase):
    """On one set of packages, which takes a while to be made."""

    folder: "tempfile.TemporaryDirectory[str]"
    attack: Attack

    @classmethod
    def setUpClass(cls) -> None:
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        cls.attack = Attack(Path(cls.folder.name))
        cls.attack.learn()

    def test_a_short_run(self) -> None:
        try:
            self.attack.run(20, 120)
        except Finding as finding:
            self.fail(f"{finding}\n{self.attack.failing}")
        self.assertGreater(self.attack.outcomes[ACCEPTED], 20)
        self.assertGreater(self.attack.outcomes[REFUSED], 20)

    def test_errors_are_held_against_the_request(self) -> None:
        """One with a path of another request would be found."""
        seed = next(s for s in self.attack.seeds if s.parameter == KUBERNETES)
        self.assertEqual(REFUSED, self.attack.outcome(Input(seed, {**seed.params, "odd": 1})))
        self.assertEqual(REFUSED, self.attack.outcome(Input(seed, [])))

    def test_another_error_than_of_parameters_is_found(self) -> None:
        seed = next(s for s in self.attack.seeds if s.parameter == REGISTRY)
        with self.assertRaisesRegex(Finding, "RuntimeError is no error of parameters"):
            self.attack.outcome(Input(seed, {**seed.params, "ssh_password": _Odd("x")}))


class _Odd(str):
    """A text that turns out to be none."""

    __slots__ = ()

    def isprintable(self) -> bool:
        raise RuntimeError("read")


class JudgeTest(unittest.TestCase):
    """A rendering that is spoilt in one place is found."""

    package: Package
    good: Rendering
    seed = next(s for s in all_seeds() if s.has_storage and s.number == 1)

    @classmethod
    def setUpClass(cls) -> None:
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.package = Packages(Path(folder.name)).of(cls.seed)
        cloud = Cloud(cls.package, cls.seed, cls.seed.params)
        cloud.build()
        cls.good = cloud.carry_out("")

    def rendering(self) -> Rendering:
        return copy.deepcopy(self.good)

    def judge(self, rendering: Rendering, params: Any = None) -> None:
        habits = Habits()
        habits.learn(self.good)
        meaning = of_request(params or self.seed.params, self.package.folder, self.good.nodes)
        judge(rendering, meaning, habits, self.seed.params)

    def test_as_it_is(self) -> None:
        self.judge(self.rendering())

    def test_a_file_with_a_line_more(self) -> None:
        for path, line in (
            ("/etc/hosts", "10.0.0.9 evil.example.com\n"),
            ("/etc/hosts", "fe80::1%x\x0b 10.0.0.9 evil\n"),
            ("/var/lib/tacker-mgmt-drivers/proxy.env", 'LD_PRELOAD="/tmp/x"\n'),
            ("/etc/apt/apt.conf.d/95-mgmt-driver-proxy", 'APT::Update::Pre-Invoke "id";\n'),
            ("/etc/systemd/system/docker.service.d/mgmt-driver-proxy.conf", "ExecStart=/x\n"),
            ("/etc/containerd/certs.d/10.10.0.10:5000/hosts.toml", '[host."http://e"]\n'),
            ("/var/lib/kubelet/config.json", "x"),
            ("/etc/exports.d/mgmt-driver.exports", "/etc *(rw)\n"),
            ("/etc/exports.d/mgmt-driver.exports", "/etc 10.0.0.0/8(rw)\n"),
            ("/etc/fstab", "/dev/sda1 /etc ext4 defaults 0 2\n"),
            ("/etc/haproxy/haproxy.cfg", "evil\n"),
            ("/etc/keepalived/keepalived.conf", "}\n"),
            ("/var/lib/tacker-mgmt-drivers/install_k8s_cluster.sh", "id\n"),
            ("/etc/cron.d/new", "* * * * * root id\n"),
        ):
            with self.subTest(path=path, line=line), self.assertRaises(Finding):
                rendering = self.rendering()
                machines = [m for m in rendering.machines if path in m.files]
                for machine in machines or rendering.machines:
                    content, mode = machine.files.get(path, (b"", "644"))
                    machine.files[path] = (content + line.encode(), mode)
                self.judge(rendering)

    def test_a_file_that_is_not_there(self) -> None:
        rendering = self.rendering()
        for machine in rendering.machines:
            machine.files.pop("/var/lib/kubelet/config.json", None)
        with self.assertRaisesRegex(Finding, "lacks"):
            self.judge(rendering)

    def test_a_command_with_other_words(self) -> None:
        for command in (
            Command(("mkdir", "/etc/x y"), b""),
            Command(("mkdir", "/volume/nfs/pv1\0"), b""),
            Command(("mkdir", "/\ud800"), b""),
            Command(("kubectl", "delete", "secret", "bootstrap-token-abcdef0"), b""),
            Command(("hold-lock", "instantiate of VNF vnf-2, since 1970-01-01 00:00:00 UTC"), b""),
            Command(("kubectl", "apply"), b"kind: ClusterRoleBinding\n"),
            Command(("kubeadm", "token", "create"), b"kind: X\nextra: y\n"),
            Command(("python3",), b'[{"url": "http://elsewhere"}]'),
            Command(("rm",), b"input"),
        ):
            with self.subTest(command=command), self.assertRaises(Finding):
                rendering = self.rendering()
                rendering.commands.append(command)
                self.judge(rendering)

    def test_a_secret_in_a_command(self) -> None:
        rendering = self.rendering()
        url = self.seed.params["proxy"]["http_proxy"]
        rendering.commands.append(Command(("sh", "-c", f"x {url}", "has-program"), b""))
        with self.assertRaisesRegex(Finding, "secret"):
            self.judge(rendering)

    def test_a_secret_that_is_a_part_of_what_every_command_has(self) -> None:
        self.seed.params["worker_node"]["password"] = "admin.conf"  # noqa: S105
        self.judge(self.rendering())

    def test_parameters_that_say_something_else(self) -> None:
        for path, value in (
            ("proxy.http_proxy", "http://other"),
            ("proxy.no_proxy", "other.example.com"),
            ("master_node.pod_cidr", "172.16.0.0/16"),
            ("storage_server.nfs_server_setup_params.0.export_to", "10.0.0.0/8"),
            ("storage_server.nfs_server_setup_params.0.export_to", None),
            ("storage_server.nfs_server_setup_params.0.root_squash", True),
            ("storage_server.cinder_volume_setup_params.0.mount_to", "/other"),
            ("private_registry_connection_info.0.server", "other:5000"),
            ("private_registry_connection_info.1.password", "another"),
            ("private_registry_connection_info.1.hosts_string", "10.10.0.21 a.b"),
            ("kubernetes_version", "1.36"),
        ):
            with self.subTest(path=path), self.assertRaises(Finding):
                self.judge(self.rendering(), _changed(self.seed, path, value))


class ModificationTest(unittest.TestCase):
    seed = next(s for s in all_seeds() if s.cluster is not None and s.number == 2)

    def test_parameters_that_say_something_else(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        package = Packages(Path(folder.name)).of(self.seed)
        cloud = Cloud(package, self.seed, self.seed.params)
        cloud.build()
        rendering, habits = cloud.carry_out(""), Habits()
        kept = [c for c in rendering.commands if c.words[0] == "kubectl" and "apply" in c.words]
        self.assertEqual(1, len(kept), "the driver's ConfigMap")
        habits.learn(rendering)

        def judged(params: Any) -> None:
            meaning = modified(self.seed.cluster or {}, params, package.folder, rendering.nodes)
            judge(rendering, meaning, habits, params)

        judged(self.seed.params)
        for path, value in (
            ("kubernetes_version", "1.36"),
            ("package_repository.url", "http://elsewhere/"),
            ("package_repository.key_path", "Files/key.asc"),
            ("image_repository", "images.example.com/old"),
            ("image_repository", None),
        ):
            with self.subTest(path=path), self.assertRaises(Finding):
                judged(_changed(self.seed, path, value))


class SecretsTest(unittest.TestCase):
    def test_what_stands_elsewhere_too_is_none(self) -> None:
        params = {"a": {"password": "0" * 8}, "b": {"password": "planted1"}, "0" * 9: "x"}
        self.assertEqual({"planted1"}, secrets_in(params))
        self.assertEqual(set(), secrets_in({**params, "c": ["is planted1"]}))


class SyntaxesTest(unittest.TestCase):
    @settings(max_examples=20, derandomize=True, database=None, deadline=None)
    @given(st.text(st.sampled_from("a'\"\\$` #;=\n"), max_size=12))
    def test_variables_are_what_a_shell_makes_of_them(self, value: str) -> None:
        for line in (f'N="{value}"\n', _made(value)):
            with contextlib.suppress(Malformed):
                ((_, found),) = syntaxes.variables(line) or [("", "")]
                script = f"{line}printf %s \"$N\""
                ran = subprocess.run(["sh", "-c", script], stdout=subprocess.PIPE, check=True)
                self.assertEqual(found, ran.stdout.decode())

    def test_what_is_malformed(self) -> None:
        cases: tuple[tuple[Callable[[str], Any], str], ...] = (
            (syntaxes.variables, 'A="$(id)"\n'),
            (syntaxes.variables, 'A="x" B="y"\n'),
            (syntaxes.variables, "A=x\n"),
            (syntaxes.apt_options, 'A::B "x"; C "y";\n'),
            (syntaxes.apt_options, 'A::B// "x";\n'),
            (syntaxes.apt_sources, "deb [signed-by=/x] http://a/#/ /\n"),
            (syntaxes.unit, "EnvironmentFile=/x\n"),
            (syntaxes.hosts, "10.0.0.1\n"),
            (syntaxes.hosts, "10.0.0.1 a\u2028b\n"),
            (syntaxes.fstab, "a b c\n"),
            (syntaxes.exports, "/x 10.0.0.0/8(rw) *(rw)\n"),
            (syntaxes.haproxy, "lua-load /x\n"),
            (syntaxes.keepalived, "a {\n"),
            (syntaxes.keepalived, "a } b\n"),
            (syntaxes.json_document, "{"),
            (syntaxes.yaml_documents, "a: b: c"),
        )
        for parse, text in cases:
            with self.subTest(text=text), self.assertRaises(Malformed):
                parse(text)


class CommandLineTest(unittest.TestCase):
    def test_a_run_says_what_it_did(self) -> None:
        output = io.StringIO()
        with contextlib.redirect_stdout(output):
            self.assertEqual(0, cli.main(["--inputs", "5", "--seed", "3"]))
        self.assertIn("seed 3\n", output.getvalue())
        self.assertRegex(output.getvalue(), r"5 inputs: \d+% accepted, \d+% refused")

    def test_a_finding_is_shown_with_its_input(self) -> None:
        """Were all requests refused without a path, the first would be a finding."""
        output = io.StringIO()
        with mock.patch.object(Attack, "_paths", return_value=("nowhere: ",)), \
                contextlib.redirect_stdout(output):
            self.assertEqual(1, cli.main(["--inputs", "40", "--seed", "3"]))
        self.assertIn("FOUND: an error that does not begin with a path", output.getvalue())
        self.assertIn('"request": "', output.getvalue())
        self.assertIn("Repeat: python -m tools.fuzz --seed 3 --inputs 250\n", output.getvalue())

    def test_ctrl_c_shows_what_was_done(self) -> None:
        output = io.StringIO()
        with mock.patch.object(Attack, "learn", side_effect=KeyboardInterrupt), \
                contextlib.redirect_stdout(output):
            self.assertEqual(0, cli.main(["--inputs", "5"]))
        self.assertIn("interrupted\n", output.getvalue())
        self.assertIn("0 inputs", output.getvalue())

    def test_an_input_is_shown_as_json(self) -> None:
        seed = all_seeds()[0]
        shown = json.loads(str(Input(seed, {"a": "\ud800"}, {"f": b"\0"}, "scale out")))
        self.assertEqual({"a": "\ud800"}, shown[seed.parameter])
        self.assertEqual("scale out", shown["then"])


def _made(value: str) -> str:
    """The line that the drivers write of a value; nothing where they refuse it."""
    try:
        return syntax.variable("N", value)
    except Exception:
        return ""


def _changed(seed: Seed, path: str, value: Any) -> Any:
    params: Any = copy.deepcopy(dict(seed.params))
    *folders, key = path.split(".")
    place = params
    for name in folders:
        place = place[int(name) if name.isdecimal() else name]
    place[key] = value
    return params


def _note_paths(path: str, value: Any, found: set[str]) -> None:
    if isinstance(value, dict):
        for key, item in value.items():
            found.add(f"{path}.{key}")
            _note_paths(f"{path}.{key}", item, found)
    elif isinstance(value, list):
        for item in value:
            _note_paths(path, item, found)
