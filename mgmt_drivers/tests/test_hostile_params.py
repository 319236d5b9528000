"""Parameters that attack: each is refused with its path, or cannot leave its place in a file."""

import json
import re
import subprocess
import unittest
from collections.abc import Callable
from typing import Any

from hypothesis import example, given, settings
from hypothesis import strategies as st

from mgmt_drivers import grammar
from mgmt_drivers.cluster.load_balancer import haproxy, keepalived
from mgmt_drivers.cluster.registries.registries_params import REGISTRIES
from mgmt_drivers.cluster.storage.nfs import Export
from mgmt_drivers.errors import MgmtDriverError
from mgmt_drivers.machine import syntax
from mgmt_drivers.params.proxy import PROXY, Proxy
from mgmt_drivers.params.reader import Reader, ValidationErrors
from mgmt_drivers.setup.configure_proxy import _apt, _environment

# The same inputs each time, and no files left behind.
settings.register_profile("repeatable", derandomize=True, database=None, deadline=None)
settings.load_profile("repeatable")

_GOOD = ("10.0.0.1", "10.0.0.0/8", "fe80::1", "2001:db8::/32", "example.com", ".lab", "*.org", "*",
         "registry:5000", "a_b.local", "[::1]:80", ".svc", "fc00::/7", "10.0.0.1:80", "*.1and1.de")
_ODD = st.text(st.sampled_from("%\n\r\0\t \"'\\$`;#{}()=/.,:١ａé\u2028\x85") | st.characters())


def _spoilt(words: tuple[str, ...]) -> st.SearchStrategy[str]:
    """Good words with anything in them, behind them, or as the scope of an address."""
    good = st.sampled_from(words)
    cut = st.tuples(good, st.integers(0, 20), _ODD).map(lambda t: t[0][: t[1]] + t[2] + t[0][t[1]:])
    scope = st.tuples(st.sampled_from(("fe80::1", "fe80::")), _ODD).map("%".join)
    return good | cut | scope | scope.map("{}/64".format) | _ODD


class ProxyTest(unittest.TestCase):
    @given(st.lists(_spoilt(_GOOD), max_size=4))
    @example(["fe80::1%\nLD_PRELOAD=/tmp/x"])
    @example(['fe80::1%"; touch /tmp/x; "', "fe80::%$(id)/64"])
    def test_no_proxy_is_refused_or_stays_one_variable(self, words: list[str]) -> None:
        proxy, errors = self.read({"no_proxy": ",".join(words)})
        for error in errors:
            self.assertTrue(error.startswith("p.no_proxy: "), error)
        if errors:
            return
        text = _environment(proxy).reveal()
        self.assertRegex(text, r'\AHTTP_PROXY="[^"\n]+"\n(NO_PROXY="[A-Za-z0-9.,:/*_\[\]-]+"\n)?\Z')
        for line in _apt(proxy).reveal().splitlines():
            self.assertRegex(line, r'\AAcquire::http::Proxy(::[A-Za-z0-9.-]+)? "[^"\\]+";\Z')

    def test_what_is_good_is_taken(self) -> None:
        for word in _GOOD:
            self.assertEqual([], self.read({"no_proxy": word})[1], word)

    @given(_spoilt(("http://me:p%21@proxy.example.com:3128/x", "https://[fe80::1]", "http://p")))
    @example("http://h]")
    @example("http://..")
    @example("http://p:٣")
    def test_a_url_is_refused_or_stays_one_value(self, url: str) -> None:
        if not url:
            return  # no proxy
        proxy, errors = self.read({"http_proxy": url})
        self.assertTrue(all(error.startswith("p.http_proxy: ") for error in errors), errors)
        if not errors:
            self.assertEqual(2, _environment(proxy).reveal().count('"'))
            self.assertEqual(2, _apt(proxy).reveal().count('"'))

    def read(self, values: dict[str, Any]) -> tuple[Proxy, list[str]]:
        errors = ValidationErrors()
        found = PROXY.parse(Reader({"http_proxy": "http://p", **values}, "p", errors))
        assert found
        return found, errors.messages


class HostEntryTest(unittest.TestCase):
    @given(_spoilt(("192.0.2.1", "2001:db8::1")), _spoilt(("registry.example.com",)))
    @example("fe80::1%#", "registry.example.com")
    @example("fe80::1%\u2028127.0.0.1", "x")
    def test_it_is_refused_or_one_line_of_two_words(self, address: str, name: str) -> None:
        errors = ValidationErrors()
        entry = {"connection_type": 1, "server": "a.b", "hosts_string": f"{address} {name}"}
        (registry,) = REGISTRIES.parse(Reader([entry], "p", errors))
        where = "p[0].hosts_string: "
        self.assertTrue(all(error.startswith(where) for error in errors.messages), errors.messages)
        if not errors.messages:
            assert registry.host_entry
            self.assertRegex(str(registry.host_entry), r"\A[0-9A-Fa-f:.]+ [A-Za-z0-9.-]+\Z")


class SyntaxTest(unittest.TestCase):
    """Renderers do not trust readers."""

    @settings(max_examples=30)
    @given(st.lists(_ODD | st.text(st.characters(max_codepoint=126)), max_size=30))
    def test_a_variable_means_to_a_shell_what_it_was(self, values: list[str]) -> None:
        taken = [(value, line) for value in values if (line := _made(syntax.variable, value))]
        script = "".join(f"{line}printf '%s\\0' \"$N\"\n" for _, line in taken)
        ran = subprocess.run(["sh"], input=script.encode(), stdout=subprocess.PIPE, check=True)
        self.assertEqual([value for value, _ in taken], ran.stdout.decode().split("\0")[:-1])

    @given(_ODD)
    def test_an_option_of_apt_is_one_line(self, value: str) -> None:
        named = _made(lambda _, text: syntax.apt_option(f"A::{text}", "DIRECT"), value)
        for line in (_made(syntax.apt_option, value), named):
            self.assertRegex(line, r'\A(\Z|[A-Za-z0-9/._:-]+ "[^"\\\n]*";\n\Z)')

    @given(_ODD | st.text(st.characters(max_codepoint=126)))
    def test_a_string_of_toml_is_what_it_was(self, value: str) -> None:
        made = _made(lambda _, text: syntax.toml(text), value)
        if made:
            self.assertEqual(value, json.loads(made))  # alike, as far as ASCII goes

    @given(_ODD.filter(lambda text: not re.fullmatch(r"[A-Za-z0-9/._:-]*", text)))
    @example("10.0.0.0/8\n")
    def test_words_with_anything_else_are_refused(self, odd: str) -> None:
        for render in (
            lambda: syntax.words("good", odd),
            lambda: haproxy.render([(odd, "192.0.2.1")]),
            lambda: haproxy.render([("master", odd)]),
            lambda: keepalived.render("192.0.2.1", odd, "eth0", [], 0),
            lambda: keepalived.render("192.0.2.1", "192.0.2.2", odd, [], 0),
            lambda: keepalived.render("192.0.2.1", "192.0.2.2", "eth0", [odd], 0),
            lambda: Export(odd, "10.0.0.0/8", "/volume").line(),
            lambda: Export("/volume", odd, "/volume").line(),
            lambda: Export("/volume", "10.0.0.0/8", odd).line(),
        ):
            with self.assertRaises(MgmtDriverError):
                render()


class GrammarTest(unittest.TestCase):
    def test_what_is_none(self) -> None:
        for is_one, texts in (
            (grammar.address, ("fe80::1%eth0", "١.1.1.1", "10.0.0.256", "", "1.1.1.1\n")),
            (grammar.network, ("10.0.0.0", "10.0.0.0/255.0.0.0", "fe80::%x/64", "10.0.0.0/٨")),
            (grammar.is_name, ("a..b", "-a", "a.", "10.0.0.256", "é", "a" * 64, "a." * 126 + "ab")),
            (grammar.is_direct, ("0.0.0.0/0", "::/0", "a b", "", "]::1[:80", "1.2.3.400", "::/1",
                                 "1.2.3.400:80", "10.0.0.0/7", "2000::/3", "[10.0.0.1]:80",
                                 "[::1]", "5000", "a.b:080", "::1]:80")),
            (grammar.is_image, ("-x", "a:b:c", "a/B", "a@sha256:1", "a b", "a:", "", "x" * 600)),
            (grammar.url, ("http://[v1.example.com]", "http://h/%zz", "http://h/%4", "http://h:080",
                           "http://[10.0.0.1]", "http://[::1]:01/", "http://h:x")),
            (grammar.port, ("0", "080", "65536", "٨٠", "5" * 5000, "+1")),
        ):
            for text in texts:
                self.assertFalse(is_one(text), text)


def _made(render: Callable[[str, str], str], value: str) -> str:
    """What is rendered for a name and the value; nothing where it is refused."""
    try:
        return render("N", value)
    except MgmtDriverError:
        return ""
