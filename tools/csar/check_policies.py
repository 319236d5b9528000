"""Checks of a flavour's scaling and instantiation level policies."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tools.csar import package as model
from tools.csar.package import Fault, Flavour, Package, mapping

_PREFIX = "tosca.policies.nfv."


@dataclass(frozen=True)
class Policies:
    """A flavour's policies, and the aspects and levels to which policies may refer."""

    flavour: Flavour
    by_name: dict[str, dict[str, Any]]

    @classmethod
    def of(cls, flavour: Flavour) -> "Policies":
        listed = mapping(flavour.document, "topology_template").get("policies") or []
        by_name = {
            name: policy
            for entry in listed
            for name, policy in mapping({"it": entry}, "it").items()
            if isinstance(policy, dict)
        }
        return cls(flavour, by_name)

    def value(self, policy_type: str, key: str) -> dict[str, Any]:
        """Return a property of the policy of this type; empty if there is none."""
        for policy in self.by_name.values():
            if policy.get("type") == _PREFIX + policy_type:
                return mapping(policy, "properties", key)
        return {}

    @property
    def aspects(self) -> dict[str, Any]:
        return self.value("ScalingAspects", "aspects")

    @property
    def levels(self) -> dict[str, Any]:
        return self.value("InstantiationLevels", "levels")

    def scaled(self) -> Iterator[tuple[str, str]]:
        """Give each scaling aspect with each VDU that it scales."""
        for policy in self.by_name.values():
            if policy.get("type") == f"{_PREFIX}VduScalingAspectDeltas":
                for vdu in policy.get("targets") or []:
                    yield str(mapping(policy, "properties").get("aspect")), str(vdu)

    def fault(self, place: str, text: str) -> Fault:
        return Fault(self.flavour.file, f"topology_template.policies.{place}", text)


def policies(package: Package) -> Iterator[Fault]:
    """Check that policies refer to existing nodes, aspects and levels."""
    for flavour in package.flavours:
        own = Policies.of(flavour)
        for name, policy in own.by_name.items():
            yield from _targets(own, name, policy)
            yield from _deltas(own, name, policy)
            yield from _default_level(own, name, policy)
            yield from _vdu_levels(own, name, policy)
        yield from _scale_info(own)


def _targets(own: Policies, name: str, policy: dict[str, Any]) -> Iterator[Fault]:
    kind = str(policy.get("type")).removeprefix(_PREFIX)
    nodes = own.flavour.nodes_of(model.VDU) if kind.startswith("Vdu") else own.flavour.nodes
    for target in policy.get("targets") or []:
        if target not in nodes:
            yield own.fault(f"{name}.targets", f"no node {target} of the type that {kind} is for")


def _deltas(own: Policies, name: str, policy: dict[str, Any]) -> Iterator[Fault]:
    if policy.get("type") != f"{_PREFIX}VduScalingAspectDeltas":
        return
    properties = mapping(policy, "properties")
    aspect = properties.get("aspect")
    if aspect not in own.aspects:
        yield own.fault(f"{name}.properties.aspect", f"no scaling aspect {aspect}")
        return
    for step in mapping(own.aspects, str(aspect)).get("step_deltas") or []:
        if step not in mapping(properties, "deltas"):
            yield own.fault(f"{name}.properties.deltas", f"{aspect}'s step {step} is missing")


def _default_level(own: Policies, name: str, policy: dict[str, Any]) -> Iterator[Fault]:
    level = mapping(policy, "properties").get("default_level")
    if level is not None and level not in own.levels:
        yield own.fault(f"{name}.properties.default_level", f"no instantiation level {level}")


def _vdu_levels(own: Policies, name: str, policy: dict[str, Any]) -> Iterator[Fault]:
    if policy.get("type") == f"{_PREFIX}VduInstantiationLevels":
        for level in mapping(policy, "properties", "levels"):
            if level not in own.levels:
                yield own.fault(
                    f"{name}.properties.levels.{level}", f"no instantiation level {level}"
                )


def _scale_info(own: Policies) -> Iterator[Fault]:
    for level, definition in own.levels.items():
        place = f"InstantiationLevels.levels.{level}.scale_info"
        if not isinstance(mapping(definition).get("scale_info"), dict):
            yield own.fault(place, "missing; Tacker needs it")
        for aspect in mapping(definition, "scale_info"):
            if aspect not in own.aspects:
                yield own.fault(f"{place}.{aspect}", "no such scaling aspect")
