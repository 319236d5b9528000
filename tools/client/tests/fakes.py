"""A cloud in memory, as openstacksdk shows a cloud."""

from typing import Any
from unittest import mock


class Orchestration:
    """Heat: what it answers to each path, and the calls that show a stack."""

    def __init__(self, answers: dict[str, Any]) -> None:
        self.answers = answers
        self.shown: list[tuple[str, bool]] = []

    def get(self, path: str) -> Any:
        return mock.Mock(json=lambda: self.answers[path])

    def get_stack(self, stack_id: str, resolve_outputs: bool = True) -> Any:
        self.shown.append((stack_id, resolve_outputs))
        found = mock.Mock(id=stack_id, status="CREATE_COMPLETE")
        found.name = f"name-of-{stack_id}"
        return found


def resource(
    name: str,
    kind: str,
    made: str,
    status: str = "CREATE_COMPLETE",
    created: str = "2026-01-01T00:00:00Z",
) -> dict[str, Any]:
    """A resource as Heat lists it."""
    return {
        "resource_name": name,
        "resource_type": kind,
        "resource_status": status,
        "resource_status_reason": f"why {name}",
        "physical_resource_id": made,
        "creation_time": created,
    }


def item(**attributes: Any) -> Any:
    """What openstacksdk returns, with these attributes; ``name`` too, unlike mock.Mock."""
    made = mock.Mock(spec=list(attributes))
    for key, value in attributes.items():
        setattr(made, key, value)
    return made
