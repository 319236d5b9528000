"""A VNF's life through Tacker's API: packages, instances, operations."""

import contextlib
from collections.abc import Collection
from pathlib import Path
from typing import Any

from tackerclient.common.exceptions import TackerClientException
from tackerclient.v1_0.client import Client

from tools.client import wait
from tools.client.api import V1, Api, ClusterVim
from tools.client.log import step

_LIMIT = 1200  # seconds for one operation
FINAL_STATES = {"COMPLETED", "FAILED_TEMP", "FAILED", "ROLLED_BACK"}


class Package:
    """A VNF package in Tacker."""

    def __init__(self, client: Client, csar: Path) -> None:
        self._client = client
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
                lambda seen: seen["onboardingState"] == "ONBOARDED",
                60,
                "onboarding (Tacker's log says why)",
            )
        return str(shown["vnfdId"])

    def delete(self) -> None:
        with contextlib.suppress(TackerClientException):
            self._client.update_vnf_package(self.id, {"operationalState": "DISABLED"})
        self._client.delete_vnf_package(self.id)


class Vnf:
    """A VNF instance. Operations wait for their end and return the occurrence."""

    def __init__(self, client: Client, vnf_id: str, name: str, api: Api | None = None) -> None:
        self._client = client
        self.id = vnf_id
        self.name = name
        self._api = api or V1()

    @classmethod
    def create(cls, client: Client, package: Package, name: str, api: Api | None = None) -> "Vnf":
        body = {"vnfdId": package.vnfd_id, "vnfInstanceName": name}
        return cls(client, client.create_vnf_instance(body)["id"], name, api)

    @classmethod
    def all(cls, client: Client) -> list["Vnf"]:
        """Every instance that Tacker knows."""
        listed = client.list_vnf_instances()
        found = listed if isinstance(listed, list) else listed["vnf_instances"]
        return [cls(client, vnf["id"], vnf.get("vnfInstanceName", "")) for vnf in found]

    def show(self) -> dict[str, Any]:
        shown: dict[str, Any] = self._client.show_vnf_instance(self.id)
        return shown

    def vnfcs(self) -> list[dict[str, Any]]:
        return self._api.vnfcs(self.show())

    def cluster_vims(self) -> list[ClusterVim]:
        """The clusters that the instance has as VIMs."""
        return self._api.cluster_vims(self.show(), self._client)

    def instantiate(self, body: dict[str, Any]) -> dict[str, Any]:
        with step(f"instantiate {self.name}"):
            self.begin_instantiate(body)
            return self._outcome("INSTANTIATE")

    def begin_instantiate(self, body: dict[str, Any]) -> None:
        """Ask for it and do not wait for its end."""
        self._client.instantiate_vnf_instance(self.id, self._api.instantiation(body))

    def cancel(self) -> dict[str, Any]:
        """Cancel the newest operation, as soon as Tacker allows it; returns the occurrence."""
        occurrence: dict[str, Any] = self.occurrences()[-1]

        def attempt() -> str:
            try:
                self._client.cancel_vnf_instance(occurrence["id"], {"cancelMode": "FORCEFUL"})
            except TackerClientException as error:
                return str(error)
            return ""

        with step(f"cancel {occurrence['operation']} of {self.name}"):
            wait.until(attempt, lambda refusal: not refusal, 120, "cancellation")
        shown: dict[str, Any] = self._client.show_vnf_lcm_op_occs(occurrence["id"])
        return shown

    def heal(self, body: dict[str, Any]) -> dict[str, Any]:
        count = len(body.get("vnfcInstanceId", ()))
        what = f"{count} VNFCs" if count else "the whole VNF"
        with step(f"heal {what} of {self.name}"):
            known = self._known()
            self._client.heal_vnf_instance(self.id, self._api.operation(body))
            return self._outcome("HEAL", known=known)

    def scale(self, kind: str, aspect: str, steps: int) -> dict[str, Any]:
        """``kind`` is SCALE_OUT or SCALE_IN."""
        with step(f"{kind} of {self.name} by {steps}"):
            known = self._known()
            body = {"type": kind, "aspectId": aspect, "numberOfSteps": steps}
            self._client.scale_vnf_instance(self.id, self._api.operation(body))
            return self._outcome("SCALE", known=known)

    def terminate(self) -> dict[str, Any]:
        with step(f"terminate {self.name}"):
            self._client.terminate_vnf_instance(self.id, {"terminationType": "FORCEFUL"})
            return self._outcome("TERMINATE")

    def retry(self, occurrence: dict[str, Any]) -> dict[str, Any]:
        with step(f"retry {occurrence['operation']} of {self.name}"):
            self._client.retry_vnf_instance(occurrence["id"])
            return self._outcome(occurrence["operation"], occurrence)

    def rollback(self, occurrence: dict[str, Any]) -> dict[str, Any]:
        with step(f"roll back {occurrence['operation']} of {self.name}"):
            self._client.rollback_vnf_instance(occurrence["id"])
            return self._outcome(occurrence["operation"], occurrence)

    def delete(self) -> None:
        """Delete the instance, which Tacker refuses for a moment after a rollback."""

        def attempt() -> str:
            try:
                self._client.delete_vnf_instance(self.id)
            except TackerClientException as error:
                return str(error)
            return ""

        wait.until(attempt, lambda refusal: not refusal, 30, f"deletion of {self.name}")

    def occurrences(self) -> list[dict[str, Any]]:
        listed = self._client.list_vnf_lcm_op_occs(filter=f"(eq,vnfInstanceId,{self.id})")
        found = listed if isinstance(listed, list) else listed["vnf_lcm_op_occs"]
        return sorted(found, key=lambda occurrence: str(occurrence["startTime"]))

    def _known(self) -> set[str]:
        return {occurrence["id"] for occurrence in self.occurrences()}

    def _outcome(
        self,
        operation: str,
        before: dict[str, Any] | None = None,
        known: Collection[str] = (),
    ) -> dict[str, Any]:
        """The newest occurrence of the operation that was not ``known``, once it has ended.

        One that is retried or rolled back has ended ``before``: it must be seen
        to differ first. (Its stateEnteredTime does not tell: Tacker keeps it.)
        """
        moved = before is None

        def look() -> dict[str, Any]:
            mine = [o for o in self.occurrences() if o["operation"] == operation]
            mine = [o for o in mine if o["id"] not in known]
            if not mine:
                return {"operationState": "none yet"}
            shown: dict[str, Any] = self._client.show_vnf_lcm_op_occs(mine[-1]["id"])
            return shown

        def ended(seen: dict[str, Any]) -> bool:
            nonlocal moved
            moved = moved or before is None or _state(seen) != _state(before)
            return seen["operationState"] in FINAL_STATES and moved

        return wait.until(look, ended, _LIMIT, f"{operation} of {self.name}")

    def remove(self) -> None:
        """Bring the instance to its end from whatever state it is in."""
        if self.id not in {vnf.id for vnf in Vnf.all(self._client)}:
            return
        for occurrence in self.occurrences():
            if occurrence["operationState"] != "FAILED_TEMP":
                continue
            if occurrence["operation"] == "INSTANTIATE":
                self.rollback(occurrence)  # takes the stack away as well
            else:
                self._client.fail_vnf_instance(occurrence["id"])
        if self.show()["instantiationState"] == "INSTANTIATED":
            self.terminate()
        self.delete()


def _state(occurrence: dict[str, Any]) -> tuple[str, str]:
    return occurrence["operationState"], occurrence.get("error", {}).get("detail", "")
