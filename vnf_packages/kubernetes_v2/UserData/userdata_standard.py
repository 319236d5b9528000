"""Tacker's own StandardUserData, with more parameters, addresses, and networks left out."""

import hashlib
from typing import Any

import yaml
from tacker.sol_refactored.common import common_script_utils
from tacker.sol_refactored.infra_drivers.openstack import userdata_standard

_FIRST_MASTER_CP = "masterNode_CP1-0"


class StandardUserData(userdata_standard.StandardUserData):
    """Tacker's own; but another package leaves the stack as it is, and its script changes that.

    Operations after the instantiation change the parameter nfv alone, and keep all others. Tacker
    fills in a list of addresses only where a template takes them one by one.
    """

    @staticmethod
    def instantiate(
        req: dict[str, Any],
        inst: dict[str, Any],
        grant_req: dict[str, Any],
        grant: dict[str, Any],
        tmp_csar_dir: str,
    ) -> dict[str, Any]:
        """Return the stack's template and parameters."""
        fields: dict[str, Any] = userdata_standard.StandardUserData.instantiate(
            req, inst, grant_req, grant, tmp_csar_dir
        )
        points = fields["parameters"]["nfv"]["CP"]
        for point in points.values():  # such as that of a storage server which is not used
            if point.get("network") is None:
                point["network"] = points[_FIRST_MASTER_CP]["network"]
        _fill_addresses(points, req, grant)
        params = req.get("additionalParams", {})
        declared = yaml.safe_load(fields["template"])["parameters"]
        given = {name: params[name] for name in declared if name != "nfv" and params.get(name)}
        fields["parameters"].update(given)
        _make_defaults(fields, given)
        return fields

    @staticmethod
    def scale(
        req: dict[str, Any],
        inst: dict[str, Any],
        grant_req: dict[str, Any],
        grant: dict[str, Any],
        tmp_csar_dir: str,
    ) -> dict[str, Any]:
        """Return what changes of the stack's template and parameters."""
        fields: dict[str, Any] = userdata_standard.StandardUserData.scale(
            req, inst, grant_req, grant, tmp_csar_dir
        )
        if req["type"] == "SCALE_OUT":
            _keep_to_new_machines(fields, inst, tmp_csar_dir)
        points = fields.get("parameters", {}).get("nfv", {}).get("CP", {})
        known = inst["instantiatedVnfInfo"]["metadata"]["nfv"]["CP"]
        for name, point in points.items():
            if "addresses" not in known.get(name, {}):  # else it is a machine's that exists
                wanted = common_script_utils.get_param_fixed_ips_from_inst(_cp(name), inst)
                point["addresses"] = _subnets(wanted)
        return fields

    @staticmethod
    def change_vnfpkg(*_: Any) -> dict[str, Any]:
        """Return what changes nothing of the stack, in the form that Tacker reads."""
        return {"parameters": {"nfv": {"VDU": {}, "CP": {}}}}

    change_vnfpkg_rollback = change_vnfpkg


def _make_defaults(fields: dict[str, Any], given: dict[str, Any]) -> None:
    """Make parameters of the request the template's defaults, which a heal with ``all`` keeps.

    Such a heal makes another stack of the template and nfv, and Tacker asks no UserData of ours.
    """
    template = yaml.safe_load(fields["template"])
    for name, value in given.items():
        template["parameters"][name]["default"] = value
    fields["template"] = yaml.safe_dump(template)


def _keep_to_new_machines(fields: dict[str, Any], inst: dict[str, Any], csar_dir: str) -> None:
    """Leave all but the new machines as they are, whatever package the stack was made with.

    Heat keeps the files that an update does not name: a nested template gets a name of its own, or
    Heat would make new machines from the earlier file, or change machines that exist.
    """
    vnfd = common_script_utils.get_vnfd(inst["vnfdId"], csar_dir)
    hot = vnfd.get_base_hot(inst["instantiatedVnfInfo"]["flavourId"])
    template = yaml.safe_load(fields["template"])
    new = {k: v for k, v in template["resources"].items() if k not in hot["template"]["resources"]}
    fields["files"] = {}
    for machine in new.values():
        if machine["type"] in hot["files"]:
            text = yaml.safe_dump(hot["files"][machine["type"]])
            machine["type"] = f"{hashlib.sha256(text.encode()).hexdigest()[:16]}-{machine['type']}"
            fields["files"][machine["type"]] = text
    version = template["heat_template_version"]
    fields["template"] = yaml.safe_dump({"heat_template_version": version, "resources": new})


def _fill_addresses(
    points: dict[str, dict[str, Any]], req: dict[str, Any], grant: dict[str, Any]
) -> None:
    """Put Heat's fixed_ips into each point; a point without a link is in the masters' subnets.

    :raises ValueError: several machines have a connection point, and it has an address
    """
    find = common_script_utils.get_param_fixed_ips
    cps = [_cp(name) for name in points]
    for name, point in points.items():
        cp = _cp(name)
        wanted = find(cp, grant, req)
        if wanted is None:
            wanted = _subnets(find(_cp(_FIRST_MASTER_CP), grant, req))
        if cps.count(cp) > 1 and wanted != _subnets(wanted):
            raise ValueError(
                f'extVirtualLinks: the extCp "{cp}" has fixedAddresses, but several machines have '
                "this connection point: leave them out; a subnetId may stay"
            )
        point["addresses"] = wanted


def _subnets(wanted: list[dict[str, str]] | None) -> list[dict[str, str]]:
    return [{"subnet": ip["subnet"]} for ip in wanted or [] if "subnet" in ip]


def _cp(name: str) -> str:
    """Return the name of a connection point; Tacker numbers those of a VDU's machines."""
    cp, _, number = name.rpartition("-")
    return cp if number.isdigit() else name
