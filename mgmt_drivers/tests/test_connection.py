"""The SSH connection, against a real SSH server."""

import base64
import contextlib
import dataclasses
import functools
import hashlib
import io
import os
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import cast
from unittest import mock

import paramiko
from paramiko.buffered_pipe import BufferedPipe
from paramiko.pipe import PosixPipe

from mgmt_drivers.clock import SYSTEM_CLOCK, NotYet
from mgmt_drivers.errors import (
    CommandFailed,
    CommandTimeout,
    ConnectionFailed,
    OutputTooLong,
    WrongHostKey,
)
from mgmt_drivers.machine.host import Host
from mgmt_drivers.secret import Masker, Secret
from mgmt_drivers.setup.preflight import WaitForCloudInit
from mgmt_drivers.ssh.connection import Connection, Endpoint
from mgmt_drivers.ssh.conversation import converse
from mgmt_drivers.ssh.handshake import connect
from mgmt_drivers.ssh.hostkeys import HostKeys, KnownKey
from mgmt_drivers.ssh.session import COUNT, DEFAULT_OUTPUT, LARGE_OUTPUT, LIST_OUTPUT
from mgmt_drivers.ssh.watchdog import Watchdog
from mgmt_drivers.testing.fakes import NODE
from mgmt_drivers.testing.local_sshd import sshd

PASSWORD = "p'a\"s$ wörd"


class ServerTest(unittest.TestCase):
    def setUp(self) -> None:
        manager = sshd(PASSWORD)
        self.sshd = manager.__enter__()
        self.addCleanup(manager.__exit__, None, None, None)
        self.keys = HostKeys()

    def log_in(
        self,
        password: str = PASSWORD,
        known: tuple[str, ...] = (),
        login_limit: float = 0.5,
        boot_limit: float = 60,
    ) -> Connection:
        secret = Secret(password)
        keys = tuple(map(KnownKey.parse, known))
        endpoint = Endpoint(
            "127.0.0.1", "ubuntu", secret, "server-1", self.sshd.port, host_keys=keys
        )
        connection = connect(
            endpoint, self.keys, Masker([secret]), boot_limit=boot_limit, login_limit=login_limit
        )
        self.addCleanup(connection.close)
        return connection


class WatchdogTest(unittest.TestCase):
    def test_each_block_has_its_own_limit(self) -> None:
        watchdog = Watchdog()
        self.addCleanup(watchdog.close)
        acted = [threading.Event() for _ in range(4)]

        def fail() -> None:
            acted[3].set()
            raise OSError("nobody may be held up by it")

        with (
            watchdog.after(60, acted[0].set), watchdog.after(0.05, fail),
            watchdog.after(0.2, acted[1].set), watchdog.after(0.1, acted[2].set),
        ):
            for number in (3, 2, 1):
                self.assertTrue(acted[number].wait(30))
        with watchdog.after(0.05, acted[0].set):
            pass
        time.sleep(0.1)
        self.assertFalse(acted[0].is_set())


class ConnectionTest(ServerTest):
    def folder(self) -> str:
        made = tempfile.TemporaryDirectory()
        self.addCleanup(made.cleanup)
        return made.name

    def test_words_reach_the_program_as_they_are(self) -> None:
        words = ["a b", "$HOME", "'", '"', "*", "ä", "", ";x"]
        result = self.log_in().run(["printf", "%s\\n", *words])
        self.assertEqual("\n".join(words) + "\n", result.stdout)

    def test_status_stdout_and_stderr_are_apart(self) -> None:
        result = self.log_in().run(["sh", "-c", "echo out; echo err >&2; exit 3"], check=False)
        self.assertEqual((3, "out\n", "err\n"), (result.status, result.stdout, result.stderr))

    def test_much_in_and_out_at_once(self) -> None:
        data = os.urandom(3_000_000).hex()
        self.assertEqual(data, self.log_in().run(["cat"], stdin=data, limit=LARGE_OUTPUT).stdout)

    def test_a_file_is_streamed(self) -> None:
        with tempfile.NamedTemporaryFile() as file:
            file.write(b"x" * 5_000_000)
            file.flush()
            result = self.log_in().run(["wc", "-c"], stdin=Path(file.name))
        self.assertEqual("5000000", result.stdout.strip())

    def test_a_command_that_does_not_read_its_input_ends_well(self) -> None:
        self.assertTrue(self.log_in().run(["true"], stdin=b"x" * 10_000_000).ok)

    def test_one_login_for_many_commands(self) -> None:
        connection = self.log_in()
        for _ in range(5):
            connection.run(["true"])
        self.assertEqual(1, self.sshd.server.logins)

    def test_a_machine_may_be_short_of_sessions(self) -> None:
        connection = self.log_in()
        self.sshd.server.refusals = 2
        self.assertTrue(connection.run(["true"]).ok)
        self.assertEqual(0, self.sshd.server.refusals)

    def test_commands_at_a_time_are_few(self) -> None:
        """sshd's MaxSessions is ten; a cluster may have more nodes that ask one master."""
        connection = self.log_in()
        running = self.folder()
        count = 'mkdir "$1/$$"; ls "$1"; sleep 0.05; rmdir "$1/$$"'
        with ThreadPoolExecutor(20) as pool:
            words = ["sh", "-c", count, "sh", running]
            results = list(pool.map(lambda _: connection.run(words), range(40)))
        self.assertLessEqual(max(len(r.stdout.split()) for r in results), 4)

    def test_waiting_for_a_session_takes_nothing_from_a_command(self) -> None:
        connection, limit = self.log_in(), 10.0
        for _ in range(4):
            connection._sessions.acquire()
        with ThreadPoolExecutor(1) as pool:
            ran = pool.submit(connection.run, ["true"], timeout=limit)
            time.sleep(limit)
            connection._sessions.release()
            self.assertTrue(ran.result().ok)

    def test_only_input_is_ended(self) -> None:
        """An end of input behind a channel's own end makes sshd end the connection."""
        connection = self.log_in()
        with mock.patch.object(paramiko.Channel, "shutdown_write", autospec=True) as ended:
            self.assertEqual("", connection.run(["cat"]).stdout)
            ended.assert_not_called()
        self.assertEqual("x", connection.run(["cat"], stdin="x").stdout)

    def test_failure_tells_command_status_and_tail_without_secrets(self) -> None:
        script = "printf 'the password is ' >&2; cat >&2; exit 9"
        with self.assertRaises(CommandFailed) as caught:
            self.log_in().run(["sh", "-c", script], stdin=Secret(PASSWORD))
        self.assertEqual(9, caught.exception.status)
        self.assertIn("the password is ***", str(caught.exception))
        self.assertNotIn(PASSWORD, str(caught.exception))

    def test_a_secret_across_the_cut_of_the_tail_is_masked(self) -> None:
        rest = "x" * (2000 - len(PASSWORD) // 2)
        with self.assertRaises(CommandFailed) as caught:
            self.log_in().run(["sh", "-c", f"cat; printf {rest}; exit 9"], stdin=Secret(PASSWORD))
        self.assertNotIn(PASSWORD[-3:], str(caught.exception))

    def test_deadline(self) -> None:
        with self.assertRaisesRegex(CommandTimeout, "`sleep 60` did not end within 0.3 s"):
            self.log_in().run(["sleep", "60"], timeout=0.3)

    def test_output_without_end_is_given_up(self) -> None:
        """On either stream; and the connection can be used on."""
        connection = self.log_in()
        for script in ("cat /dev/zero", "cat /dev/zero >&2"):
            with self.assertRaisesRegex(OutputTooLong, f"{script}.*wrote more than 64 KiB"):
                connection.run(["sh", "-c", script])
            with self.assertRaisesRegex(OutputTooLong, "wrote more than 1024 KiB"):
                connection.run(["sh", "-c", script], limit=LIST_OUTPUT)
        more = ["head", "-c", str(DEFAULT_OUTPUT + 1), "/dev/zero"]
        with self.assertRaises(OutputTooLong):
            connection.run(more)
        self.assertTrue(connection.run(more, limit=LIST_OUTPUT).ok)
        self.assertTrue(connection.run(["true"]).ok)

    def test_giving_up_a_command_that_writes_on_breaks_nothing_else(self) -> None:
        """paramiko's pipe for select() would, when its end takes the time of some output."""

        def close_slowly(pipe: PosixPipe) -> None:
            close(pipe)
            pipe._closed = False  # type: ignore[attr-defined]
            time.sleep(0.5)
            pipe._closed = True  # type: ignore[attr-defined]

        close, connection = PosixPipe.close, self.log_in()
        slowly = mock.patch.object(PosixPipe, "close", close_slowly)
        script = f"head -c {DEFAULT_OUTPUT} /dev/zero; while :; do echo; sleep 0.01; done"
        with slowly, self.assertRaises(OutputTooLong):
            connection.run(["sh", "-c", script])
        self.assertTrue(connection.run(["true"]).ok)

    def test_an_error_quotes_the_end_of_what_was_written_in_one_line(self) -> None:
        script = r"head -c 5000000 /dev/zero; printf 'why\033[2J\n2026 INFO forged' >&2; exit 1"
        with self.assertRaises(CommandFailed) as caught:
            self.log_in().run(["sh", "-c", script, "x" * 100_000], limit=LARGE_OUTPUT)
        self.assertLess(len(str(caught.exception)), 5000)
        self.assertIn(r"why\x1b[2J\n2026 INFO forged", str(caught.exception))

    def test_secrets_are_masked_in_what_is_told_of_a_status_that_is_an_answer(self) -> None:
        result = self.log_in().run(["cat"], stdin=Secret(PASSWORD), check=False)
        self.assertEqual((PASSWORD, "***"), (result.stdout, result.tail))

    def test_a_machine_that_never_stops_talking_does_not_hold_up_the_deadline(self) -> None:
        started = time.monotonic()
        channel = cast(paramiko.Channel, Talks())
        with self.assertRaises(TimeoutError):
            converse(channel, b"", None, started + 0.2, limit=sys.maxsize)
        self.assertLess(time.monotonic() - started, 60)

    def test_a_machine_that_takes_no_more_data_holds_nobody(self) -> None:
        """The threads that send end at the deadline, and the connection with them."""
        self.sshd.server.goes_deaf = True
        connection = self.log_in()
        # Less than the machine's end of the channel would take without reading it.
        sock = cast(socket.socket, connection._transport.sock)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 16)
        started = time.monotonic()
        with self.assertRaisesRegex(CommandTimeout, "`cat` did not end within 0.5 s"):
            connection.run(["cat"], stdin=b"x" * 20_000_000, timeout=0.5)
        self.assertLess(time.monotonic() - started, 60)
        with self.assertRaises(ConnectionFailed):
            connection.run(["true"])

    def test_a_machine_that_does_not_consent_holds_nobody(self) -> None:
        connection = self.log_in()
        self.sshd.server.is_silent = True
        started = time.monotonic()
        with self.assertRaisesRegex(ConnectionFailed, "broke during `true`: Channel closed"):
            connection.run(["true"])
        self.assertLess(time.monotonic() - started, 50)

    def test_each_thread_counts_its_commands(self) -> None:
        connection, before = self.log_in(), COUNT.commands
        connection.run(["true"])
        connection.run(["false"], check=False)
        other = threading.Thread(target=connection.run, args=(["true"],))
        other.start()
        other.join()
        self.assertEqual(before + 2, COUNT.commands)

    def test_one_thread_watches_all_commands(self) -> None:
        self.assertEqual(0, self.running_watchdogs(10))
        connection = self.log_in()
        with mock.patch("threading.Timer", side_effect=AssertionError("a timer for one command")):
            for _ in range(3):
                connection.run(["true"])
        self.assertEqual(1, self.running_watchdogs(0))
        connection.close()
        with self.assertRaises(ConnectionFailed):
            self.log_in("wrong")
        self.assertEqual(0, self.running_watchdogs(10))

    def running_watchdogs(self, patience: float) -> int:
        threads = [t for t in threading.enumerate() if t.name == "ssh-watchdog"]
        for thread in threads:
            thread.join(patience)
        return sum(thread.is_alive() for thread in threads)

    def test_connection_that_breaks(self) -> None:
        connection = self.log_in()
        threading.Timer(0.3, self.sshd.cut).start()
        with self.assertRaisesRegex(ConnectionFailed, "broke during `sleep 60`"):
            connection.run(["sleep", "60"], timeout=20)

    def test_wrong_password(self) -> None:
        with self.assertRaises(ConnectionFailed) as caught:
            self.log_in("secret but wrong")
        self.assertIn("refuses the login of user ubuntu", str(caught.exception))
        self.assertNotIn("secret but wrong", str(caught.exception))

    def test_the_former_login_is_tried_on_the_same_connection(self) -> None:
        for password, former, has_former in ((PASSWORD, "old", False), ("new", PASSWORD, True)):
            old, older = (
                Endpoint("127.0.0.1", "ubuntu", Secret(each), "s", is_former=True)
                for each in (former, "older")
            )
            new = Endpoint(
                "127.0.0.1", "ubuntu", Secret(password), "server-1", self.sshd.port,
                formers=(old, older),
            )
            connection = connect(new, self.keys, Masker([]), login_limit=0)
            self.addCleanup(connection.close)
            self.assertEqual(has_former, connection.has_former_login)
        self.assertEqual(3, self.sshd.server.attempts)
        with self.assertRaisesRegex(ConnectionFailed, "refuses the login"):
            new = dataclasses.replace(new, formers=(older,))
            connect(new, self.keys, Masker([]), login_limit=0)

    def test_each_login_is_tried_also_if_a_connection_takes_few(self) -> None:
        for tries, last in ((1, PASSWORD), (2, PASSWORD), (2, "none")):
            self.sshd.server.tries, self.sshd.server.attempts = tries, 0
            endpoint, *formers = (
                Endpoint("127.0.0.1", "ubuntu", Secret(each), "s", self.sshd.port)
                for each in ("new", "old", "older", last)
            )
            endpoint = dataclasses.replace(endpoint, formers=(*formers,))
            if last == PASSWORD:
                self.addCleanup(connect(endpoint, self.keys, Masker([]), 10).close)
                self.assertEqual(4, self.sshd.server.attempts)
            else:
                with self.assertRaisesRegex(ConnectionFailed, "refuses the login"):
                    connect(endpoint, self.keys, Masker([]), 10, login_limit=0.5)

    def test_a_machine_that_answers_no_more_has_refused_the_login(self) -> None:
        threading.Timer(0.5, self.sshd.close).start()
        words = "(?i)refused.*Before that, .* refuses the login"
        with self.assertRaisesRegex(ConnectionFailed, words):
            self.log_in("wrong", login_limit=60, boot_limit=2)

    def test_password_that_cloud_init_sets_late(self) -> None:
        self.sshd.server.password = "not yet"
        threading.Timer(0.3, setattr, (self.sshd.server, "password", PASSWORD)).start()
        self.assertTrue(self.log_in(login_limit=60).run(["true"]).ok)

    def test_nobody_listens(self) -> None:
        self.sshd.close()
        with self.assertRaisesRegex(ConnectionFailed, "SSH to 127.0.0.1 port .* within 1 s"):
            self.log_in(boot_limit=1)

    def test_changed_host_key(self) -> None:
        self.log_in()
        self.sshd.key = paramiko.ECDSAKey.generate()
        with self.assertRaisesRegex(WrongHostKey, "SHA256:.* server-1 was not replaced"):
            self.log_in()

    def test_a_key_is_pinned_only_by_a_login_that_works(self) -> None:
        """cloud-init replaces the keys of the image, and not before a machine answers."""
        with self.assertRaises(ConnectionFailed):
            self.log_in("wrong")
        self.assertEqual({}, self.keys.as_dict())
        self.sshd.key = paramiko.ECDSAKey.generate()
        self.log_in()
        self.assertEqual({"server-1"}, set(self.keys.as_dict()))

    def test_a_key_that_is_none_of_those_given_gets_no_login(self) -> None:
        """Nor the password, which whoever answers would learn."""
        other = _line(paramiko.ECDSAKey.generate())
        with self.assertRaisesRegex(WrongHostKey, "ecdsa-sha2-nistp256 SHA256:.* not in host_key"):
            self.log_in(known=(other,))
        self.assertEqual((0, {}), (self.sshd.server.attempts, self.keys.as_dict()))

    def test_a_wrong_key_is_no_machine_that_does_not_answer(self) -> None:
        """Of a machine that runs an answer is expected at once."""
        known = (KnownKey.parse(_line(paramiko.ECDSAKey.generate())),)
        endpoint = Endpoint(
            "127.0.0.1", "ubuntu", None, "server-1", self.sshd.port, host_keys=known
        )
        with self.assertRaises(WrongHostKey):
            connect(endpoint, self.keys, Masker([]), boot_limit=0.3, login_limit=30)

    def test_a_key_that_is_given_is_taken(self) -> None:
        right = f"SHA256:{fingerprint(self.sshd.key)}"
        for known in ((_line(self.sshd.key),), (_line(paramiko.ECDSAKey.generate()), right)):
            self.assertTrue(self.log_in(known=known).run(["true"]).ok)

    def test_a_key_that_cloud_init_makes_late(self) -> None:
        right = paramiko.ECDSAKey.generate()
        threading.Timer(0.2, setattr, (self.sshd, "key", right)).start()
        self.assertTrue(self.log_in(known=(_line(right),), login_limit=60).run(["true"]).ok)

    def test_of_several_keys_the_machine_shows_the_one_that_is_given(self) -> None:
        given = paramiko.RSAKey.generate(2048)
        self.sshd.more_keys = [given]
        self.assertTrue(self.log_in(known=(_line(given),)).run(["true"]).ok)
        self.assertEqual("ssh-rsa", self.keys.type_of("server-1"))

    def test_an_rsa_host_key_is_known_again(self) -> None:
        self.sshd.key = paramiko.RSAKey.generate(2048)
        for _ in range(2):
            self.assertTrue(self.log_in().run(["true"]).ok)

    def test_another_type_of_host_key_is_a_changed_one(self) -> None:
        self.log_in()
        self.sshd.key = paramiko.RSAKey.generate(2048)
        with self.assertRaises(WrongHostKey):
            self.log_in()


class PacketTest(unittest.TestCase):
    def test_a_packet_that_says_it_is_long_is_not_waited_for(self) -> None:
        with socket.create_server(("127.0.0.1", 0)) as listening:
            taken = threading.Event()

            def serve() -> None:
                client, _ = listening.accept()
                with client, contextlib.suppress(OSError):
                    client.sendall(b"SSH-2.0-test\r\n" + struct.pack(">IB", (1 << 30) + 4, 0))
                    client.sendall(bytes(50_000_000))
                    taken.set()

            thread = threading.Thread(target=serve)
            thread.start()
            endpoint = Endpoint("127.0.0.1", "ubuntu", None, "x", listening.getsockname()[1])
            with self.assertRaises(ConnectionFailed):
                connect(endpoint, HostKeys(), Masker([]), boot_limit=0.1)
            thread.join()
            self.assertFalse(taken.is_set())


class SudoTest(ServerTest):
    """sudo with and without a password, played by a program of that name."""

    def setUp(self) -> None:
        super().setUp()
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.bin = Path(folder.name)
        before = os.environ["PATH"]
        self.addCleanup(os.environ.__setitem__, "PATH", before)
        os.environ["PATH"] = f"{self.bin}:{before}"

    def install_sudo(self, script: str) -> None:
        path = self.bin / "sudo"
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)

    def test_sudo_without_password(self) -> None:
        self.install_sudo('[ "$1" = -n ] && shift; [ "$1" = -- ] && shift; exec "$@"')
        self.assertEqual("hello", self.log_in().run(["cat"], stdin="hello", sudo=True).stdout)

    def test_programs_speak_english_whatever_the_machine_does(self) -> None:
        language = 'LC_ALL=de_DE.UTF-8 LANG=de_DE.UTF-8 LANGUAGE=de exec "$@"'
        self.install_sudo(f'[ "$1" = -n ] && shift; [ "$1" = -- ] && shift; {language}')
        connection = self.log_in()
        words = ["sh", "-c", 'echo "$LC_ALL"']
        with mock.patch.dict(os.environ, {"LC_ALL": "de_DE.UTF-8"}):
            for sudo in (False, True):
                self.assertEqual("C\n", connection.run(words, sudo=sudo).stdout)
            self.assertEqual("C\n", connection.hold(words, "C").stdout)

    def test_sudo_reads_the_password_before_the_input(self) -> None:
        self.install_sudo('[ "$1" = -n ] && exit 1; IFS= read -r p; shift 5; echo "$p"; exec "$@"')
        result = self.log_in().run(["cat"], stdin="hello", sudo=True)
        self.assertEqual(f"{PASSWORD}\nhello", result.stdout)


class HoldTest(SudoTest):
    def setUp(self) -> None:
        super().setUp()
        self.install_sudo('[ "$1" = -n ] && shift; [ "$1" = -- ] && shift; exec "$@"')

    def test_a_reboot_of_cloud_init_is_survived(self) -> None:
        """cloud-init breaks all connections of the machine once, and ends the second time."""
        rebooted, asked = self.bin / "rebooted", self.bin / "asked"
        program = self.bin / "cloud-init"
        program.write_text(f"#!/bin/sh\necho >>{asked}\n[ -e {rebooted} ] || exec sleep 5\n")
        systemctl = self.bin / "systemctl"  # this machine may have no systemd
        systemctl.write_text("#!/bin/sh\necho running\n")
        for path in (program, systemctl):
            path.chmod(0o755)

        def reboot() -> None:
            SYSTEM_CLOCK.until(functools.partial(self.is_there, asked), 20, "the wait")
            rebooted.touch()
            self.sshd.cut()

        thread = threading.Thread(target=reboot)
        thread.start()
        self.addCleanup(thread.join)
        host = Host(NODE, self.log_in(), reopen=self.log_in)
        WaitForCloudInit().check(host, None)
        self.assertEqual(2, len(asked.read_text().splitlines()))

    def is_there(self, path: Path) -> None:
        if not path.exists():
            raise NotYet(f"no {path}")

    def test_it_lasts_as_long_as_the_connection(self) -> None:
        """However that ends; and no command has to wait for it."""
        for number, end in enumerate((Connection.close, lambda _: self.sshd.cut())):
            ended = self.bin / f"ended-{number}"
            connection = self.log_in()
            begun = connection.hold(["sh", "-c", f"echo begun; echo; cat; touch {ended}"], "begun")
            self.assertEqual((0, "begun"), (begun.status, begun.stdout.split()[0]))
            self.assertTrue(connection.run(["true"]).ok)
            self.assertFalse(ended.exists())
            end(connection)
            deadline = time.monotonic() + 20
            while not ended.exists() and time.monotonic() < deadline:
                time.sleep(0.02)
            self.assertTrue(ended.exists())

    def test_one_that_ends_says_why(self) -> None:
        seen = self.log_in().hold(["sh", "-c", 'echo "$1" >&2; exit 75', "sh", PASSWORD], "held")
        self.assertEqual((75, "", "***"), (seen.status, seen.stdout, seen.tail))

    def test_one_that_does_not_begin(self) -> None:
        with self.assertRaisesRegex(CommandTimeout, "`sudo sleep 60` did not end within 0.3 s"):
            self.log_in().hold(["sleep", "60"], "held", timeout=0.3)

    def test_what_comes_afterwards_is_limited(self) -> None:
        connection = self.log_in()
        connection._sudo_needs_password = False
        self.sshd.server.floods = True
        self.assertEqual("held", connection.hold(["cat"], "held").stdout[:4])
        self.assert_ends(connection)
        (channel,) = connection._held
        self.assertLessEqual(len(channel.in_buffer), 2 << 20)

    def assert_ends(self, connection: Connection) -> None:
        deadline = time.monotonic() + 120
        while connection._transport.is_active() and time.monotonic() < deadline:
            time.sleep(0.05)
        with self.assertRaises(ConnectionFailed):
            connection.run(["true"])

    def test_sudo_gets_its_password(self) -> None:
        self.install_sudo('[ "$1" = -n ] && exit 1; IFS= read -r p; shift 5; echo "$p"; exec "$@"')
        self.assertEqual(f"{PASSWORD}\n", self.log_in().hold(["cat"], PASSWORD).stdout)


class ShellTest(HoldTest):
    """A shell whose start-up files print something of their own, with and without a line's end."""

    def setUp(self) -> None:
        super().setUp()
        self.sshd.server.start_up = "echo Welcome; printf 'held\nnear> '; "

    def test_no_command_is_harmed_and_the_login_is_told_of_once(self) -> None:
        with self.assertLogs("mgmt_drivers.ssh", "WARNING") as logs:
            connection = self.log_in()
            for words in ("one", "two"):
                seen = connection.run(["echo", words])
                self.assertEqual(f"{words}\n", seen.stdout)
            self.assertEqual(b"x", connection.run(["cat"], stdin=b"x", sudo=True).stdout.encode())
        (line,) = logs.output
        self.assertIn("the shell of user ubuntu on 127.0.0.1 prints something of its own", line)
        self.assertIn("Welcome", line)

    def test_the_lock_is_held_when_the_command_says_so(self) -> None:
        with self.assertRaisesRegex(CommandTimeout, "`sudo sleep 60` did not end"):
            self.log_in().hold(["sleep", "60"], "held", timeout=0.5)
        seen = self.log_in().hold(["sh", "-c", "echo no; echo held; cat"], "held")
        self.assertEqual((0, "no\nheld\n"), (seen.status, seen.stdout))

    def test_a_shell_that_runs_nothing(self) -> None:
        """As root's of many images, and as one that only tells who may log in."""
        self.sshd.server.start_up = "echo Log in as debian; exit 1; "
        with self.assertRaisesRegex(CommandFailed, "status 1: Log in as debian"):
            self.log_in().run(["true"])
        self.sshd.server.start_up = "echo A menu; exit 0; "
        words = "the shell of user ubuntu on 127.0.0.1 did not run `true`, but printed: A menu"
        with self.assertRaisesRegex(ConnectionFailed, words):
            self.log_in().run(["true"])


class AlgorithmsTest(ServerTest):
    def test_a_server_with_weak_algorithms_only_is_refused(self) -> None:
        for kind, name in (
            ("ciphers", "aes128-cbc"), ("ciphers", "3des-cbc"), ("digests", "hmac-md5"),
            ("digests", "hmac-sha1-96"),
        ):
            with self.subTest(name):
                self.sshd.algorithms = {"ciphers": ("aes128-ctr",), kind: (name,)}
                with self.assertRaisesRegex(ConnectionFailed, "no acceptable"):
                    self.log_in(boot_limit=0.1)

    def test_what_openssh_9_offers_is_taken(self) -> None:
        for kind, name in (("ciphers", "aes256-gcm@openssh.com"), ("digests", "hmac-sha2-512"),
                           ("kex", "curve25519-sha256@libssh.org")):
            self.sshd.algorithms = {"ciphers": ("aes128-ctr",), kind: (name,)}
            self.assertTrue(self.log_in().run(["true"]).ok)

    def test_nothing_is_offered_that_openssh_does_not(self) -> None:
        """What goes over the wire, beside what the machine's own ssh says of itself."""
        version = subprocess.run(["ssh", "-V"], capture_output=True, text=True).stderr
        if not version.startswith("OpenSSH_9"):
            self.skipTest(f"no OpenSSH 9 here: {version}")
        command = ["ssh", "-F", "none", "-G", "localhost"]
        shown = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        settings = dict(line.split(maxsplit=1) for line in shown.splitlines() if " " in line)
        kex, keys, ciphers, _, macs = offers()
        # Signs that are no algorithms, and one that came with OpenSSH 9.9.
        kex = {name for name in kex if not name.startswith(("ext-info", "kex-strict", "mlkem"))}
        for offered, setting in ((kex, "kexalgorithms"), (keys, "hostkeyalgorithms"),
                                 (ciphers, "ciphers"), (macs, "macs")):
            self.assertTrue(offered)
            self.assertEqual(set(), offered - set(settings[setting].split(",")))


def offers() -> list[set[str]]:
    """The first five lists of names in a client's first packet (RFC 4253, 7.1)."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        endpoint = Endpoint("127.0.0.1", "ubuntu", None, "x", listening.getsockname()[1])

        def log_in() -> None:
            with contextlib.suppress(ConnectionFailed):
                connect(endpoint, HostKeys(), Masker([]), boot_limit=0.1)

        thread = threading.Thread(target=log_in)
        thread.start()
        client, _ = listening.accept()
        with client, client.makefile("rb") as stream:
            client.sendall(b"SSH-2.0-test\r\n")
            stream.readline()
            length, _ = struct.unpack(">IB", stream.read(5))
            packet = paramiko.Message(stream.read(length - 1))
    thread.join()
    packet.get_bytes(1 + 16)  # its number and the cookie
    return [set(packet.get_list()) for _ in range(5)]


def _line(key: paramiko.PKey) -> str:
    """A key as OpenSSH's file of it has it."""
    return f"{key.get_name()} {key.get_base64()} root@machine"


def fingerprint(key: paramiko.PKey) -> str:
    return base64.b64encode(hashlib.sha256(key.asbytes()).digest()).decode().rstrip("=")


class EndsAfter:
    """A channel whose command ends, all at once, when it has been asked so many questions."""

    def __init__(self, questions: int) -> None:
        self.in_buffer = self.in_stderr_buffer = BufferedPipe()
        self._left = questions
        self._output = b"done"

    def _ended(self) -> bool:
        self._left -= 1
        return self._left < 0

    closed = eof_received = property(_ended)

    def exit_status_ready(self) -> bool:
        return self._ended()

    def recv_exit_status(self) -> int:
        return 0

    def recv_ready(self) -> bool:
        self._ended()
        return bool(self._output)

    def recv(self, _: int) -> bytes:
        output, self._output = self._output, b""
        return output

    def recv_stderr_ready(self) -> bool:
        self._ended()
        return False

    def send_ready(self) -> bool:
        return True

    def setblocking(self, _: bool) -> None: ...

    def shutdown_write(self) -> None: ...


class Talks(EndsAfter):
    """A channel that always has another byte."""

    closed = eof_received = property(lambda self: False)

    def __init__(self) -> None:
        super().__init__(0)

    def recv_ready(self) -> bool:
        return True

    def recv(self, _: int) -> bytes:
        return b"x"

    def exit_status_ready(self) -> bool:
        return False


class EndTest(unittest.TestCase):
    def test_whatever_comes_last_is_seen(self) -> None:
        """Whether the end falls before or after any of the questions."""
        for questions in range(12):
            with self.subTest(questions):
                channel = cast(paramiko.Channel, EndsAfter(questions))
                status, output = converse(channel, b"", io.BytesIO(), time.monotonic() + 60)
                self.assertEqual((0, ("done", "")), (status, output.texts()[::2]))
