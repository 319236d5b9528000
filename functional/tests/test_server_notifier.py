"""The Server Notifier: what it keeps of Tacker's registrations, and what it tells Tacker."""

import unittest
from unittest import mock

import requests

from functional import server_notifier


class ServerNotifierTest(unittest.TestCase):
    def test_registrations(self) -> None:
        with server_notifier.server_notifier("http://127.0.0.1:9890/") as notifier:
            url = f"{notifier.params['ServerNotifierUri']}/v2/nfv/servers"
            fault_ids = notifier.params["ServerNotifierFaultID"]
            alarms = {}
            for server in ("b", "a"):
                body = {"fault_action": f"http://tacker/{server}", "fault_id": fault_ids}
                answer = requests.post(f"{url}/{server}/alarms", json=body)
                alarms[server] = answer.json()["alarm_id"]
            self.assertEqual(["a", "b"], notifier.servers)
            with mock.patch.object(requests.Session, "request") as request:
                notifier.tell_fault("b")
            request.assert_called_once_with(
                "POST", "http://tacker/b", timeout=mock.ANY, json={"notification": {
                    "alarm_id": alarms["b"], "fault_id": fault_ids[0], "fault_type": "10",
                }},
            )
            for server, status in (("a", 404), ("b", 204), ("b", 404)):
                seen = requests.delete(f"{url}/{server}/alarms/{alarms['b']}")
                self.assertEqual(status, seen.status_code)
            self.assertEqual(["a"], notifier.servers)
