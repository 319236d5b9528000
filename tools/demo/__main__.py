"""The main job, for people: the private registry VNF on the embedded cloud."""

import os
import sys
import urllib.request
from pathlib import Path
from typing import Any

from functional import stacks
from functional.config import cloud, tacker
from functional.lcm import Package, Vnf
from functional.packages import private_registry_csar
from functional.requests import fitted
from tools.devcloud import openrc
from tools.devcloud.cloud import Cloud
from tools.devcloud.errors import CloudError
from tools.devcloud.identity import Identity
from tools.devcloud.progress import Progress, complain

_NAME = "demo-registry"
_LOOK = """
The registry answers at http://{address}:5000/v2/ ({status}).

Look at it (from {checkout}):
  curl http://{address}:5000/v2/_catalog
  {python} -m tools.devcloud ssh {address}
  {python} -m tools.devcloud status
  eval "$({python} -m tools.devcloud openrc)"
  {openstack} vnflcm show {vnf} --os-tacker-api-version 1
  {openstack} stack list
Take it down:
  {python} -m tools.devcloud down          (all but the caches)
  {python} -m tools.devcloud down --all    (the caches too)"""


def main() -> int:
    progress = Progress()
    identity = Identity()
    try:
        settings = Cloud(identity, progress).up()
        os.environ.update(openrc.variables(settings))
        vnf = _deployed(progress)
        _show(progress, identity, vnf)
    except CloudError as error:
        complain(str(error))
        return 1
    except KeyboardInterrupt:
        complain("interrupted; the same command again continues where this one stopped")
        return 130
    return 0


def _deployed(progress: Progress) -> Vnf:
    """The demo's VNF: the one that an earlier run deployed, or a new one."""
    connection = cloud()
    client = tacker(connection)
    found = {vnf.name: vnf for vnf in Vnf.all(client)}
    vnf = found.get(_NAME)
    if vnf and vnf.show()["instantiationState"] == "INSTANTIATED":
        progress.say("the registry VNF of an earlier run is there")
        return vnf
    if vnf:
        vnf.remove()
    with progress.step("building and onboarding the VNF package"):
        package = Package(client, private_registry_csar())
    vnf = Vnf.create(client, package, _NAME)
    with progress.step("instantiating the VNF"):
        outcome = vnf.instantiate(fitted("private_registry/instantiate.json", client))
    if outcome["operationState"] != "COMPLETED":
        raise CloudError(f"the instantiation failed: {outcome['error']['detail']}")
    return vnf


def _show(progress: Progress, identity: Identity, vnf: Vnf) -> None:
    print("\nwhat took how long:")
    for text, seconds in progress.steps:
        print(f"  {seconds:7.1f} s  {text}")
    print(f"  {progress.elapsed:7.1f} s  in all\n\ndeployed:")
    print(f"  VNF instance {vnf.id} ({vnf.name})")
    (address,) = stacks.addresses(cloud(), vnf.id)
    print(f"  VNFC {_describe(vnf.vnfcs()[0])} at {address}")
    answer = urllib.request.urlopen(f"http://{address}:5000/v2/", timeout=10)  # noqa: S310 - ours
    values = {
        "address": address,
        "status": answer.status,
        "checkout": identity.checkout,
        "python": sys.executable,
        "openstack": Path(sys.executable).parent / "openstack",
        "vnf": vnf.id,
    }
    print(_LOOK.format(**values))


def _describe(vnfc: dict[str, Any]) -> str:
    return f"{vnfc['vduId']} on server {vnfc['computeResource']['resourceId']}"


if __name__ == "__main__":
    sys.exit(main())
