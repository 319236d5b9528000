"""Tests with Tacker and Heat: a package's UserData, templates, hooks and VIM in their hands.

The tests of this folder run with each supported release of Tacker (tox.ini).
"""

import importlib.util
import os
import sys
import unittest

_PROGRAMS = ("heat", "tacker")
_FROM = (3, 11)  # the Python that Heat needs


def needs_openstack(test: type[unittest.TestCase]) -> type[unittest.TestCase]:
    """Skip a class of tests outside of tox where Tacker or Heat are not installed."""
    is_there = all(importlib.util.find_spec(name) for name in _PROGRAMS)
    must_be_there = "TOX_ENV_NAME" in os.environ and sys.version_info >= _FROM
    reason = "needs Tacker and Heat: tox -e py3"
    return unittest.skipUnless(is_there or must_be_there, reason)(test)
