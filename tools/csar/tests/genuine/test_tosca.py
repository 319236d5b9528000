"""Packages with a VNFD alone: Tacker and heat-translator make the template, and Heat takes it."""

import tempfile
from pathlib import Path
from typing import Any
from unittest import mock

from tools.csar import build, check_heat
from tools.csar.package import Package
from tools.csar.tests.genuine import needs_openstack
from tools.csar.tests.genuine.test_user_data import (
    ADDRESS,
    NETWORK,
    UserDataTest,
    fixed_ips,
    made,
    with_addresses,
)
from tools.csar.tests.test_tosca import IMAGE, PACKAGES

UPLOADED = "5d1c3f1e-1b0a-4c55-8f0b-2b7d4e6a1c90"


@needs_openstack
class TranslationTest(UserDataTest):
    def write(self, name: str) -> None:
        """Write the package as Tacker unpacks its CSAR."""
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = Path(scratch.name)
        image = self.folder / "image"
        image.touch()
        self.package = Package(build.assemble(PACKAGES / name, {IMAGE: image}))
        for file, source in self.package.contents.items():
            path = self.folder / file
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(source.read_bytes())
        (self.flavour,) = self.package.flavours

    def test_tacker_onboards_them(self) -> None:
        import tacker.conf
        from tacker.common import csar_utils
        from tacker.tosca import utils as tosca_utils

        tacker.conf.CONF([], project="tacker", default_config_files=[])
        for name in ("private_registry", "kubernetes"):
            self.write(name)
            csar = self.folder / "a.zip"
            build.build(PACKAGES / name, csar, {IMAGE: self.folder / "image"}, say=self.fail)
            folder = str(self.folder)
            tacker.conf.CONF.set_override("vnf_package_csar_path", folder, "vnf_package")
            with mock.patch.object(tosca_utils, "tosca_tmpl_local_defs", return_value={}):
                _, (flavour,), _ = csar_utils.load_csar_data(None, "package", str(csar))
            self.assertEqual(len(self.vdus()), len(flavour["sw_images"]))

    def translate(self, request: dict[str, Any]) -> str:
        """Return the template, with images that Tacker has uploaded."""
        from tacker import objects
        from tacker.common import utils
        from tacker.tosca import utils as tosca_utils
        from tacker.vnflcm import utils as vnflcm_utils
        from tacker.vnfm.infra_drivers.openstack.translate_template import TOSCAToHOT

        objects.register_all()
        data = utils.convert_camelcase_to_snakecase(request)
        asked = objects.InstantiateVnfRequest.obj_from_primitive(data, None)
        patch = mock.patch.object(
            vnflcm_utils, "_get_vnf_package_path", return_value=str(self.folder)
        )
        with patch:
            vnfd = vnflcm_utils.get_vnfd_dict(None, "vnfd", asked.flavour_id)
        uploads = vnflcm_utils._create_grant_request(vnfd, "package")
        self.assertEqual(set(self.vdus()), set(uploads))
        images = {
            vdu: [mock.Mock(resource_type="image", resource_identifier=UPLOADED)]
            for vdu in uploads
        }
        params = vnflcm_utils._get_param_data(vnfd, asked)
        vnf = vnflcm_utils._make_final_vnf_dict(vnfd, "id", "name", params)
        translation = TOSCAToHOT(vnf, mock.MagicMock(), asked, images)
        with mock.patch.object(tosca_utils, "tosca_tmpl_local_defs", return_value={}):
            translation.generate_hot()
        self.assertFalse(translation.fields.get("files"))
        template: str = translation.fields["template"]
        self.assertEqual("", check_heat.refusal(template, {}, {}))
        return template

    def test_the_registry(self) -> None:
        self.write("private_registry")
        request = self.request("private_registry/instantiate.json")
        with_addresses(request, "CP1", {"fixedAddresses": [ADDRESS]})
        found = made(self.translate(request), {}, {})
        self.assertEqual(UPLOADED, found["PrivateRegistryVDU"][0]["image"])
        self.assertEqual([(None, ADDRESS)], fixed_ips(found["CP1"]))
        self.check_flavors_hold_the_images(found)

    def test_a_cluster_of_one_master(self) -> None:
        self.write("kubernetes")
        found = made(self.translate(self.cluster_request("simple", "")), {}, {})
        for vdu, cp in (("masterNode", "masterNode_CP1"), ("workerNode", "workerNode_CP2")):
            (machine,), (port,) = found[vdu], found[cp]
            self.assertEqual(UPLOADED, machine["image"])
            self.assertEqual(NETWORK, port["network"])
        self.check_flavors_hold_the_images(found)

    def check_flavors_hold_the_images(self, found: dict[str, list[Any]]) -> None:
        """Nova refuses a flavor that is smaller than the image wants; GB are no GiB."""
        from tacker.common.utils import MemoryUnit

        for vdu, node in self.vdus().items():
            (flavor,) = found[f"{vdu}_flavor"]
            image = node["properties"]["sw_image_data"]
            for key, unit, least in (("ram", "MB", "min_ram"), ("disk", "GB", "min_disk")):
                wanted = MemoryUnit.convert_unit_size_to_num(image[least], unit)
                self.assertLessEqual(wanted, flavor[key], f"{vdu}: {key}")
