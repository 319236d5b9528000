"""The command that runs the scenarios."""

import argparse
import contextlib
import itertools
import json
import os
import re
import shutil
import tempfile
import unittest
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from unittest import mock

import yaml

from tools.devcloud import cli
from tools.devcloud.identity import CHECKOUT, Identity
from tools.devcloud.recipes import RELEASES
from tools.k8s_vnf.app import main
from tools.scenarios import __main__ as program
from tools.scenarios import report, runner, selection
from tools.scenarios.selection import Selection, expressions, groups, select


class RunTest(unittest.TestCase):
    def run_scenarios(self, preflight: int, skip: bool = False) -> tuple[int, bool]:
        """The exit status, and whether the scenarios ran."""
        with (
            mock.patch.object(program, "run_preflight", return_value=preflight),
            mock.patch.object(program, "run_scenarios", return_value=0) as run,
        ):
            return program._run(Selection(("one",)), Path("logs"), skip, {}), run.called

    def test_a_cloud_that_lacks_something_runs_no_scenario(self) -> None:
        self.assertEqual((1, False), self.run_scenarios(preflight=1))
        self.assertEqual((0, True), self.run_scenarios(preflight=0))

    def test_the_preflight_can_be_skipped(self) -> None:
        self.assertEqual((0, True), self.run_scenarios(preflight=1, skip=True))


class DevcloudTest(unittest.TestCase):
    """Which cloud a run takes down."""

    def setUp(self) -> None:
        stack = contextlib.ExitStack()
        self.addCleanup(stack.close)
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        stack.enter_context(mock.patch.dict(os.environ, {"XDG_STATE_HOME": folder}))
        self.state, self.logs = Identity().state, Path(folder)
        self.done: list[str] = []
        cloud = mock.Mock(up=self.up, down=self.down)
        variables = mock.Mock(variables=lambda _: {"OS_AUTH_URL": "http://192.0.2.1"})
        for module in (program, cli):
            stack.enter_context(mock.patch.object(module, "Cloud", lambda *_: cloud))
            stack.enter_context(mock.patch.object(module, "openrc", variables))
        stack.enter_context(mock.patch.object(program, "_run", self.run_scenarios))

    def up(self, _: str, release: str | None = None, monitoring: bool = False) -> None:
        words = ["up", release or "", "monitoring" if monitoring else ""]
        self.done.append(" ".join(filter(None, words)))
        self.state.mkdir(parents=True, exist_ok=True)
        (self.state / "settings.json").touch()

    def down(self) -> None:
        self.done.append("down")
        shutil.rmtree(self.state)

    def run_scenarios(self, *_: object) -> int:
        self.done.append("run")
        self.left_by_kill = {path.name for path in self.state.iterdir()}
        return 0

    def run_on_devcloud(self, *, keep: bool = False) -> list[str]:
        self.done.clear()
        options = argparse.Namespace(keep=keep, skip_preflight=True)
        with redirect_stdout(StringIO()):
            program._on_devcloud(Selection(("one",)), "", self.logs, options)
        return self.done

    def run_groups(self, *names: str, release: str | None = None) -> list[str]:
        """What a run of a scenario of each group does."""
        selection = Selection(tuple(f"functional.full.test_{name}.C.t" for name in names))
        options = argparse.Namespace(
            full=True, again=True, keep=False, skip_preflight=True, release=release, names=names
        )
        self.done.clear()
        with (
            mock.patch.object(program, "LOGS", self.logs / "logs"),
            mock.patch.object(program, "select", return_value=selection),
            mock.patch.dict(os.environ),
            redirect_stdout(StringIO()),
        ):
            for name in ("OS_CLOUD", "OS_AUTH_URL"):
                os.environ.pop(name, None)
            self.assertEqual(0, program._run_selected(options))
        return self.done

    def test_a_group_has_a_cloud_of_its_release(self) -> None:
        newest, older = ["up 2026.2", "run", "down"], ["up 2026.1", "run", "down"]
        self.assertEqual(newest, self.run_groups("cloud", "faults"))
        self.assertEqual(older, self.run_groups("slurp"))
        self.assertEqual(newest + older, self.run_groups("cloud", "slurp", "storage"))
        self.assertEqual(older, self.run_groups("faults", "slurp", release="2026.1"))

    def test_only_a_group_that_needs_prometheus_has_it(self) -> None:
        self.assertEqual(
            ["up 2026.2 monitoring", "run", "down", "up 2026.1", "run", "down"],
            self.run_groups("autoheal", "cloud", "slurp"),
        )

    def test_a_cloud_that_was_up_stays(self) -> None:
        self.up("")
        self.assertEqual(["up", "run"], self.run_on_devcloud())

    def test_a_cloud_of_the_run_is_taken_down_or_kept(self) -> None:
        self.assertEqual(["up", "run", "down"], self.run_on_devcloud())
        self.assertEqual(["up", "run"], self.run_on_devcloud(keep=True))
        self.assertEqual(["up", "run"], self.run_on_devcloud())

    def kill_a_run(self) -> None:
        self.run_on_devcloud()
        self.state.mkdir()
        for name in self.left_by_kill:
            (self.state / name).touch()

    def test_the_cloud_of_a_killed_run_is_made_again(self) -> None:
        self.kill_a_run()
        self.assertEqual(["down", "up", "run", "down"], self.run_on_devcloud())

    def test_it_stays_when_its_user_has_brought_it_up(self) -> None:
        self.kill_a_run()
        with redirect_stdout(StringIO()):
            main(["cloud", "up"])
        self.assertEqual(["up", "run"], self.run_on_devcloud())


class SelectionTest(unittest.TestCase):
    def selects(self, full: bool, names: list[str], scenario: str) -> bool:
        return any(re.search(found, scenario) for found in expressions(full, names))

    def test_the_gate_has_no_long_scenarios(self) -> None:
        for full, name in (
            (False, "functional.test_cluster.C.test_c"),
            (True, "functional.full.test_storage.C.test_c"),
        ):
            self.assertTrue(self.selects(full, [], name))
            self.assertFalse(self.selects(not full, [], name))

    def test_a_group_is_a_module_and_other_names_match_anywhere(self) -> None:
        self.assertIn("storage", groups())
        pods = "functional.full.test_other.C.test_pods_with_storage"
        self.assertFalse(self.selects(True, ["storage"], pods))
        self.assertTrue(self.selects(True, ["storage", "pods"], pods))
        self.assertTrue(self.selects(True, ["storage"], "functional.full.test_storage.C.t"))
        self.assertFalse(self.selects(False, ["storage"], "functional.test_registry.C.t"))
        self.assertTrue(self.selects(False, ["test_reg"], "functional.test_registry.C.t"))

    def test_what_passed_is_left_out(self) -> None:
        registry = "functional.test_registry.LifeOfARegistry.test_life_of_a_registry"
        with tempfile.TemporaryDirectory() as folder:
            record = Path(folder, "record")
            before = select(Path(folder), expressions(False, ["test_registry"]), record)
            record.write_text(f"another\n{registry}\n")
            after = select(Path(folder), expressions(False, ["test_registry"]), record)
        self.assertEqual(((registry,), ()), (before.scenarios, before.passed))
        self.assertEqual(((), (registry,)), (after.scenarios, after.passed))

    def test_what_is_older_is_wanted_by_its_scenarios_only(self) -> None:
        for names, wanted in (
            (["cloud"], "1.37"),
            (["series"], "1.36"),
            (["addons", "pools"], "addons"),
            (["upgrade"], "conformance"),
            (["upgrade", "docker", "cloud"], "1.20"),
        ):
            scenarios = [f"functional.full.test_{name}.C.t" for name in names]
            self.assertEqual(wanted, Selection((*scenarios, "functional.test_c.C.t")).oldest)


    def test_scenarios_of_a_release_have_a_cloud(self) -> None:
        names = ["cloud", "slurp", "storage"]
        cloud, slurp, storage = (f"functional.full.test_{name}.C.t" for name in names)
        parts = Selection((cloud, slurp, storage)).by_release()
        wanted = {"2026.2": (cloud, storage), "2026.1": (slurp,)}
        self.assertEqual(wanted, {name: part.scenarios for name, part in parts.items()})

    def test_releases_are_of_groups_that_there_are(self) -> None:
        self.assertLess(set(selection._RELEASES), set(groups()))
        self.assertLess(set(selection._RELEASES.values()), set(RELEASES))


class LanesTest(unittest.TestCase):
    def lanes(self, *scenarios: str) -> list[list[tuple[str, Path]]]:
        """Of each stage the lanes: their scenarios, and where their logs are in the folder."""
        stages = runner._stages(Selection(scenarios), Path("logs"))
        return [[(" ".join(lane.scenarios), lane.logs) for lane in lanes] for lanes in stages]

    def test_one_lane_has_the_folder(self) -> None:
        for name in ("functional.test_cluster.C.t", "functional.full.test_series.C.t"):
            self.assertEqual([[(name, Path("logs"))]], self.lanes(name))

    def test_lanes_are_beside_each_other_after_what_runs_alone(self) -> None:
        names = ("cloud", "docker", "registry", "samples")
        cloud, docker, registry, samples = (f"functional.full.test_{n}.C.t" for n in names)
        one, two, three = (Path("logs", f"lane-{number}") for number in (1, 2, 3))
        self.assertEqual(
            [[(cloud, one)], [(docker, two), (f"{registry} {samples}", three)]],
            self.lanes(cloud, registry, samples, docker),
        )

    def test_lanes_are_of_groups_that_there_are(self) -> None:
        names = list(itertools.chain(*selection._LANES))
        self.assertEqual(sorted(set(names)), sorted(names))
        self.assertLess(set(names), set(groups()))

    def test_lanes_run_and_what_fails_fails_the_run(self) -> None:
        scenarios = [f"functional.full.test_{name}.C.t" for name in ("docker", "registry")]
        told = StringIO()
        with tempfile.TemporaryDirectory() as folder, redirect_stdout(told):
            logs = Path(folder)
            with mock.patch.object(runner, "run", self.run_lane):
                status = runner.run_scenarios(Selection(tuple(scenarios)), logs, {})
            seen = [(logs / f"lane-{number}/selected").read_text() for number in (1, 2)]
        self.assertEqual((1, scenarios), (status, seen))
        self.assertIn("lane-1: a line of docker\n", told.getvalue())
        self.assertIn("lane-2: a line of registry\n", told.getvalue())

    def run_lane(
        self, command: list[str], output: Path, _: object, environment: dict[str, str]
    ) -> int:
        """Like stestr, whose scenarios of the group registry fail."""
        (name,) = re.findall("test_([a-z]+)", Path(command[-1]).read_text())
        logs = Path(environment["FUNCTIONAL_LOGS"])
        self.assertEqual(logs.name, Path(environment["FUNCTIONAL_BUILD"]).name)
        (logs / "scenario.log").write_text(f"a line of {name}\n")
        output.write_text("stestr's\n")
        return int(name == "registry")


class ReportTest(unittest.TestCase):
    def report(self, name: str, *texts: str) -> str:
        """What is printed when each lane has left a file with a text."""
        with tempfile.TemporaryDirectory() as folder, redirect_stdout(StringIO()) as printed:
            folders = [Path(folder, str(number)) for number in range(len(texts))]
            for path, text in zip(folders, texts, strict=True):
                path.mkdir()
                (path / name).write_text(text)
            report.print_report([*folders, Path(folder, "none")], 20.0, 0.25)
        return printed.getvalue()

    def test_only_long_steps_are_in_the_table(self) -> None:
        keys = ("step", "seconds", "idle")
        entries = [("long", 12.0, 0.41), ("short", 1.0, 0.5)]
        lines = [json.dumps(dict(zip(keys, entry, strict=True))) for entry in entries]
        printed = self.report("steps.jsonl", "\n".join(lines))
        self.assertIn("12.0       41%   long", printed)
        self.assertNotIn("short", printed)
        self.assertTrue(printed.endswith("\n   20.0       25%   all\n"))

    def test_each_group_has_its_outcomes(self) -> None:
        printed = self.report(
            "stestr.log",
            "{0} functional.full.test_helm.V1.test_chart [529.200000s] ... ok\n"
            "{0} functional.full.test_helm.V2.test_chart [170.500000s] ... FAILED\n"
            "    a line of it ... ok\n",
            "{0} functional.full.test_docker.Nodes.test_nodes ... SKIPPED: no mirror\n"
            "{0} functional.full.test_cloud.Volumes.test_a_volume [11.000000s] ... ok\n",
        )
        rows = [line.split() for line in printed.partition("\n\n")[0].splitlines()[2:]]
        self.assertEqual(
            [
                ["11.0", "1", "0", "0", "cloud"],
                ["0.0", "0", "0", "1", "docker"],
                ["699.7", "1", "1", "0", "helm"],
            ],
            rows,
        )

    def test_an_interrupted_run_has_its_tables(self) -> None:
        with (
            tempfile.TemporaryDirectory() as folder,
            mock.patch.object(runner, "run", side_effect=KeyboardInterrupt),
            redirect_stdout(StringIO()) as printed,
            self.assertRaises(KeyboardInterrupt),
        ):
            runner.run_scenarios(Selection(("functional.test_c.C.t",)), Path(folder), {})
        self.assertIn("group", printed.getvalue())


class ZuulTest(unittest.TestCase):
    def test_every_group_has_a_periodic_job(self) -> None:
        jobs = yaml.safe_load((CHECKOUT / "zuul.d/jobs.yaml").read_text())
        commands = {j["job"]["name"]: j["job"].get("vars", {}).get("what") for j in jobs}
        (entry,) = yaml.safe_load((CHECKOUT / "zuul.d/project.yaml").read_text())
        periodic = [commands[name] for name in entry["project"]["periodic"]["jobs"]]
        also = "groups --release 2026.1 services faults"
        self.assertEqual([*(f"groups {name}" for name in groups()), also], periodic)

    def test_scenarios_on_a_devstack_have_the_commands_that_they_have_on_the_embedded_cloud(
        self,
    ) -> None:
        of_long_scenarios = {
            "FUNCTIONAL_CONDUCTORS", "FUNCTIONAL_KILL_SERVICES", "FUNCTIONAL_PLAYBOOKS",
            "FUNCTIONAL_REFUSED_PACKETS", "FUNCTIONAL_TEST_RULES",
        }
        jobs = yaml.safe_load((CHECKOUT / "zuul.d/jobs.yaml").read_text())
        (job,) = (j["job"] for j in jobs if j["job"]["name"].endswith("-devstack"))
        expected = program._scenario_variables(Identity()).keys() - of_long_scenarios
        self.assertEqual(set(), expected - job["vars"]["cloud_environment"].keys())

    def test_plays_gather_the_facts_of_the_user_who_has_the_sources(self) -> None:
        for path in (CHECKOUT / "zuul.d/playbooks").glob("*.yaml"):
            for play in yaml.safe_load(path.read_text()):
                self.assertNotIn("become", play, f"{path.name}: {play['name']}")
