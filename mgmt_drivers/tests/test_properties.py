"""Properties of every request; ``python -m tools.fuzz`` tries more requests."""

import tempfile
import unittest
from pathlib import Path

from mgmt_drivers.cluster import cluster_params
from mgmt_drivers.errors import MgmtDriverError, ParameterError
from mgmt_drivers.params.proxy import Proxy
from mgmt_drivers.registry.registry_params import PrivateRegistryParams
from mgmt_drivers.schemas.request_schema import OBJECTS
from mgmt_drivers.secret import Secret
from mgmt_drivers.testing.properties import REFUSED, TAKEN, Input, Properties, complete, make
from mgmt_drivers.testing.rendered import APT, VARIABLE, Broken, check_files, lines, repeated

_INPUTS = 600


class PropertiesTest(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.properties = Properties(Path(folder.name))

    def test_they_hold(self) -> None:
        for number in range(_INPUTS):
            given = make(f"unit/{number}")
            try:
                self.properties.check(given)
            except Broken as broken:
                self.fail(f"{broken}\nby input {number} of seed unit:\n{given}")
        for outcome in (TAKEN, REFUSED):
            self.assertGreater(self.properties.outcomes[outcome], _INPUTS // 5, outcome)

    def test_the_examples_of_parameters_make_a_good_request(self) -> None:
        for name in OBJECTS:
            with self.subTest(name):
                self.properties.check(Input(name, complete(name), ()))
        self.assertEqual({TAKEN: len(OBJECTS)}, dict(self.properties.outcomes))

    def test_an_error_without_the_path_of_a_parameter_is_found(self) -> None:
        given = Input(cluster_params.NAME, {"vim_name": "a"}, ())
        good = f"{cluster_params.NAME}.vim_name: a\nb"  # told in one line
        self.properties.check_errors(ParameterError([good]), given)
        for text, words in (
            ("elsewhere: missing", "does not begin with a path"),
            (f"{cluster_params.NAME}: is Pl4nted", "tells a secret"),
        ):
            with self.assertRaisesRegex(Broken, words):
                self.properties.check_errors(ParameterError([text]), given)


class RenderedTest(unittest.TestCase):
    def test_what_is_malformed(self) -> None:
        for text in ("a\x00\n", "no end", "é\n", "\x1b[2J\n"):
            with self.assertRaises(Broken):
                lines(text)
        for form, text in (
            (VARIABLE, 'A="$HOME"\n'), (VARIABLE, 'A="x"; B="y"\n'), (VARIABLE, 'A="x"'),
            (APT, 'Acquire::http::Proxy "a\\"";\n'), (APT, 'Dir "x"; #include "y";\n'),
        ):
            with self.assertRaises(Broken):
                repeated(form, text)
        self.assertEqual([("A", "\\$x")], repeated(VARIABLE, 'A="\\$x"\n'))

    def test_files_of_parameters_that_no_reader_lets_pass(self) -> None:
        url = Secret("http://u:p\n@h")
        params = PrivateRegistryParams("CP1", "ubuntu", Secret("x"), proxy=Proxy(url))
        with self.assertRaises(MgmtDriverError):
            check_files(params)
