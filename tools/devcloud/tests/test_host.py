"""The host's side: names, recipes, the command line."""

import contextlib
import io
import os
import shutil
import tempfile
import threading
import unittest
from pathlib import Path
from unittest import mock

import docker

from tools.devcloud import images, openrc, recipes
from tools.devcloud.cloud import Cloud, read_settings
from tools.devcloud.errors import CloudError
from tools.devcloud.identity import Identity
from tools.devcloud.settings import Network, Settings
from tools.k8s_vnf.app import main
from tools.progress import Progress


class IdentityTest(unittest.TestCase):
    def test_two_checkouts_do_not_collide(self) -> None:
        one, two = Identity(Path("/home/a/checkout")), Identity(Path("/home/b/checkout"))
        self.assertNotEqual(one.name, two.name)
        self.assertNotEqual(one.state, two.state)
        self.assertEqual(one.cache, two.cache)

    def test_folders_follow_the_xdg_variables(self) -> None:
        with mock.patch.dict(os.environ, {"XDG_STATE_HOME": "/s", "XDG_CACHE_HOME": "/c"}):
            identity = Identity(Path("/x"))
            self.assertEqual(Path("/s/devcloud") / identity.name, identity.state)
            self.assertEqual(Path("/c/devcloud"), identity.cache)


class RecipeTest(unittest.TestCase):
    def test_a_change_is_passed_on_to_what_is_derived(self) -> None:
        files = recipes.NODE_BEFORE.files
        child = recipes.Recipe("child", "node/provision-node.sh", recipes.BASE, files=files)
        changed = recipes.Recipe("base", "node/provision-docker.sh")
        other = recipes.Recipe("child", "node/provision-node.sh", changed, files=files)
        self.assertEqual(child.digest, recipes.NODE_BEFORE.digest)
        self.assertNotEqual(child.digest, other.digest)

    def test_releases_share_what_is_of_debian(self) -> None:
        controllers = [recipes.CONTROLLERS[release] for release in recipes.RELEASES]
        self.assertEqual(len(recipes.RELEASES), len({one.tag for one in controllers}))
        for controller in controllers:
            self.assertIn(recipes.FOUNDATIONS, self.ancestors(controller))

    def ancestors(self, recipe: recipes.Recipe) -> list[recipes.Recipe]:
        return [recipe, *self.ancestors(recipe.parent)] if recipe.parent else [recipe]

    def test_a_build_is_of_one_release(self) -> None:
        for release in recipes.RELEASES:
            with mock.patch.object(images, "_Builder") as builder:
                images.ensure(mock.MagicMock(), Identity(Path("/x")), Progress(), release)
            asked = [call.args[0] for call in builder.return_value.ensure_all.mock_calls]
            for others in (recipes.DATABASES, recipes.CONTROLLERS):
                built = {recipe for recipe in others.values() if recipe in sum(asked, ())}
                self.assertEqual({others[release]}, built)


class BuildTest(unittest.TestCase):
    def test_the_error_of_a_build_names_the_file_with_its_output(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        cache = {"XDG_CACHE_HOME": folder.name}
        client = mock.Mock()
        container = client.containers.create.return_value
        container.logs.return_value = [b"devcloud: comp", b"iling\nE: no pack", b"age x"]
        container.wait.return_value = {"StatusCode": 100}
        client.images.get.side_effect = lambda tag: None if "base" in tag else self.missing()
        builder = images._Builder(client, Identity(Path("/x")), Progress())
        log = Path(folder.name) / "devcloud/builds/node-debian-12.log"
        words = rf"(?s)node-debian-12 failed \(100\); its output is in {log}, .*E: no package x"
        with (
            mock.patch.dict(os.environ, cache),
            contextlib.redirect_stdout(io.StringIO()) as out,
            self.assertRaisesRegex(CloudError, words),
        ):
            builder.ensure(recipes.NODE_BEFORE)
        self.assertIn("node-debian-12: compiling", out.getvalue())
        self.assertEqual("devcloud: compiling\nE: no package x", log.read_text())
        container.commit.assert_not_called()

    @staticmethod
    def missing() -> None:
        raise docker.errors.ImageNotFound("x")


class CloudTest(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        environment = mock.patch.dict(os.environ, {"XDG_STATE_HOME": folder.name})
        environment.start()
        self.addCleanup(environment.stop)
        self.cloud = Cloud(Identity(Path("/x")), Progress())
        self.state = self.cloud.identity.state

    def test_who_waited_for_a_down_locks_anew(self) -> None:
        """The file that was waited for is gone with the cloud."""
        second = threading.Thread(target=self.hold)
        with contextlib.redirect_stdout(io.StringIO()) as out, self.cloud._locked():
            second.start()
            while "waiting for it" not in out.getvalue():
                second.join(0.01)
            shutil.rmtree(self.state)
        second.join()
        self.assertTrue(self.held)

    def hold(self) -> None:
        with self.cloud._locked():
            self.held = (self.state / "lock").exists()

    def test_settings_of_another_version(self) -> None:
        self.state.mkdir(parents=True)
        path = self.state / "settings.json"
        for text in ("", "{}", '{"network": {}, "drop_capabilities": [], "nameservers": []}'):
            path.write_text(text)
            with self.assertRaisesRegex(CloudError, "of another version; .* down"):
                read_settings(path)

    def test_a_cloud_keeps_its_release(self) -> None:
        self.assertEqual(("2026.2", "2026.1"), (self.release(None), self.release("2026.1")))
        self.state.mkdir(parents=True)
        network = Network("docker-net0", "192.0.2.0/24")
        settings = Settings("c", "2026.1", "192.0.2.2", "a", "s", network)
        (self.state / "settings.json").write_text(settings.to_json())
        self.assertEqual(("2026.1", "2026.1"), (self.release(None), self.release("2026.1")))
        with self.assertRaisesRegex(CloudError, "is of OpenStack 2026.1, not 2026.2; .* down"):
            self.cloud.up(release="2026.2")

    def release(self, wanted: str | None) -> str:
        return self.cloud._release(wanted)


class CommandLineTest(unittest.TestCase):
    def run_cli(self, *arguments: str) -> tuple[int, str, str]:
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            try:
                status = main(["cloud", *arguments])
            except SystemExit as leaving:
                status = int(str(leaving.code))
        return status, out.getvalue(), err.getvalue()

    def test_without_a_cloud_the_way_on_is_named(self) -> None:
        with (
            tempfile.TemporaryDirectory() as folder,
            mock.patch.dict(os.environ, {"XDG_STATE_HOME": folder}),
        ):
            for command in (["openrc"], ["status"], ["logs"], ["ssh", "x"]):
                status, _, err = self.run_cli(*command)
                self.assertEqual(1, status, command)
                self.assertIn("k8s-vnf cloud up", err)

    def test_openrc_is_quoted(self) -> None:
        network = Network("docker-net0", "192.0.2.0/24")
        text = openrc.shell(Settings("c", "2026.2", "192.0.2.2", "a'b", "s", network))
        self.assertIn("""export OS_PASSWORD='a'"'"'b'""", text)
