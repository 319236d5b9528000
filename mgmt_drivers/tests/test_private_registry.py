"""The phases of the private registry, against the strict fake."""

import json
import tempfile
import unittest
from pathlib import Path
from typing import Any

from mgmt_drivers.engine.phase import HostPhase
from mgmt_drivers.engine.trace import CHANGED, CHECKED, UNCHANGED
from mgmt_drivers.errors import MgmtDriverError, WaitTimeout
from mgmt_drivers.machine import docker, facts
from mgmt_drivers.params.proxy import Proxy
from mgmt_drivers.registry import settings
from mgmt_drivers.registry.provide_image import ProvideImage
from mgmt_drivers.registry.registry_params import (
    ImageArchive,
    PrivateRegistryParams,
    RemoteImage,
    Tls,
)
from mgmt_drivers.registry.run_registry import RunRegistry, WaitForRegistry
from mgmt_drivers.secret import Secret
from mgmt_drivers.setup.configure_proxy import ConfigureProxy
from mgmt_drivers.setup.install_docker import InstallDocker
from mgmt_drivers.setup.preflight import CheckPlatform, WaitForCloudInit
from mgmt_drivers.testing.fakes import fake_host


def params(**values: Any) -> PrivateRegistryParams:
    return PrivateRegistryParams("CP1", "ubuntu", Secret("pass"), **values)


def digest(**values: Any) -> str:
    """The digest of the settings of the registry's only container."""
    (container,) = settings.containers(params(**values))
    return container.digest()


class PhaseTest(unittest.TestCase):
    def setUp(self) -> None:
        self.host, self.session = fake_host()
        self.addCleanup(self.session.assert_done)
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def run_phase(self, phase: HostPhase[PrivateRegistryParams], **values: Any) -> str:
        """The phase's outcome on the machine."""
        return phase.step(self.host, params(**values))

    def file(self, name: str, content: str) -> Path:
        path = self.folder / name
        path.write_text(content)
        return path

    def expect_no_docker(self) -> None:
        self.session.expect("sudo", "has-program", "docker", "dockerd", status=1)


class CommonPhasesTest(PhaseTest):
    def test_a_supported_platform_passes(self) -> None:
        self.session.expect_facts("debian 12")
        self.assertEqual(CHECKED, self.run_phase(CheckPlatform()))

    def test_cloud_init_is_waited_for_while_it_works(self) -> None:
        self.session.expect_facts("debian 12", has_cloud_init=True)
        self.session.expect("sudo", "wait-for-cloud-init", status=2)
        self.assertEqual(CHECKED, self.run_phase(WaitForCloudInit()))

    def test_no_cloud_init(self) -> None:
        self.session.expect_facts("debian 12")
        self.assertEqual(CHECKED, self.run_phase(WaitForCloudInit()))

    def test_docker_is_installed_where_it_is_missing(self) -> None:
        self.expect_no_docker()
        self.session.expect_facts("debian 12")
        self.expect_network("172.16.0.0/12", "192.168.255.7")
        self.session.expect_new_file(docker.CONFIG)
        packages = "installed docker.io\ninstalled apparmor\n"
        self.session.expect("sudo", "dpkg-query", stdout=packages)
        self.session.expect("sudo", "systemctl", "enable", "--quiet", "--now", "docker")
        self.session.expect("sudo", "docker", "version", status=1, stderr="not yet")
        self.session.expect("sudo", "docker", "version", stdout="20.10\n")
        self.assertEqual(CHANGED, self.run_phase(InstallDocker()))
        written = json.loads(self.session.written()[docker.CONFIG])
        self.assertEqual({"mtu": 1400, "bip": "10.255.255.1/24"}, written)

    def expect_network(self, *routes: str, config: str = '{"mtu": 1400}') -> None:
        shown = json.dumps([{"dst": "default"}, *({"dst": route} for route in routes)])
        self.session.expect("sudo", "read-file", docker.CONFIG, stdout=config)
        self.session.expect("ip", "-json", "-4", "route", "show", stdout=shown)

    def test_dockers_network_holds_nobody_whom_the_machine_must_reach(self) -> None:
        self.session.expect_facts("debian 12", client="172.31.255.77")
        facts.gather(self.host)
        self.expect_network()
        self.session.expect_new_file(docker.CONFIG)
        docker.choose_network(self.host)
        written = json.loads(self.session.written()[docker.CONFIG])
        self.assertEqual("192.168.255.1/24", written["bip"])

    def test_a_network_that_the_image_has_chosen_stays(self) -> None:
        for key in ("bip", "bridge", "default-address-pools"):
            self.session.expect("sudo", "read-file", docker.CONFIG, stdout=f'{{"{key}": "x"}}')
            docker.choose_network(self.host)

    def test_no_network_is_free_for_docker(self) -> None:
        self.session.expect_facts("debian 12")
        facts.gather(self.host)
        self.expect_network("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "198.18.0.0/15")
        with self.assertRaisesRegex(MgmtDriverError, "routes to all of .* of the image .bip"):
            docker.choose_network(self.host)

    def test_docker_that_runs_is_left(self) -> None:
        self.session.expect("sudo", "has-program", "docker", "dockerd")
        self.session.expect("sudo", "docker", "version")
        self.assertEqual(UNCHANGED, self.run_phase(InstallDocker()))

    def test_docker_that_does_not_run_is_started(self) -> None:
        self.session.expect("sudo", "has-program", "docker", "dockerd")
        self.session.expect("sudo", "docker", "version", status=1)
        # Its installation may have been broken off.
        self.session.expect("sudo", "env", "DEBIAN_FRONTEND=noninteractive", "dpkg")
        self.session.expect("sudo", "systemctl", "enable", "--quiet", "--now", "docker")
        self.session.expect("sudo", "docker", "version", stdout="20.10\n")
        self.assertEqual(CHANGED, self.run_phase(InstallDocker()))

    def test_proxy_reaches_apt_and_docker_and_no_command_line(self) -> None:
        proxy = Proxy(
            Secret("http://me:s%cret@proxy:3128"), None, ("example.com", "10.0.0.0/8")
        )
        state = "/var/lib/tacker-mgmt-drivers"
        self.session.expect("sudo", "test", "-e", f"{state}/proxy.pending", status=1)
        self.session.expect("sudo", "digest-files", status=1)
        paths = (
            f"{state}/proxy.pending", "/etc/apt/apt.conf.d/95-mgmt-driver-proxy",
            f"{state}/proxy.env", "/etc/systemd/system/docker.service.d/mgmt-driver-proxy.conf",
        )
        self.session.expect_new_file(paths[0])
        self.session.expect("sudo", "systemctl", "is-active", "--quiet", "docker", status=3)
        self.session.expect("sudo", "rm")
        self.assertEqual(CHANGED, self.run_phase(ConfigureProxy(proxy, ("docker",))))
        written = self.session.written()
        self.assertEqual(paths, tuple(written))
        apt, variables, unit = (written[path].decode() for path in paths[1:])
        self.assertIn('Acquire::http::Proxy "http://me:s%cret@proxy:3128";', apt)
        self.assertIn('Acquire::http::Proxy::example.com "DIRECT";', apt)
        self.assertNotIn("10.0.0.0/8", apt)
        self.assertIn('HTTP_PROXY="http://me:s%cret@proxy:3128"\n', variables)
        self.assertIn('NO_PROXY="example.com,10.0.0.0/8"\n', variables)
        self.assertNotIn("cret", unit)  # systemd shows it to every user
        self.assertNotIn("cret", str(self.session.commands))

    def test_a_proxy_that_services_have_not_read_is_configured_again(self) -> None:
        """Broken off before they were restarted: the files are right."""
        self.session.expect("sudo", "test", "-e")
        proxy = Proxy(Secret("http://proxy:3128"))
        self.assertEqual(proxy, ConfigureProxy(proxy, ("docker",)).look(self.host, None))


class ProvideImageTest(PhaseTest):
    def test_archive_is_streamed_and_tagged_by_content(self) -> None:
        archive = ImageArchive(self.file("r.tar", "bytes"), "registry:2", "ab" * 32)
        self.session.expect(
            "sudo", "docker", "image", "inspect", "--format", "{{.Id}}",
            "private-registry:abababababab", status=1,
        )
        self.session.expect("sudo", "docker", "load", "--quiet")
        self.session.expect("sudo", "docker", "tag", "registry:2", "private-registry:abababababab")
        self.assertEqual(CHANGED, self.run_phase(ProvideImage(), image=archive))
        self.assertEqual(b"bytes", self.session.stdin[1])

    def test_an_image_of_a_server_is_fetched_by_the_machine(self) -> None:
        image = RemoteImage("http://server/r.tar", "ab" * 32)
        proxy = Proxy(Secret("http://proxy:3128"))
        self.session.expect("sudo", "docker", "image", "inspect", status=1)
        self.session.expect("sudo", "python3", "-c", stdout="Loaded image: registry:2\n")
        self.session.expect("sudo", "docker", "tag", "registry:2", image.tag)
        self.run_phase(ProvideImage(), image=image, proxy=proxy)
        asked = json.loads(self.session.stdin[1])
        self.assertEqual(
            {"url": "http://server/r.tar", "sha256": "ab" * 32, "proxy": "http://proxy:3128"},
            asked,
        )
        self.session.expect("sudo", "docker", "image", "inspect", status=1)
        self.session.expect("sudo", "python3", "-c", status=1, stderr="cannot fetch the image: x")
        with self.assertRaisesRegex(MgmtDriverError, "(?s)image_url cannot be used.*cannot fetch"):
            self.run_phase(ProvideImage(), image=image)

    def test_pull_that_fails_says_what_to_do(self) -> None:
        self.session.expect("sudo", "docker", "image", "inspect", status=1)
        self.session.expect(
            "sudo", "docker", "pull", "--quiet", "registry:2", status=1, stderr="no route"
        )
        with self.assertRaisesRegex(MgmtDriverError, "image_path.*no route"):
            self.run_phase(ProvideImage())


class RunRegistryTest(PhaseTest):
    INSPECT = ("sudo", "docker", "container", "inspect", "private_registry")

    def expect_container(self, label: str, running: bool = True) -> None:
        described = {
            "Config": {"Labels": {settings.SETTINGS_LABEL: label}},
            "State": {"Running": running},
        }
        self.session.expect(*self.INSPECT, stdout=json.dumps([described]))

    def test_same_settings_are_left_running(self) -> None:
        self.expect_container(digest())
        self.assertEqual(UNCHANGED, self.run_phase(RunRegistry()))

    def test_other_settings_or_a_stopped_container_are_replaced(self) -> None:
        other = (digest(port=5001), True)
        for label, running in (other, (digest(), False)):
            self.expect_container(label, running)
            self.session.expect("sudo", "docker", "rm", "--force", "private_registry")
            self.session.expect("sudo", "ss")
            self.session.expect("sudo", "docker", "run")
            self.assertEqual(CHANGED, self.run_phase(RunRegistry()))

    def test_run(self) -> None:
        self.session.expect(*self.INSPECT, status=1, stdout="[]")
        self.session.expect("sudo", "ss", "-H", "-l", "-t", "-n", "-p", "sport = :5000")
        self.session.expect("sudo", "docker", "run", "--detach", "--name", "private_registry")
        self.assertEqual(CHANGED, self.run_phase(RunRegistry()))
        words = self.session.ran[-1]
        self.assertEqual("registry:2", words[-1])
        for word in ("always", "5000:5000", "/var/lib/private_registry:/var/lib/registry"):
            self.assertIn(word, words)

    def test_occupied_port(self) -> None:
        self.session.expect(*self.INSPECT, status=1)
        self.session.expect("sudo", "ss", stdout='LISTEN 0 5 *:5000 users:(("python3",pid=7))\n')
        with self.assertRaisesRegex(MgmtDriverError, "port 5000 is occupied.*python3"):
            self.run_phase(RunRegistry())

    def test_tls_and_htpasswd_go_by_private_files(self) -> None:
        secured: dict[str, Any] = {
            "tls": Tls(self.file("c", "CERT"), self.file("k", "KEY")),
            "htpasswd": self.file("h", "HASH"),
        }
        self.session.expect(*self.INSPECT, status=1)
        self.session.expect("sudo", "ss")
        self.session.expect_new_file("/etc/private_registry/tls.crt")
        self.session.expect("sudo", "docker", "run")
        self.run_phase(RunRegistry(), **secured)
        contents = {"tls.crt": b"CERT", "tls.key": b"KEY", "htpasswd": b"HASH"}
        self.assertEqual(
            {f"/etc/private_registry/{name}": data for name, data in contents.items()},
            self.session.written(),
        )
        self.assertIn("REGISTRY_AUTH=htpasswd", self.session.ran[-1])
        self.assertNotEqual(digest(), digest(**secured))

    def test_pushes_come_by_the_loopback_address_only(self) -> None:
        for name in ("private_registry", "private_registry_push"):
            self.session.expect(*self.INSPECT[:-1], name, status=1)
        self.session.expect("sudo", "ss")
        self.session.expect("sudo", "docker", "run", "--detach", "--name", "private_registry")
        self.session.expect("sudo", "ss")
        self.session.expect("sudo", "docker", "run", "--detach", "--name", "private_registry_push")
        with self.assertNoLogs("mgmt_drivers", "WARNING"):
            self.assertEqual(CHANGED, self.run_phase(RunRegistry(), push_port=5002))
        pulls, pushes = (words for words in self.session.ran if words[2] == "run")
        self.assertIn("/var/lib/private_registry:/var/lib/registry:ro", pulls)
        (variable,) = (word for word in pulls if "MAINTENANCE=" in word)
        self.assertTrue(json.loads(variable.partition("=")[2])["readonly"]["enabled"])
        for word in ("127.0.0.1:5002:5000", "/var/lib/private_registry:/var/lib/registry"):
            self.assertIn(word, pushes)

    def test_a_registry_to_which_everybody_may_push_is_warned_of(self) -> None:
        self.session.expect(*self.INSPECT, status=1)
        self.session.expect("sudo", "ss")
        self.session.expect("sudo", "docker", "run")
        with self.assertLogs("mgmt_drivers", "WARNING") as logs:
            self.run_phase(RunRegistry())
        self.assertIn("everybody who reaches the registry may replace", logs.output[0])


class WaitForRegistryTest(PhaseTest):
    ASK = ("sudo", "ask-registry", "5000")

    def test_both_ports_answer(self) -> None:
        self.session.expect(*self.ASK, stdout="HTTP/1.0 200 OK\r\n")
        self.session.expect(*self.ASK[:-1], "5002", stdout="HTTP/1.0 200 OK\r\n")
        self.run_phase(WaitForRegistry(), push_port=5002)

    def test_answers(self) -> None:
        self.session.expect(*self.ASK, stdout="HTTP/1.0 200 OK\r\n")
        self.assertEqual(CHECKED, self.run_phase(WaitForRegistry()))

    def test_login_is_wanted_where_there_are_passwords(self) -> None:
        self.session.expect(*self.ASK, stdout="HTTP/1.0 200 OK\r\n")
        self.session.expect(*self.ASK, stdout="HTTP/1.0 401 Unauthorized\r\n")
        self.run_phase(WaitForRegistry(), htpasswd=self.file("h", "x"))

    def test_waits_then_gives_the_registrys_last_words(self) -> None:
        self.session.expect_polling(*self.ASK, stdout="HTTP/1.0 500 Internal Server Error\r\n")
        self.session.expect("sudo", "docker", "logs", stderr="no space left")
        with self.assertRaisesRegex(WaitTimeout, "500 Internal Server Error.*no space left"):
            self.run_phase(WaitForRegistry())
