"""Hooks of Tacker's v1 API: Tacker's own code loads the drivers and calls them."""

import contextlib
import datetime
import shutil
import tempfile
import unittest
import uuid
from pathlib import Path
from typing import Any
from unittest import mock

import yaml

from mgmt_drivers.errors import MgmtDriverError, ParameterError
from mgmt_drivers.tests.test_v2 import _VNFD
from tools.csar.tests.genuine import needs_openstack
from tools.csar.tests.genuine.test_user_data import UserDataTest

_KEY = "k8s_cluster_modification_param"
_DRIVERS = {
    "kubernetes": "mgmt-drivers-kubernetes", "private_registry": "mgmt-drivers-private-registry",
}
_USER_DATA = ("lcm-operation-user-data", "lcm-operation-user-data-class")


class _Instance:
    """A VNF instance, as far as the hooks know it."""

    id = vnfd_id = "vnf-1"
    tenant_id = "tenant"

    def __init__(self, **metadata: str) -> None:
        self.vnf_metadata = metadata
        self.saved = 0
        self.vim_connection_info: list[Any] = []
        self.instantiated_vnf_info = mock.Mock(
            flavour_id="simple", instance_id="stack", vnfc_resource_info=[], additional_params={}
        )

    def save(self) -> None:
        self.saved += 1


@needs_openstack
class LoadingTest(UserDataTest):
    """Tacker compares a package's class with the class of the entry point."""

    def setUp(self) -> None:
        from tacker.common.driver_manager import DriverManager
        from tacker.vnflcm.vnflcm_driver import VnfLcmDriver, cfg

        names = list(_DRIVERS.values())
        cfg.CONF.set_override("vnflcm_mgmt_driver", names, "tacker")
        self.addCleanup(cfg.CONF.clear_override, "vnflcm_mgmt_driver", "tacker")
        # Without a database and a message queue.
        self.tacker = VnfLcmDriver.__new__(VnfLcmDriver)
        self.tacker._mgmt_manager = DriverManager("tacker.tacker.mgmt.drivers", names)
        self.tacker._mgmt_driver_hash = self.tacker._init_mgmt_driver_hash()

    def assemble(self, name: str, flavour: str, overlay: str = "") -> None:
        from tacker.vnflcm import utils

        super().assemble(name, flavour, overlay)
        self.hooks = self.flavour.document["topology_template"]["node_templates"]["VNF"][
            "interfaces"]["Vnflcm"]
        for function, answer in (
            ("_get_vnf_package_path", str(self.folder)),
            ("get_vnfd_dict", self.flavour.document),
        ):
            patch = mock.patch.object(utils, function, return_value=answer)
            patch.start()
            self.addCleanup(patch.stop)

    def driver_of(self, hook: str) -> str:
        """The name by which Tacker finds the driver."""
        found: str = self.tacker._load_vnf_interface(
            None, hook, _Instance(), self.flavour.document
        )
        return found

    def test_every_hook_of_a_package_is_the_drivers(self) -> None:
        for package, driver in _DRIVERS.items():
            self.assemble(package, "simple")
            hooks = [hook for hook in self.hooks if hook.endswith(("_start", "_end"))]
            self.assertIn("instantiate_end", hooks)
            for hook in hooks:
                self.assertEqual(driver, self.driver_of(hook), hook)
                self.assertTrue(callable(getattr(self.tacker._mgmt_manager[driver], hook)))

    def test_a_request_may_leave_out_the_user_data(self) -> None:
        from tacker import objects
        from tacker.common import utils
        from tacker.nfvo.nfvo_plugin import NfvoPlugin

        self.assemble("kubernetes", "simple")
        request = self.cluster_request("simple", "")
        for key in _USER_DATA:
            del request["additionalParams"][key]
        objects.register_all()
        data = utils.convert_camelcase_to_snakecase(request)
        asked = objects.InstantiateVnfRequest.obj_from_primitive(data, None)
        driver = self.driver_of("instantiate_start")
        with mock.patch.object(NfvoPlugin, "get_vims", return_value=[]):
            self.tacker._mgmt_manager.invoke(
                driver, "instantiate_start", context=None, vnf_instance=_Instance(),
                instantiate_vnf_request=asked, grant=None, grant_request=None,
            )
        wanted = self.tacker._mgmt_manager[driver].user_data
        self.assertEqual(wanted, tuple(asked.additional_params[key] for key in _USER_DATA))


    def test_a_package_without_base_hot_has_no_user_data(self) -> None:
        """Tacker makes a template of its VNFD only for requests that name none."""
        from mgmt_drivers.kubernetes_mgmt import KubernetesMgmtDriver
        from mgmt_drivers.private_registry_mgmt import PrivateRegistryMgmtDriver
        from mgmt_drivers.tacker import v1

        whole = mock.Mock(vnfc_instance_id=None)
        for driver, package in (
            (KubernetesMgmtDriver(), "kubernetes"),
            (PrivateRegistryMgmtDriver(), "private_registry"),
        ):
            self.assemble(package, "simple")
            instance = _Instance()
            v1.MgmtDriver.heal_start(driver, None, instance, whole)
            found = instance.instantiated_vnf_info.additional_params
            self.assertEqual(driver.user_data, tuple(found[key] for key in _USER_DATA))
            shutil.rmtree(self.folder / "BaseHOT")
            instance = _Instance()
            v1.MgmtDriver.heal_start(driver, None, instance, whole)
            self.assertEqual({}, instance.instantiated_vnf_info.additional_params)

    def test_a_request_to_instantiate_it_stays_as_it_is(self) -> None:
        from tacker import objects
        from tacker.common import utils

        from mgmt_drivers.private_registry_mgmt import PrivateRegistryMgmtDriver

        self.assemble("private_registry", "simple")
        shutil.rmtree(self.folder / "BaseHOT")
        request = self.request("private_registry/instantiate.json", image_path=None)
        for key in _USER_DATA:
            del request["additionalParams"][key]
        objects.register_all()
        data = utils.convert_camelcase_to_snakecase(request)
        asked = objects.InstantiateVnfRequest.obj_from_primitive(data, None)
        PrivateRegistryMgmtDriver().instantiate_start(None, _Instance(), asked)
        self.assertEqual({"private_registry_installation_param"}, asked.additional_params.keys())


@needs_openstack
class RetryTest(unittest.TestCase):
    """The database that Tacker's conductor has at a retry of an instantiation whose hook failed."""

    def test_the_attributes_are_there(self) -> None:
        import sqlalchemy
        from sqlalchemy import orm
        from tacker.db import model_base
        from tacker.db.vnfm.vnfm_db import VNFAttribute

        from mgmt_drivers.kubernetes_mgmt import KubernetesMgmtDriver
        from mgmt_drivers.private_registry_mgmt import PrivateRegistryMgmtDriver
        from mgmt_drivers.tacker import v1

        engine = sqlalchemy.create_engine("sqlite://")
        model_base.BASE.metadata.create_all(engine, [VNFAttribute.__table__])
        self.addCleanup(engine.dispose)
        for driver in (KubernetesMgmtDriver(), PrivateRegistryMgmtDriver()):
            vnf_id = str(uuid.uuid4())
            for groups in ("{}", '{"scaleGroupDict": {}}'):  # the second attempt has others
                vnf = {"id": vnf_id, "attributes": {"scale_group": groups, "stack_param": "{}"}}
                with (
                    orm.Session(engine) as session,
                    mock.patch.object(v1.vnflcm_utils, "get_vnfd_dict", side_effect=OSError),
                    self.assertRaises(OSError),
                    mock.patch.object(v1.vnflcm_utils, "_get_vnf_package_path", return_value="/"),
                ):
                    context = mock.Mock(session=session)
                    driver.instantiate_end(context, _Instance(), mock.Mock(), vnf=vnf)
            with orm.Session(engine) as session:
                rows = session.query(VNFAttribute).filter_by(vnf_id=vnf_id)
                self.assertEqual(vnf["attributes"], {row.key: row.value for row in rows})


@needs_openstack
class ErrorPointTest(unittest.TestCase):
    """The operation occurrences by which Tacker decides whether Heat replaces a machine."""

    def test_a_failure_that_a_retry_has_cured_is_forgotten(self) -> None:
        import sqlalchemy
        from sqlalchemy import orm
        from tacker.db import model_base
        from tacker.db.db_sqlalchemy.models import VnfLcmOpOccs

        from mgmt_drivers.kubernetes_mgmt import KubernetesMgmtDriver
        from mgmt_drivers.tacker import v1

        wanted = (
            ("vnf-1", "COMPLETED", 6, 0), ("vnf-1", "FAILED", 4, 0), ("vnf-1", "ROLLED_BACK", 3, 0),
            ("vnf-1", "PROCESSING", 3, 3),
            ("vnf-1", "FAILED_TEMP", 6, 6),  # whose retry would begin again
            ("vnf-2", "COMPLETED", 6, 6),
        )
        engine = sqlalchemy.create_engine("sqlite://")
        self.addCleanup(engine.dispose)
        model_base.BASE.metadata.create_all(engine, [VnfLcmOpOccs.__table__])
        now = datetime.datetime.now(datetime.timezone.utc)
        with orm.Session(engine) as session:
            for number, (vnf, state, point, _) in enumerate(wanted):
                session.add(VnfLcmOpOccs(
                    id=str(number), vnf_instance_id=vnf, operation_state=state, error_point=point,
                    operation="HEAL", tenant_id="nfv", start_time=now, state_entered_time=now,
                    is_automatic_invocation=False, is_cancel_pending=False,
                ))
            context, asked = mock.Mock(session=session), mock.Mock(vnfc_instance_id=["worker-1"])
            driver, instance = KubernetesMgmtDriver(), mock.Mock(id="vnf-1")
            v1.MgmtDriver.heal_start(driver, context, instance, asked)
            rows = session.query(VnfLcmOpOccs).order_by(VnfLcmOpOccs.id)
            self.assertEqual([after for *_, after in wanted], [row.error_point for row in rows])


@needs_openstack
class ModificationTest(unittest.TestCase):
    def setUp(self) -> None:
        from tacker.vnflcm import utils

        from mgmt_drivers.kubernetes_mgmt import KubernetesMgmtDriver

        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        for name, answer in (
            ("_get_vnf_package_path", str(Path(folder.name))),
            ("get_vnfd_dict", yaml.safe_load(_VNFD)),
        ):
            patch = mock.patch.object(utils, name, return_value=answer)
            patch.start()
            self.addCleanup(patch.stop)
        self.driver = KubernetesMgmtDriver()

    def modify(self, instance: _Instance, **body: Any) -> None:
        """As Tacker calls it, which gives no request, but has one in its database."""
        import sqlalchemy
        from sqlalchemy import orm
        from tacker.db import model_base
        from tacker.db.db_sqlalchemy.models import VnfLcmOpOccs

        engine = sqlalchemy.create_engine("sqlite://")
        self.addCleanup(engine.dispose)
        model_base.BASE.metadata.create_all(engine, [VnfLcmOpOccs.__table__])
        now = datetime.datetime.now(datetime.timezone.utc)
        before = {"vnfdId": "vnf-1"}
        with orm.Session(engine) as session:
            for state, asked in ("COMPLETED", before), ("PROCESSING", body):
                session.add(VnfLcmOpOccs(
                    id=state, vnf_instance_id="vnf-1", operation_state=state, tenant_id="nfv",
                    operation="MODIFY_INFO", operation_params=str(asked), error_point=0,
                    start_time=now, state_entered_time=now, is_automatic_invocation=False,
                    is_cancel_pending=False,
                ))
            self.driver.modify_information_end(
                context=mock.Mock(session=session), modify_vnf_request=None, vnf_instance=instance
            )

    def test_other_modifications_change_nothing(self) -> None:
        instance = _Instance(site="north")
        self.modify(instance, metadata={"site": "north"})
        self.assertEqual(({"site": "north"}, 0), (instance.vnf_metadata, instance.saved))

    def test_another_package_must_have_what_the_parameters_name(self) -> None:
        for key in "vnfdId", "vnfPkgId":
            with self.assertRaisesRegex(MgmtDriverError, "k8s_cluster_installation_param: missing"):
                self.modify(_Instance(), **{key: "another"})

    def test_the_metadata_are_the_request(self) -> None:
        instance = _Instance(**{_KEY: '{"kubernetes_version": "1.37"}'})
        with self.assertRaisesRegex(ParameterError, "k8s_cluster_installation_param: missing"):
            self.modify(instance)
        self.assertIn(_KEY, instance.vnf_metadata)  # for the next attempt

    def test_the_metadata_name_bundles_of_a_registry(self) -> None:
        from mgmt_drivers.private_registry_mgmt import PrivateRegistryMgmtDriver

        self.driver, key = PrivateRegistryMgmtDriver(), "private_registry_modification_param"
        instance = _Instance(**{key: '{"bundles": 1}'})
        with self.assertRaisesRegex(ParameterError, f"{key}.bundles: must be a list"):
            self.modify(instance)
        self.assertIn(key, instance.vnf_metadata)  # for the next attempt

    def test_a_scale_names_its_aspect(self) -> None:
        from mgmt_drivers.tacker.v1 import lcm_request

        request = lcm_request("scale in", None, _Instance(), None, ["a"], "master_instance")
        self.assertEqual(({"a"}, "master_instance"), (request.targets, request.aspect))

    def test_a_terminate_looks_for_another_operation(self) -> None:
        """And goes on where nothing can be seen: here, of a VNF without parameters."""
        from mgmt_drivers.private_registry_mgmt import PrivateRegistryMgmtDriver

        for driver in (self.driver, PrivateRegistryMgmtDriver()):
            with (
                self.assertLogs("mgmt_drivers.operations.terminate", "WARNING") as logs,
                contextlib.suppress(Exception),  # there is no database with VIMs
            ):
                driver.terminate_start(
                    context=None, vnf_instance=_Instance(), terminate_vnf_request=None
                )
            self.assertIn("VNF vnf-1: the lock of another operation is not", logs.output[0])

    def test_a_vnf_that_is_terminated_leaves_no_trace(self) -> None:
        """But one whose instantiation was rolled back does, for the user to read."""
        from mgmt_drivers.private_registry_mgmt import PrivateRegistryMgmtDriver
        from mgmt_drivers.tacker import v1

        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.addCleanup(v1.cfg.CONF.clear_override, "trace_dir", "mgmt_drivers")
        v1.cfg.CONF.set_override("trace_dir", folder.name, "mgmt_drivers")
        trace = Path(folder.name, "vnf-1.jsonl")
        trace.touch()
        for request, is_kept in ((None, True), (mock.Mock(), False)):
            instance = _Instance(mgmt_driver_keys="{}")
            PrivateRegistryMgmtDriver().terminate_end(
                context=None, vnf_instance=instance, terminate_vnf_request=request
            )
            self.assertEqual((is_kept, {}), (trace.exists(), instance.vnf_metadata))

    def test_what_is_done_goes(self) -> None:
        from mgmt_drivers.tacker.v1 import InstanceStore

        instance = _Instance(site="north", **{_KEY: "{}"})
        InstanceStore(instance).remove(_KEY)
        self.assertEqual({"site": "north"}, instance.vnf_metadata)
        self.assertEqual(1, instance.saved)

    def test_a_heal_of_the_whole_keeps_no_volume(self) -> None:
        """Tacker deletes the stack."""
        from mgmt_drivers.kubernetes_mgmt import _heal_request

        wanted = mock.Mock(vnfc_instance_id=[], additional_params={"restore_from": "latest"})
        found = _heal_request(None, _Instance(), wanted)
        self.assertEqual(("latest", False), (found.restore_from, found.keeps_volumes))
        wanted = mock.Mock(vnfc_instance_id=["a"], additional_params=None)
        found = _heal_request(None, _Instance(), wanted)
        self.assertEqual((None, {"a"}), (found.restore_from, found.targets))
