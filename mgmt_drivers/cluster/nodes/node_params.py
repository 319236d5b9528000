"""Parameters of a group of nodes: labels, taints, and fields of kubelet's configuration."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mgmt_drivers import grammar
from mgmt_drivers.params.declaration import Always, ObjectOf, param
from mgmt_drivers.params.kinds import Choice, Kind, ListOf, TextKind, is_object
from mgmt_drivers.params.reader import Reader

# Taints of Kubernetes and of cloud controller managers come and go with a node's state.
UNINITIALIZED = "node.cloudprovider.kubernetes.io/"
OWN_TAINTS = ("node.kubernetes.io/", UNINITIALIZED)
PLACEMENT = ("CIS-node", "kubernetes.io/zone", "topology.kubernetes.io/zone")
# Domains of Kubernetes, and what a kubelet may set in them (its documentation, "NodeRestriction").
_DOMAIN = re.compile(r"(?:.*\.)?(?:kubernetes|k8s)\.io")
_ALLOWED = re.compile(r"(?:.*\.)?(?:node|kubelet)\.kubernetes\.io")
# Set by the drivers, and by kubelet each time that it starts.
_OWN_LABELS = (*PLACEMENT, "node.kubernetes.io/instance-type")
_LONGEST = 16384  # characters of kubelet's fields in JSON
_FIELD = re.compile(r"[a-z][A-Za-z0-9]{0,99}")
# Fields of KubeletConfiguration that others set, by who does.
_OWNERS: Mapping[str, str] = {
    "kubeadm": "apiVersion kind authentication authorization clusterDNS clusterDomain "
    "healthzBindAddress healthzPort resolvConf rotateCertificates staticPodPath",
    "the container runtime": "cgroupDriver containerRuntimeEndpoint imageServiceEndpoint",
    "the drivers": "address enableServer failCgroupV1 port registerNode serverTLSBootstrap "
    "tlsCertFile tlsPrivateKeyFile",
    "the drivers' hardening": "podPidsLimit protectKernelDefaults seccompDefault "
    "streamingConnectionIdleTimeout tlsCipherSuites",
    "master_node.pod_cidr": "maxPods podCIDR",
    "taints": "registerWithTaints",
}
_OWNER = {field: owner for owner, fields in _OWNERS.items() for field in fields.split()}


_BAD_KEY = "must have a key such as rack or example.com/rack (Kubernetes' syntax)"
_BAD_VALUE = "must be a string of at most 63 letters, digits, and -_. in between"


class Labels(Kind[tuple[tuple[str, str], ...]]):
    """Labels that kubelet sets when it registers its node: keys and values."""

    words = "object of labels"
    fallback = absent = ()

    def parse(self, reader: Reader) -> tuple[tuple[str, str], ...]:
        found = {str(k): v for k, v in reader.value.items()} if is_object(reader) else {}
        for key, value in found.items():
            place = reader.at(key)
            domain = key.rpartition("/")[0]
            if not grammar.is_label_key(key):
                place.refuse(_BAD_KEY)
            elif key in _OWN_LABELS:
                place.refuse("is set by the drivers or kubelet, to where the node runs")
            elif _DOMAIN.fullmatch(domain) and not _ALLOWED.fullmatch(domain):
                place.refuse(
                    f"kubelet must not set labels of {domain}, but of node.kubernetes.io and "
                    "kubelet.kubernetes.io; use a domain of your own"
                )
            elif not isinstance(value, str) or not grammar.is_label_value(value):
                place.refuse(_BAD_VALUE)
        return (*found.items(),)

    def schema(self) -> dict[str, Any]:
        value = {"type": "string", "maxLength": 63}
        return {"type": "object", "additionalProperties": value}


class _TaintKey(TextKind[str]):
    words, fallback = "key", "key"

    def take(self, text: str, reader: Reader) -> str:
        if not grammar.is_label_key(text):
            reader.refuse(_BAD_KEY)
        elif text.startswith(OWN_TAINTS):
            names = " and ".join(OWN_TAINTS)
            reader.refuse(f"taints of {names} tell the state of a node; use another key")
        return text


class _TaintValue(TextKind[str]):
    fallback = absent = ""

    def take(self, text: str, reader: Reader) -> str:
        if not grammar.is_label_value(text):
            reader.refuse(_BAD_VALUE)
        return text


@dataclass(frozen=True)
class Taint:
    """A taint of each node of a group."""

    key: str = param(
        "key", _TaintKey(), required=Always(), example="example.com/dedicated",
        meaning="key, such as ``dedicated`` or ``example.com/dedicated``",
    )
    effect: str = param(
        "effect", Choice("NoSchedule", "PreferNoSchedule", "NoExecute"), required=Always(),
        example="NoSchedule", meaning="effect on pods that do not tolerate the taint",
    )
    value: str = param(
        "value", _TaintValue(), example="dataplane", meaning="value", left_out="no value",
    )

    def shown(self) -> dict[str, str]:
        value = {"value": self.value} if self.value else {}
        return {"key": self.key, **value, "effect": self.effect}


def _check_taints(taints: Sequence[Taint], reader: Reader) -> None:
    known = [(taint.key, taint.effect) for taint in taints]
    for number, pair in enumerate(known):
        if pair in known[:number]:
            reader.at(number).refuse("has key and effect of a taint before it")


TAINTS = ListOf(ObjectOf(Taint), check=_check_taints)


class KubeletFields(Kind[str]):
    """Fields of KubeletConfiguration (kubelet.config.k8s.io/v1beta1), read as their JSON."""

    words = "object of fields of KubeletConfiguration"
    fallback = absent = ""

    def parse(self, reader: Reader) -> str:
        if not is_object(reader):
            return ""
        free = {}  # fields that nobody else sets
        for field, value in reader.value.items():
            place = reader.at(str(field))
            if owner := _OWNER.get(field):
                place.refuse(f"is set by {owner}")
            elif not _FIELD.fullmatch(str(field)):
                place.refuse("is no name of a field, such as cpuManagerPolicy")
            else:
                free[str(field)] = value
        try:
            text = json.dumps(free, allow_nan=False)
        except (RecursionError, TypeError, ValueError):
            text = " " * (_LONGEST + 1)
        if len(text) > _LONGEST:
            reader.refuse(f"must be at most {_LONGEST} characters of JSON")
            return ""
        return text

    def schema(self) -> dict[str, Any]:
        return {"type": "object", "propertyNames": {"not": {"enum": sorted(_OWNER)}}}
