"""The demo: a private registry and a Kubernetes cluster on the embedded cloud."""

import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from tools import command
from tools.client import kubernetes_source, stacks
from tools.client.config import CHECKOUT, cloud, tacker
from tools.client.lcm import Package, Vnf
from tools.client.packages import kubernetes_csar, private_registry_csar
from tools.client.requests import load_request
from tools.devcloud import openrc
from tools.devcloud.cloud import Cloud
from tools.devcloud.diagnosis import copy_traces
from tools.devcloud.error_report import report_errors
from tools.devcloud.errors import CloudError
from tools.devcloud.identity import Identity
from tools.progress import Progress
from tools.timeline.page import render
from tools.timeline.runs import read

# The requests that the scenarios send and the user guide shows.
_REQUESTS = CHECKOUT / "functional/requests"
_REGISTRY, _CLUSTER, _VIM = "demo-registry", "demo-cluster", "demo-kubernetes"
_NEXT_STEPS = """
The registry answers at http://{registry}:5000/v2/, the cluster's API at {api}.

Look at it (as root, from {checkout}):
  curl http://{registry}:5000/v2/_catalog
  {k8s_vnf} cloud ssh {master} {kubectl} get nodes -o wide
  {k8s_vnf} cloud ssh {master}
  {k8s_vnf} cloud status
  eval "$({k8s_vnf} cloud openrc)"
  {openstack} vim list
  {openstack} vnflcm show {vnf} --os-tacker-api-version 1
See where the time went: open {timeline}
Take it down:
  {k8s_vnf} cloud down          (all but the caches)
  {k8s_vnf} cloud down --all    (the caches too)"""
_KUBECTL = "sudo kubectl --kubeconfig /etc/kubernetes/admin.conf"


def parsers() -> Iterator[command.Parser]:
    yield command.part(
        "demo",
        "Bring the embedded cloud up, and deploy a registry and a Kubernetes cluster on it.",
        lambda _: report_errors(_demo),
    )


def _demo() -> int:
    progress = Progress()
    identity = Identity()
    settings = Cloud(identity, progress).up()
    os.environ.update(openrc.variables(settings))
    demo = Demo(progress)
    demo.deploy()
    demo.print_summary(identity)
    return 0


class Demo:
    """The two VNFs, of an earlier run or new."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._cloud = cloud()
        self._tacker = tacker(self._cloud)
        names = (_REGISTRY, _CLUSTER)
        self._vnfs = {vnf.name: vnf for vnf in Vnf.all(self._tacker) if vnf.name in names}

    def deploy(self) -> None:
        if self._is_instantiated(_CLUSTER) and self._is_instantiated(_REGISTRY):
            self._progress.say("the VNFs of an earlier run exist")
            return
        for name in (_CLUSTER, _REGISTRY):  # the cluster's images come from the registry
            self._remove(name)
        self._instantiate(_REGISTRY, private_registry_csar, "private_registry/instantiate.json")
        registry = f"{self._addresses(_REGISTRY)[0]}:5000"
        with self._progress.step("pushing the images of Kubernetes into the registry"):
            kubernetes_source.push_images(registry)
        params = {**kubernetes_source.source_params(f"http://{registry}"), "vim_name": _VIM}
        self._instantiate(_CLUSTER, kubernetes_csar, "kubernetes/complex.json", **params)

    def _is_instantiated(self, name: str) -> bool:
        vnf = self._vnfs.get(name)
        return bool(vnf and vnf.show()["instantiationState"] == "INSTANTIATED")

    def _remove(self, name: str) -> None:
        if name in self._vnfs:
            with self._progress.step(f"removing {name}, which an earlier run left"):
                self._vnfs.pop(name).remove()

    def _instantiate(
        self, name: str, csar: Callable[[], Path], request: str, **params: Any
    ) -> None:
        with self._progress.step(f"building and onboarding the package of {name}"):
            package = Package(self._tacker, csar())
        vnf = Vnf.create(self._tacker, package, name)
        self._vnfs[name] = vnf
        with self._progress.step(f"instantiating {name}"):
            outcome = vnf.instantiate(
                load_request(_REQUESTS / request, self._tacker, **params)
            )
        if outcome["operationState"] != "COMPLETED":
            raise CloudError(f"the instantiation failed: {outcome['error']['detail']}")

    def _addresses(self, name: str, vdu: str = "") -> list[str]:
        """Addresses of a VNF's machines, of one VDU or all."""
        vnf = self._vnfs[name]
        addresses = stacks.server_addresses(self._cloud, vnf.id)
        return [
            addresses[vnfc["computeResource"]["resourceId"]]
            for vnfc in vnf.vnfcs()
            if vdu in ("", vnfc["vduId"])
        ]

    def print_summary(self, identity: Identity) -> None:
        print("\nsteps:")
        for text, seconds in self._progress.steps:
            print(f"  {seconds:7.1f} s  {text}")
        print(f"  {self._progress.elapsed:7.1f} s  in all\n\ndeployed:")
        for vnf in self._vnfs.values():
            print(f"  VNF instance {vnf.id} ({vnf.name})")
            for vnfc in vnf.vnfcs():
                print(f"    {_describe(vnfc)}")
        (vim,) = (v for v in self._tacker.list_vims()["vims"] if v["name"] == _VIM)
        print(f"  VIM {vim['name']} ({vim['type']}, {vim['status']})")
        values = {
            "registry": self._addresses(_REGISTRY)[0],
            "api": vim["auth_url"],
            "master": self._addresses(_CLUSTER, "masterNode")[0],
            "kubectl": _KUBECTL,
            "checkout": identity.checkout,
            "k8s_vnf": Path(sys.executable).parent / command.NAME,
            "openstack": Path(sys.executable).parent / "openstack",
            "vnf": self._vnfs[_CLUSTER].id,
            "timeline": self._timeline(identity),
        }
        print(_NEXT_STEPS.format(**values))

    def _timeline(self, identity: Identity) -> Path:
        """Draw the timeline of the cluster's instantiation; returns the page."""
        found = copy_traces(identity, identity.checkout / "build")
        page = identity.checkout / "build" / "timeline.html"
        page.write_text(render(read(found / f"{self._vnfs[_CLUSTER].id}.jsonl")))
        return page


def _describe(vnfc: dict[str, Any]) -> str:
    return f"{vnfc['vduId']} on server {vnfc['computeResource']['resourceId']}"
