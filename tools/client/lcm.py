"""VNF packages, VNF instances and their operations in Tacker's LCM API."""

import contextlib
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any

from tackerclient.common.exceptions import TackerClientException
from tackerclient.v1_0.client import Client

from tools.client import wait
from tools.client.api import V1, Api, ClusterVim
from tools.client.errors import ClientError
from tools.client.log import step

_LIMIT = 1200  # seconds for one operation
_ONBOARDING_LIMIT = 300  # seconds; a package may have a bundle of half a gigabyte
FINAL_STATES = {"COMPLETED", "FAILED_TEMP", "FAILED", "ROLLED_BACK"}


class Package:
    """A VNF package in Tacker, and its CSAR."""

    def __init__(self, client: Client, csar: Path) -> None:
        self._client = client
        self.csar = csar
        self.id: str = client.create_vnf_package({})["id"]
        try:
            self.vnfd_id = self._onboard(csar)
        except BaseException:
            self.delete()
            raise

    def _onboard(self, csar: Path) -> str:
        client = self._client
        with step(f"onboard {csar.name}"), csar.open("rb") as file:
            client.upload_vnf_package(self.id, file_data=file)
            shown = wait.until(
                lambda: client.show_vnf_package(self.id),
                lambda answer: answer["onboardingState"] == "ONBOARDED",
                _ONBOARDING_LIMIT,
                "onboarding (see Tacker's log)",
            )
        return str(shown["vnfdId"])

    def delete(self) -> None:
        with contextlib.suppress(TackerClientException):
            self._client.update_vnf_package(self.id, {"operationalState": "DISABLED"})
        self._client.delete_vnf_package(self.id)


class Vnf:
    """A VNF instance. Each operation waits for its end and returns its occurrence."""

    def __init__(self, client: Client, vnf_id: str, name: str, api: Api | None = None) -> None:
        self.client = client
        self.id = vnf_id
        self.name = name
        self.api = api or V1()

    @classmethod
    def create(cls, client: Client, package: Package, name: str, api: Api | None = None) -> "Vnf":
        """Create an instance; without a name Tacker gives it one."""
        body = {"vnfdId": package.vnfd_id, **({"vnfInstanceName": name} if name else {})}
        return cls(client, client.create_vnf_instance(body)["id"], name, api)

    @classmethod
    def all(cls, client: Client, api: Api | None = None) -> list["Vnf"]:
        """List all instances in Tacker."""
        listed = client.list_vnf_instances()
        vnfs = listed if isinstance(listed, list) else listed["vnf_instances"]
        return [cls(client, vnf["id"], vnf.get("vnfInstanceName", ""), api) for vnf in vnfs]

    def show(self) -> dict[str, Any]:
        shown: dict[str, Any] = self.client.show_vnf_instance(self.id)
        return shown

    def show_instantiated(self) -> dict[str, Any]:
        """:raises ClientError: if the instance is not instantiated"""
        shown = self.show()
        if shown["instantiationState"] != "INSTANTIATED":
            raise ClientError(f"{self.name or self.id} is not instantiated")
        return shown

    def vnfcs(self) -> list[dict[str, Any]]:
        return self.api.vnfcs(self.show_instantiated())

    def cluster_vims(self) -> list[ClusterVim]:
        """The clusters that are registered as VIMs of the instance."""
        return self.api.cluster_vims(self.show(), self.client)

    def instantiate(self, body: dict[str, Any]) -> dict[str, Any]:
        with step(f"instantiate {self.name}"):
            self.start_instantiate(body)
            return self.await_outcome("INSTANTIATE")

    def start_instantiate(self, body: dict[str, Any]) -> None:
        """Start the instantiation without waiting for its end."""
        self.client.instantiate_vnf_instance(self.id, self.api.instantiation(body))

    def cancel(self) -> dict[str, Any]:
        """Cancel the newest operation as soon as Tacker allows it; returns the occurrence."""
        occurrence: dict[str, Any] = self.occurrences()[-1]
        ask, body = self.client.cancel_vnf_instance, {"cancelMode": "FORCEFUL"}
        with step(f"cancel {occurrence['operation']} of {self.name}"):
            _until_allowed(120, "cancellation", ask, occurrence["id"], body)
        return self.occurrence(occurrence["id"])

    def heal(self, body: dict[str, Any]) -> dict[str, Any]:
        count = len(body.get("vnfcInstanceId", ()))
        what = f"{count} VNFCs" if count else "the whole VNF"
        with step(f"heal {what} of {self.name}"):
            return self.await_outcome("HEAL", known=self.start_heal(body))

    def start_heal(self, body: dict[str, Any]) -> set[str]:
        """Start a heal without waiting for its end; returns the ids of the operations before."""
        known = self._occurrence_ids()
        self.client.heal_vnf_instance(self.id, self.api.operation(body))
        return known

    def scale(self, kind: str, aspect: str, steps: int) -> dict[str, Any]:
        """``kind`` is SCALE_OUT or SCALE_IN."""
        with step(f"{kind} of {self.name} by {steps}"):
            known = self._occurrence_ids()
            body = {"type": kind, "aspectId": aspect, "numberOfSteps": steps}
            self.client.scale_vnf_instance(self.id, self.api.operation(body))
            return self.await_outcome("SCALE", known=known)

    def modify(self, body: dict[str, Any]) -> dict[str, Any]:
        with step(f"modify {self.name}"):
            known = self._occurrence_ids()
            self.client.update_vnf_instance(self.id, body)
            return self.await_outcome("MODIFY_INFO", known=known)

    def change_package(self, body: dict[str, Any]) -> dict[str, Any]:
        """Change Current VNF Package, which only the v2 API has."""
        with step(f"change the package of {self.name}"):
            known = self._occurrence_ids()
            self.client.change_vnfpkg_vnf_instance(self.id, self.api.operation(body))
            return self.await_outcome("CHANGE_VNFPKG", known=known)

    def terminate(self) -> dict[str, Any]:
        with step(f"terminate {self.name}"):
            self.client.terminate_vnf_instance(self.id, {"terminationType": "FORCEFUL"})
            return self.await_outcome("TERMINATE")

    def retry(self, occurrence: dict[str, Any]) -> dict[str, Any]:
        with step(f"retry {occurrence['operation']} of {self.name}"):
            self.client.retry_vnf_instance(occurrence["id"])
            return self.await_outcome(occurrence["operation"], occurrence)

    def rollback(self, occurrence: dict[str, Any]) -> dict[str, Any]:
        with step(f"roll back {occurrence['operation']} of {self.name}"):
            self.client.rollback_vnf_instance(occurrence["id"])
            return self.await_outcome(occurrence["operation"], occurrence)

    def delete(self) -> None:
        """Delete the instance, which Tacker refuses for a moment after a rollback."""
        _until_allowed(30, f"deletion of {self.name}", self.client.delete_vnf_instance, self.id)

    def occurrences(self) -> list[dict[str, Any]]:
        listed = self.client.list_vnf_lcm_op_occs(filter=f"(eq,vnfInstanceId,{self.id})")
        occurrences = listed if isinstance(listed, list) else listed["vnf_lcm_op_occs"]
        return sorted(occurrences, key=lambda occurrence: str(occurrence["startTime"]))

    def occurrence(self, occurrence_id: str) -> dict[str, Any]:
        """Show an operation, with the error and the parameters that a list of v2 leaves out."""
        shown: dict[str, Any] = self.client.show_vnf_lcm_op_occs(occurrence_id)
        return shown

    def fail(self, occurrence: dict[str, Any]) -> None:
        """End an operation that is FAILED_TEMP: Tacker begins no other one before."""
        self.client.fail_vnf_instance(occurrence["id"])

    def _occurrence_ids(self) -> set[str]:
        return {occurrence["id"] for occurrence in self.occurrences()}

    def await_outcome(
        self,
        operation: str,
        before: dict[str, Any] | None = None,
        known: Collection[str] = (),
    ) -> dict[str, Any]:
        """Wait for the end of the newest occurrence of the operation that is not ``known``.

        An occurrence that is retried or rolled back has already ended once, as ``before``: its
        state must change first. (Tacker does not change its stateEnteredTime.)
        """
        changed = before is None

        def look() -> dict[str, Any]:
            new = [
                occurrence
                for occurrence in self.occurrences()
                if occurrence["operation"] == operation and occurrence["id"] not in known
            ]
            if not new:
                return {"operationState": "none yet"}
            if operation == "MODIFY_INFO" and not self.api.ends_modifications:
                return new[-1]  # Tacker 16's v1 API cannot show it; a list of v2 has no errors
            return self.occurrence(new[-1]["id"])

        def ended(occurrence: dict[str, Any]) -> bool:
            nonlocal changed
            changed = changed or before is None or _state(occurrence) != _state(before)
            return occurrence["operationState"] in FINAL_STATES and changed

        return wait.until(look, ended, _LIMIT, f"{operation} of {self.name}")

    def remove(self) -> None:
        """Terminate and delete the instance, whatever its state is."""
        if self.id not in {vnf.id for vnf in Vnf.all(self.client)}:
            return
        for occurrence in self.occurrences():
            if occurrence["operationState"] != "FAILED_TEMP":
                continue
            if occurrence["operation"] == "INSTANTIATE":
                self.rollback(occurrence)  # deletes the stack as well
            elif occurrence["operation"] != "MODIFY_INFO" or self.api.ends_modifications:
                self.fail(occurrence)
        if self.show()["instantiationState"] == "INSTANTIATED":
            self.terminate()
        self.delete()


def _until_allowed(limit: float, what: str, ask: Callable[..., object], *args: object) -> None:
    """Send a request again while Tacker refuses it."""

    def attempt() -> str:
        try:
            ask(*args)
        except TackerClientException as error:
            return str(error)
        return ""

    wait.until(attempt, lambda refusal: not refusal, limit, what)


def _state(occurrence: dict[str, Any]) -> tuple[str, str]:
    return occurrence["operationState"], occurrence.get("error", {}).get("detail", "")
