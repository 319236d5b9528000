"""Packets that are refused and questions that are asked on a site without internet."""

import io
import struct
import zipfile
from pathlib import Path
from typing import Any
from unittest import mock

import testtools
import yaml
from fixtures import EnvironmentVariable, MonkeyPatch, TempDir

from functional import name_server, site
from functional.packages import isolated_templates

_LINE = (
    'name="<unnamed>", verdict=drop, severity=info, direction=from-lport: {},vlan_tci=0x0000,'
    "dl_src=fa:16:3e:00:00:01,dl_dst=fa:16:3e:00:00:02,nw_src=10.0.0.5,nw_dst={},nw_tos=0,"
    "nw_ecn=0,nw_ttl=64,nw_frag=no,tp_src=40000,tp_dst={}{}"
)
_OWN = ("192.168.0.0/16",)


def query(*labels: bytes, kind: int = 1) -> bytes:
    """A question with a record beside it, as EDNS has."""
    name = b"".join(bytes([len(label)]) + label for label in labels)
    header = struct.pack("!6H", 0x1234, 0x0100, 1, 0, 0, 1)
    return header + name + b"\0" + struct.pack("!2H", kind, 1) + b"\0\0\x29" + bytes(8)


class NameServerTest(testtools.TestCase):
    def test_the_question_comes_back_without_an_answer(self) -> None:
        asked = query(b"dl", b"k8s", b"io", kind=28)
        self.assertEqual(("dl.k8s.io", 28), name_server.question(asked)[:2])
        answer = name_server.answer(asked)
        self.assertEqual((0x1234, 0x8183, 1, 0, 0, 0), struct.unpack("!6H", answer[:12]))
        self.assertEqual(asked[12 : 12 + 15], answer[12:])

    def test_no_question(self) -> None:
        for message in (b"", b"x" * 12, query(b"example")[:15]):
            with self.assertRaises(IndexError):
                name_server.answer(message)


class PacketTest(testtools.TestCase):
    def test_packets_that_ask(self) -> None:
        for protocol, target, port, flags in (
            ("tcp", "192.0.2.1", "443", ",tcp_flags=syn"),
            ("tcp", "192.0.2.1", "443", ",tcp_flags=syn|ece|cwr"),
            ("udp", "192.0.2.1", "123", ""),
        ):
            found = site.packet_in(_LINE.format(protocol, target, port, flags))
            self.assertEqual(f"{protocol} 10.0.0.5 to {target}:{port}", str(found))
            assert found
            self.assertFalse(found.is_for(_OWN))

    def test_an_answer(self) -> None:
        for flags in ("ack", "fin|ack", "rst"):
            line = _LINE.format("tcp", "192.0.2.1", "443", f",tcp_flags={flags}")
            self.assertIsNone(site.packet_in(line))

    def test_a_packet_for_a_pod(self) -> None:
        found = site.packet_in(_LINE.format("tcp", "192.168.4.7", "53", ",tcp_flags=syn"))
        assert found
        self.assertTrue(found.is_for(_OWN))

    def test_other_lines_count_too(self) -> None:
        line = "direction=from-lport: udp6,ipv6_src=fe80::1,ipv6_dst=ff02::fb,tp_dst=5353"
        for text, wanted in ((line, "udp6 fe80::1 to ff02::fb:5353"), ("new words", "new words")):
            found = site.packet_in(text)
            assert found
            self.assertTrue(str(found).startswith(wanted))
            self.assertFalse(found.is_for(_OWN))


class ReadingTest(testtools.TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.lines: list[str] = []
        self.asked: list[str] = []
        machine = mock.Mock(run=lambda command: "".join(f"{line}\n" for line in self.asked))
        self.useFixture(EnvironmentVariable("FUNCTIONAL_LOGS", self.useFixture(TempDir()).path))
        self.useFixture(MonkeyPatch("functional.site._tell", lambda action: "\n".join(self.lines)))
        self.site = site.Site(["10.0.0.0/24"], machine, _OWN)

    def test_a_reading_has_what_is_new(self) -> None:
        self.lines += [
            _LINE.format("udp", "192.0.2.1", 123, ""),
            _LINE.format("udp", "192.168.4.7", 53, ""),
        ]
        self.site.read("one")
        self.lines += [_LINE.format("udp", "192.0.2.1", 123, "")] * 2
        self.asked += ["10.0.0.5 1 dl.k8s.io", "10.0.0.5 13 12.34", "10.0.0.5 28 master-1"]
        self.site.read("two")
        self.site.read("three")
        packet = "udp 10.0.0.5 to 192.0.2.1:123"
        self.assertEqual(
            [
                f"after one, 1 times: {packet}",
                f"after two, 2 times: {packet}",
                "after two, 1 times: 10.0.0.5 1 dl.k8s.io",
            ],
            self.site.wrong,
        )


class TellTest(testtools.TestCase):
    def test_the_command_is_one_of_a_shell(self) -> None:
        self.useFixture(EnvironmentVariable("FUNCTIONAL_REFUSED_PACKETS", "true && echo 1"))
        self.assertEqual("1 show\n", site._tell("show"))

    def test_a_start_that_fails_is_undone(self) -> None:
        told: list[str] = []

        def tell(action: str) -> None:
            told.append(action)
            if action == "start":
                raise OSError

        self.useFixture(MonkeyPatch("functional.site._tell", tell))
        with testtools.ExpectedException(OSError), site._counted():
            self.fail("it has not started")
        self.assertEqual(["start", "stop"], told)


class IsolationTest(testtools.TestCase):
    def test_only_templates_with_security_groups_change(self) -> None:
        rule = {"protocol": "tcp"}
        group = {"type": "OS::Neutron::SecurityGroup", "properties": {"rules": [rule]}}
        other = {"type": "OS::Neutron::Port"}
        folder = Path(self.useFixture(TempDir()).path)
        self.useFixture(EnvironmentVariable("FUNCTIONAL_BUILD", str(folder)))
        documents: dict[str, Any] = {
            "BaseHOT/complex/top.yaml": {"group": group, "port": other},
            "BaseHOT/complex/nested/port.yaml": {"port": other},
            "Definitions/vnfd.yaml": {"group": group},
        }
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w") as archive:
            for name, resources in documents.items():
                text = yaml.safe_dump({"resources": resources})
                archive.writestr(name, f"heat_template_version: 2018-03-02\n{text}")
        csar = folder / "package.csar"
        csar.write_bytes(buffer.getvalue())
        made = isolated_templates(csar, ["10.0.0.0/24"])
        self.assertEqual(["BaseHOT/complex/top.yaml"], [*made])
        template = yaml.safe_load(made["BaseHOT/complex/top.yaml"].read_text())
        self.assertEqual("2018-03-02", template["heat_template_version"])
        self.assertEqual(
            [rule, {"direction": "egress", "remote_ip_prefix": "10.0.0.0/24"}],
            template["resources"]["group"]["properties"]["rules"],
        )
