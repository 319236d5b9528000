"""The phases of the private registry, against the strict fake."""

import json
import tempfile
import unittest
from pathlib import Path
from typing import Any

from mgmt_drivers.errors import WaitTimeout
from mgmt_drivers.params.private_registry import (
    ImageArchive,
    PrivateRegistryParams,
    RemoteImage,
    Tls,
)
from mgmt_drivers.params.proxy import Proxy
from mgmt_drivers.phases.common.await_cloud_init import AwaitCloudInit
from mgmt_drivers.phases.common.check_platform import CheckPlatform
from mgmt_drivers.phases.common.configure_proxy import ConfigureProxy
from mgmt_drivers.phases.common.install_docker import InstallDocker
from mgmt_drivers.phases.private_registry import settings
from mgmt_drivers.phases.private_registry.await_registry import AwaitRegistry
from mgmt_drivers.phases.private_registry.provide_image import ImageUnavailable, ProvideImage
from mgmt_drivers.phases.private_registry.run_registry import PortOccupied, RunRegistry
from mgmt_drivers.secret import Secret
from mgmt_drivers.tests.fakes import fake_host


def params(**values: Any) -> PrivateRegistryParams:
    return PrivateRegistryParams("CP1", "ubuntu", Secret("pass"), **values)


class PhaseTest(unittest.TestCase):
    def setUp(self) -> None:
        self.host, self.session = fake_host()
        self.addCleanup(self.session.assert_done)
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def file(self, name: str, content: str) -> Path:
        path = self.folder / name
        path.write_text(content)
        return path

    def expect_no_docker(self) -> None:
        self.session.expect("sudo", "sh", "-c", "command -v docker && command -v dockerd", status=1)


class CommonPhasesTest(PhaseTest):
    def test_a_supported_platform_needs_nothing(self) -> None:
        self.session.expect("cat", "/etc/os-release", stdout="ID=debian\nVERSION_ID=12\n")
        self.assertFalse(CheckPlatform().needed(self.host, None))

    def test_cloud_init_is_waited_for_while_it_works(self) -> None:
        self.session.expect("sudo", "sh", "-c", "command -v cloud-init")
        self.session.expect("sudo", "test", "-e", status=1)
        self.assertTrue(AwaitCloudInit().needed(self.host, None))
        self.session.expect("sudo", "cloud-init", "status", "--wait", status=2)
        AwaitCloudInit().apply(self.host, None)

    def test_no_cloud_init(self) -> None:
        self.session.expect("sudo", "sh", "-c", "command -v cloud-init", status=1)
        self.assertFalse(AwaitCloudInit().needed(self.host, None))

    def test_docker_is_installed_where_it_is_missing(self) -> None:
        self.expect_no_docker()
        self.assertTrue(InstallDocker().needed(self.host, None))
        self.expect_no_docker()
        self.session.expect("cat", "/etc/os-release", stdout="ID=debian\nVERSION_ID=12\n")
        self.session.expect("sudo", "dpkg-query", stdout="installed docker.io\n")
        self.session.expect("sudo", "systemctl", "enable", "--quiet", "--now", "docker")
        self.session.expect("sudo", "docker", "version", status=1, stderr="not yet")
        self.session.expect("sudo", "docker", "version", stdout="20.10\n")
        InstallDocker().apply(self.host, None)

    def test_docker_that_runs_is_left(self) -> None:
        self.session.expect("sudo", "sh", "-c", "command -v docker && command -v dockerd")
        self.session.expect("sudo", "docker", "version")
        self.assertFalse(InstallDocker().needed(self.host, None))

    def test_proxy_reaches_apt_and_docker_and_no_command_line(self) -> None:
        proxy = Proxy(
            Secret("http://me:s%cret@proxy:3128"), None, ("example.com", "10.0.0.0/8")
        )
        for _ in range(4):
            self.session.expect("sudo", "sh", "-c", status=1)
            self.session.expect("sudo", "sh", "-c")
        self.session.expect("sudo", "systemctl", "is-active", "--quiet", "docker", status=3)
        self.session.expect("sudo", "rm")
        ConfigureProxy(("docker",)).apply(self.host, params(proxy=proxy))
        apt, variables, unit = (self.session.stdin[number].decode() for number in (3, 5, 7))
        self.assertIn('Acquire::http::Proxy "http://me:s%cret@proxy:3128";', apt)
        self.assertIn('Acquire::http::Proxy::example.com "DIRECT";', apt)
        self.assertNotIn("10.0.0.0/8", apt)
        self.assertIn('HTTP_PROXY="http://me:s%cret@proxy:3128"\n', variables)
        self.assertIn('NO_PROXY="example.com,10.0.0.0/8"\n', variables)
        self.assertNotIn("cret", unit)  # systemd shows it to every user
        self.assertNotIn("cret", str(self.session.ran))

    def test_a_proxy_that_services_have_not_read_is_needed(self) -> None:
        """Broken off before they were restarted: the files are right."""
        self.session.expect("sudo", "test", "-e")
        proxy = Proxy(Secret("http://proxy:3128"), None, ())
        self.assertTrue(ConfigureProxy(("docker",)).needed(self.host, params(proxy=proxy)))

    def test_no_proxy_no_work(self) -> None:
        self.assertFalse(ConfigureProxy(("docker",)).needed(self.host, params()))


class ProvideImageTest(PhaseTest):
    def test_archive_is_streamed_and_tagged_by_content(self) -> None:
        archive = ImageArchive(self.file("r.tar", "bytes"), "registry:2", "ab" * 32)
        self.session.expect(
            "sudo", "docker", "image", "inspect", "--format", "{{.Id}}",
            "private-registry:abababababab", status=1,
        )
        self.assertTrue(ProvideImage().needed(self.host, params(image=archive)))
        self.session.expect("sudo", "docker", "load", "--quiet")
        self.session.expect("sudo", "docker", "tag", "registry:2", "private-registry:abababababab")
        ProvideImage().apply(self.host, params(image=archive))
        self.assertEqual(b"bytes", self.session.stdin[1])

    def test_an_image_of_a_server_is_fetched_by_the_machine(self) -> None:
        image = RemoteImage("http://server/r.tar", "ab" * 32)
        proxy = Proxy(Secret("http://proxy:3128"))
        self.session.expect("sudo", "python3", "-c", stdout="Loaded image: registry:2\n")
        self.session.expect("sudo", "docker", "tag", "registry:2", image.tag)
        ProvideImage().apply(self.host, params(image=image, proxy=proxy))
        asked = json.loads(self.session.stdin[0])
        self.assertEqual(
            {"url": "http://server/r.tar", "sha256": "ab" * 32, "proxy": "http://proxy:3128"},
            asked,
        )
        self.session.expect("sudo", "python3", "-c", status=1, stderr="cannot fetch the image: x")
        with self.assertRaisesRegex(ImageUnavailable, "(?s)image_url cannot be used.*cannot fetch"):
            ProvideImage().apply(self.host, params(image=image))

    def test_pull_that_fails_says_what_to_do(self) -> None:
        self.session.expect(
            "sudo", "docker", "pull", "--quiet", "registry:2", status=1, stderr="no route"
        )
        with self.assertRaisesRegex(ImageUnavailable, "image_path.*no route"):
            ProvideImage().apply(self.host, params())


class RunRegistryTest(PhaseTest):
    INSPECT = ("sudo", "docker", "container", "inspect", "private_registry")

    def expect_container(self, label: str, running: bool = True) -> None:
        described = {
            "Config": {"Labels": {settings.SETTINGS_LABEL: label}},
            "State": {"Running": running},
        }
        self.session.expect(*self.INSPECT, stdout=json.dumps([described]))

    def test_same_settings_are_left_running(self) -> None:
        self.expect_container(settings.digest(params()))
        self.assertFalse(RunRegistry().needed(self.host, params()))

    def test_other_settings_or_a_stopped_container_are_replaced(self) -> None:
        self.expect_container(settings.digest(params(port=5001)))
        self.assertTrue(RunRegistry().needed(self.host, params()))
        self.expect_container(settings.digest(params()), running=False)
        self.assertTrue(RunRegistry().needed(self.host, params()))

    def test_run(self) -> None:
        self.session.expect(*self.INSPECT, status=1, stdout="[]")
        self.session.expect("sudo", "ss", "-H", "-l", "-t", "-n", "-p", "sport = :5000")
        self.session.expect("sudo", "docker", "run", "--detach", "--name", "private_registry")
        RunRegistry().apply(self.host, params())
        words = self.session.ran[-1]
        self.assertEqual("registry:2", words[-1])
        for word in ("always", "5000:5000", "/var/lib/private_registry:/var/lib/registry"):
            self.assertIn(word, words)

    def test_outdated_container_is_removed_first(self) -> None:
        self.expect_container("old")
        self.session.expect("sudo", "docker", "rm", "--force", "private_registry")
        self.session.expect("sudo", "ss")
        self.session.expect("sudo", "docker", "run")
        RunRegistry().apply(self.host, params())

    def test_occupied_port(self) -> None:
        self.session.expect(*self.INSPECT, status=1)
        self.session.expect("sudo", "ss", stdout='LISTEN 0 5 *:5000 users:(("python3",pid=7))\n')
        with self.assertRaisesRegex(PortOccupied, "port 5000 is occupied.*python3"):
            RunRegistry().apply(self.host, params())

    def test_tls_and_htpasswd_go_by_private_files(self) -> None:
        wanted = params(
            tls=Tls(self.file("c", "CERT"), self.file("k", "KEY")), htpasswd=self.file("h", "HASH")
        )
        self.session.expect(*self.INSPECT, status=1)
        self.session.expect("sudo", "ss")
        for _ in range(3):
            self.session.expect("sudo", "sh", "-c", status=1)
            self.session.expect("sudo", "sh", "-c")
        self.session.expect("sudo", "docker", "run")
        RunRegistry().apply(self.host, wanted)
        self.assertEqual(
            [b"CERT", b"KEY", b"HASH"], [data for data in self.session.stdin if data]
        )
        self.assertIn("REGISTRY_AUTH=htpasswd", self.session.ran[-1])
        self.assertNotEqual(settings.digest(params()), settings.digest(wanted))


class AwaitRegistryTest(PhaseTest):
    ASK = ("sudo", "bash", "-c")

    def test_answers(self) -> None:
        self.session.expect(*self.ASK, stdout="HTTP/1.0 200 OK\r\n")
        self.assertFalse(AwaitRegistry().needed(self.host, params()))

    def test_login_is_wanted_where_there_are_passwords(self) -> None:
        wanted = params(htpasswd=self.file("h", "x"))
        self.session.expect(*self.ASK, stdout="HTTP/1.0 200 OK\r\n")
        self.assertTrue(AwaitRegistry().needed(self.host, wanted))
        self.session.expect(*self.ASK, stdout="HTTP/1.0 401 Unauthorized\r\n")
        self.assertFalse(AwaitRegistry().needed(self.host, wanted))

    def test_waits_then_gives_the_registrys_last_words(self) -> None:
        self.session.expect(*self.ASK, stderr="connection refused", status=1)
        self.session.expect(*self.ASK, stdout="HTTP/1.0 200 OK\r\n")
        AwaitRegistry().apply(self.host, params())

    def test_limit(self) -> None:
        self.session.expect(*self.ASK, stdout="HTTP/1.0 500 Internal Server Error\r\n")
        self.session.expect("sudo", "docker", "logs", stderr="no space left")
        phase = AwaitRegistry()
        phase.limit = 0.0
        with self.assertRaisesRegex(WaitTimeout, "500 Internal Server Error.*no space left"):
            phase.apply(self.host, params())
