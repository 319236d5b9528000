"""Tries inputs: each is refused with paths, or carried out and judged."""

import contextlib
import copy
import json
import logging
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, Phase, Verbosity, given, seed, settings

from mgmt_drivers.cluster.cluster_params import NAME as KUBERNETES
from mgmt_drivers.errors import InventoryError, OperationError, ParameterError, told
from mgmt_drivers.registry.registry_params import NAME as REGISTRY
from tools.fuzz import meaning_kubernetes, meaning_modification, meaning_registry
from tools.fuzz.judge import Habits, judge, secrets_in
from tools.fuzz.machines import STORIES, Cloud
from tools.fuzz.meaning import Finding, Meaning
from tools.fuzz.mutations import Input, inputs
from tools.fuzz.packages import Package, Packages
from tools.fuzz.seeds import all_seeds, known_parameters

REFUSED, ACCEPTED, MISPLACED = "refused", "accepted", "misplaced"
# Where an error that is long is cut in its middle.
_COMPARED = 1900  # characters


class Attack:
    """Inputs that were tried, counted by what became of them; the last that was a finding.

    :param folder: where VNF packages are written
    :param progress: is called after each input
    """

    def __init__(
        self, folder: Path, progress: Callable[["Attack"], None] = lambda attack: None
    ) -> None:
        self.seeds = all_seeds()
        self.outcomes: Counter[str] = Counter()
        self.failing: Input | None = None
        self._progress = progress
        self._packages = Packages(folder)
        self._known: dict[str, list[str]] = defaultdict(list)  # keys by path
        for parameter in sorted(known_parameters()):
            above, _, key = parameter.rpartition(".")
            self._known[above].append(key)
        self._habits: dict[str, Habits] = defaultdict(Habits)  # by the driver's parameter
        self._inputs = inputs(self.seeds)

    @property
    def tried(self) -> int:
        return self.outcomes.total()

    def run(self, number: int, count: int) -> None:
        """Try some inputs, the same for a number; the smallest that is a finding comes last.

        :raises Finding: with what is wrong with that
        """
        self.failing = None

        @seed(number)
        @settings(
            max_examples=count,
            derandomize=False,
            database=None,
            deadline=None,
            phases=(Phase.generate, Phase.shrink),
            suppress_health_check=list(HealthCheck),
            report_multiple_bugs=False,
            verbosity=Verbosity.quiet,
            print_blob=False,
        )
        @given(self._inputs)
        def attempt(given: Input) -> None:
            try:
                outcome = self.outcome(given)
            except Finding:
                self.failing = given
                raise
            if self.failing is None:  # else it is only made smaller
                self.outcomes[outcome] += 1
                self._progress(self)

        with _silence():
            attempt()

    def outcome(self, given: Input) -> str:
        """What becomes of an input.

        Misplaced is one that names connection points of other machines: it says nothing wrong, and
        no machine has what it wants.

        :raises Finding: when it is what may not be
        """
        package = self._packages.of(given.seed)
        with package.having(given.files):
            before = copy.deepcopy(given.params)
            try:
                cloud = self._validated(package, given)
                if cloud is None:
                    return REFUSED
                rendering = cloud.carry_out(given.story)
            except ParameterError as error:
                self._check_errors(error, given)
                return REFUSED
            except InventoryError:
                return MISPLACED
            except OperationError as error:
                if any(isinstance(failure.cause, InventoryError) for failure in error.errors):
                    return MISPLACED
                raise Finding(f"accepted, and then: {error}") from error
            except Finding:
                raise
            except Exception as error:
                raise _no_error_of_parameters(error) from error
            if given.params != before and json.dumps(given.params) != json.dumps(before):
                raise Finding("the drivers change the request")
            meaning = _meaning(given, package.folder, rendering.nodes)
            judge(rendering, meaning, self._habits[given.seed.parameter], given.params)
        return ACCEPTED

    def _validated(self, package: Package, given: Input) -> Cloud | None:
        """The cloud of a request that was accepted; None of one that was refused."""
        cloud = Cloud(package, given.seed, given.params)
        try:
            cloud.validate()
        except ParameterError as error:
            self._check_errors(error, given)
            return None
        except Exception as error:
            raise _no_error_of_parameters(error) from error
        cloud.build()
        return cloud

    def _check_errors(self, error: ParameterError, given: Input) -> None:
        """Each error begins with the path of a parameter, is one line, and tells no secret."""
        paths = tuple(self._paths(given))
        for text in error.errors:
            if not text.isprintable() or not text.startswith(paths):
                raise Finding(f"an error that does not begin with a path of the request: {text!r}")
            if any(secret in text for secret in secrets_in(given.params)):
                raise Finding("an error tells a secret")

    def _paths(self, given: Input) -> Iterator[str]:
        """Of all that the request has or could have, as errors begin with them."""
        name = given.seed.parameter
        for path in _walk(name, given.params):
            yield told(f"{path}: ", 10**9)[:_COMPARED]
            # Also below what is no object, but should be.
            for key in self._known.get(re.sub(r"\[[0-9]+\]", "", path), ()):
                yield f"{path}.{key}: "

    def learn(self) -> None:
        """Carry good requests out: what the drivers then do is theirs, and no parameter's."""
        with _silence():
            self._learn()

    def _learn(self) -> None:
        # Request files differ by flavours, their variations alike; and the stories by container
        # runtimes, by roles and by Helm.
        for one in self.seeds:
            is_largest = one.has_storage and one.flavour != "simple"
            if one.number and not is_largest and one.parameter == KUBERNETES:
                continue
            has_stories = is_largest and one.number in (1, 4, 7) or one.cluster is not None
            for story in STORIES if has_stories else ("",):
                cloud = Cloud(self._packages.of(one), one, one.params)
                cloud.validate()
                cloud.build()
                self._habits[one.parameter].learn(cloud.carry_out(story))


def _no_error_of_parameters(error: Exception) -> Finding:
    return Finding(f"{type(error).__name__} is no error of parameters: {error}")


def _meaning(given: Input, package: Path, nodes: Collection[str]) -> Meaning:
    if given.seed.parameter == REGISTRY:
        return meaning_registry.of_request(given.params, package)
    if given.seed.cluster is not None:
        return meaning_modification.of_request(given.seed.cluster, given.params, package, nodes)
    return meaning_kubernetes.of_request(given.params, package, nodes)


def _walk(path: str, value: Any) -> Iterator[str]:
    """The paths of a value and of all in it."""
    yield path
    if isinstance(value, dict):
        for key, item in value.items():
            yield from _walk(f"{path}.{key}", item)
    elif isinstance(value, list):
        for number, item in enumerate(value):
            yield from _walk(f"{path}[{number}]", item)


@contextlib.contextmanager
def _silence() -> Iterator[None]:
    logging.disable(logging.CRITICAL)
    try:
        yield
    finally:
        logging.disable(logging.NOTSET)
