"""The rights of Tacker's account in a cluster, beside what genuine Tacker does there."""

import functools
import inspect
import re
import unittest
from importlib import resources
from pathlib import Path
from typing import Any

import yaml

from tools.csar.tests.genuine import needs_openstack

# Kinds that Tacker would deploy, and that are the cluster's own.
_REFUSED = {("", "nodes"), ("apiregistration.k8s.io", "apiservices"),
            ("storage.k8s.io", "volumeattachments")}
_EVERYBODYS = {"selfsubjectaccessreviews", "selfsubjectrulesreviews"}  # by system:basic-user
_ALL = {"get", "create", "patch", "delete"}


@functools.cache
def _rights() -> set[tuple[str, str, str]]:
    """The groups, resources and verbs of the account."""
    text = (resources.files("mgmt_drivers.cluster.access") / "vim-roles.yaml").read_text()
    role = next(yaml.safe_load_all(text))
    return {
        (group, resource, verb)
        for rule in role["rules"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    }


def _resource(kind: str) -> str:
    name = kind.lower()
    if name.endswith("y"):
        return f"{name[:-1]}ies"
    if name.endswith("s"):
        return name if name.endswith("ts") else f"{name}es"
    return f"{name}s"


@functools.cache
def _group_of(module: str) -> str:
    """The group in the paths of a module of Kubernetes' client."""
    found = re.search(r"'/apis/([a-z.0-9]+)/", Path(module).read_text())
    return found[1] if found else ""


@needs_openstack
class RightsTest(unittest.TestCase):
    def assert_allowed(self, group: str, kind: str, verbs: set[str]) -> None:
        resource = _resource(kind)
        missing = {verb for verb in verbs if (group, resource, verb) not in _rights()}
        is_refused = (group, resource) in _REFUSED
        wanted = verbs if is_refused or resource in _EVERYBODYS else set()
        self.assertEqual(wanted, missing, f"{resource}.{group}")

    def test_kinds_of_the_v2_api(self) -> None:
        from tacker.sol_refactored.infra_drivers.kubernetes import kubernetes_resource as kinds

        created = kinds.AuthenticationResource
        bases = (kinds.NamespacedResource, kinds.ClusterResource, created)
        members: list[tuple[str, Any]] = inspect.getmembers(kinds, inspect.isclass)
        for name, cls in members:
            if cls not in bases and issubclass(cls, bases):
                verbs = {"create"} if issubclass(cls, created) else _ALL
                self.assert_allowed(_group_of(inspect.getfile(cls.api_class)), name, verbs)

    def test_kinds_of_the_v1_api(self) -> None:
        from tacker.common.container.kubernetes_utils import KubernetesHTTPAPI
        from tacker.vnfm.infra_drivers.kubernetes.k8s.translate_outputs import Transformer

        methods = Transformer(None, None, None, None).method_value
        auth = {"auth_url": "https://api", "username": "", "password": "", "bearer_token": "a"}
        clients = KubernetesHTTPAPI().get_k8s_client_dict(auth)
        for kind, method in methods.items():
            apis = {type(api) for api in clients.values() if hasattr(api, method)}
            (group,) = (_group_of(inspect.getfile(api)) for api in apis)
            is_done_then = kind.endswith("Review") or kind == "Binding"
            self.assert_allowed(group, kind, {"create"} if is_done_then else _ALL)

    def test_nobody_gets_more_than_the_account_has(self) -> None:
        self.assertFalse({"escalate", "bind", "impersonate", "*"} & {v for _, _, v in _rights()})
