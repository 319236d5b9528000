"""The heal of a whole VNF through v1, for which Tacker makes a request out of what it knows."""

from typing import Any
from unittest import mock

import yaml

from tools.csar.tests.genuine import needs_openstack
from tools.csar.tests.genuine.test_user_data import UserDataTest

_ADDRESSES = ["192.0.2.9", "192.0.2.10"]


@needs_openstack
class AddressTest(UserDataTest):
    def test_the_second_stack_of_a_registry_has_the_addresses_of_the_first(self) -> None:
        from tacker import objects
        from tacker.common import utils
        from tacker.vnflcm import utils as vnflcm

        self.assemble("private_registry", "simple")
        request = self.request("private_registry/instantiate.json")
        (data,) = request["extVirtualLinks"][0]["extCps"][0]["cpConfig"][0]["cpProtocolData"]
        wanted = [{"type": "IPV4", "fixedAddresses": [address]} for address in _ADDRESSES]
        data["ipOverEthernet"] = {"ipAddresses": wanted}
        objects.register_all()
        snakes = utils.convert_camelcase_to_snakecase(request)
        asked = objects.InstantiateVnfRequest.obj_from_primitive(snakes, None)
        info = objects.InstantiatedVnfInfo(flavour_id="simple", instantiation_level_id=None)
        instance = objects.VnfInstance(instantiated_vnf_info=info, vim_connection_info=[])
        with mock.patch.object(vnflcm, "_convert_desired_capacity", return_value=1):
            vnflcm._build_instantiated_vnf_info(self.flavour.document, asked, instance, "vim")
        again = objects.InstantiateVnfRequest.from_vnf_instance(instance)
        for source in (asked, again):
            self.assertEqual(
                [{"ip_address": address} for address in _ADDRESSES], self.fixed_ips(source)
            )

    def fixed_ips(self, request: Any) -> Any:
        """What UserData gives the template for the port of the machine."""
        hots = {name: yaml.safe_load(text) for name, text in self.nested.items()}
        hots["heat_template"] = self.package.documents[self.top]
        user_data = self.module().PrivateRegistryUserData
        parameters = user_data.instantiate(hots, self.flavour.document, request, {})
        return parameters["nfv"]["CP"]["CP1"]["fixed_ips"]
