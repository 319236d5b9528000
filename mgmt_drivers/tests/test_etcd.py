"""etcd's members: what may be removed, and by what they are known."""

import dataclasses
import json
import unittest

from mgmt_drivers.cluster.etcd import etcd, quorum, upkeep
from mgmt_drivers.cluster.etcd.etcd import EtcdStatus, Member
from mgmt_drivers.cluster.etcd.etcd_phases import RemoveEtcdMembers
from mgmt_drivers.errors import MgmtDriverError
from mgmt_drivers.testing.fake_cluster import cluster
from mgmt_drivers.testing.fakes import FakeSession


def _members(count: int) -> tuple[Member, ...]:
    """Named and addressed so that one is the beginning of another."""
    return tuple(
        Member(n, f"master{'1' * n}", (f"https://10.10.0.{'1' * n}:2380",), ("https://c",))
        for n in range(1, count + 1)
    )


class RefusalTest(unittest.TestCase):
    def refusal(self, voters: int, unhealthy: set[int], leaving: set[int]) -> str:
        members = _members(voters)
        healthy = frozenset(m.id for m in members) - unhealthy
        found = EtcdStatus(members, healthy, leader=0)
        return quorum.why_not_removable(found, [m for m in members if m.id in leaving])

    def test_a_quorum_of_healthy_voters_must_stand(self) -> None:
        for voters, unhealthy, leaving, good in (
            (3, set(), {1}, True),
            (3, {1}, {1}, True),
            (3, {2}, {1}, False),  # two left, one of them unhealthy
            (3, {1, 2}, {1}, False),
            (3, {1}, {1, 2}, False),  # one disk would hold all there is
            (3, set(), {1, 2, 3}, False),
            (5, {1, 2}, {1}, True),
            (5, {1, 2}, {1, 2}, True),
            (5, {1}, {1, 2, 3}, True),  # the dead one first
            (5, set(), {1, 2, 3, 4}, False),
            (5, {1, 2, 3}, {1}, False),
            (4, {1}, {1}, True),
            (4, {1, 2}, {1, 2}, False),  # without a quorum etcd lets nobody leave
            (1, set(), {1}, False),
        ):
            reason = self.refusal(voters, unhealthy, leaving)
            self.assertEqual(good, not reason, (voters, unhealthy, leaving, reason))

    def test_the_arithmetic_is_told(self) -> None:
        reason = self.refusal(3, {1, 2}, {1})
        self.assertIn("etcd has 3 voters; without master1 ", reason)
        self.assertIn("there are 2, of which 2 must be healthy and 1 are", reason)
        self.assertIn("unhealthy: master11 ", reason)

    def test_members_that_do_not_vote_are_in_the_way(self) -> None:
        members = (*_members(3), Member(9, "", ("https://10.10.0.9:2380",), ()))
        found = EtcdStatus(members, frozenset({1, 2, 3}), leader=1)
        reason = quorum.why_not_removable(found, members[:1])
        self.assertIn("not voters: a member that never", reason)
        self.assertEqual("", quorum.why_not_removable(found, members[3:]))

    def test_those_go_first_that_do_not_vote(self) -> None:
        learner = Member(9, "master9", ("https://10.10.0.9:2380",), (), is_learner=True)
        voters = _members(3)
        found = EtcdStatus((*voters, learner), frozenset({1, 3, 9}), leader=1)
        wanted = [learner, voters[1], voters[0]]
        self.assertEqual(wanted, quorum.in_order(found, [voters[0], voters[1], learner]))
        self.assertEqual("", quorum.why_not_removable(found, [voters[1], learner]))


    def test_members_are_told_apart_by_their_ids(self) -> None:
        """Between two lists a member starts, gets a vote, or goes."""
        voters = _members(5)
        found = EtcdStatus(voters, frozenset({1, 2, 3, 4, 5}), leader=1)
        before = Member(2, "", voters[1].peer_urls, (), is_learner=True)
        self.assertEqual([voters[1]], quorum.in_order(found, [before]))
        self.assertTrue(quorum.in_order(found, [before])[0].is_voter)
        self.assertEqual("", quorum.why_not_removable(found, [before]))
        shrunk = EtcdStatus(voters[:1] + voters[2:], found.healthy, leader=1)
        self.assertEqual("", quorum.why_not_removable(shrunk, [before, voters[2]]))
        joined = dataclasses.replace(before, name="master11")  # a learner that has its name now
        learning = EtcdStatus((voters[0], joined, *voters[2:]), found.healthy, leader=1)
        self.assertEqual("", quorum.why_not_removable(learning, [before]))


class MembersTest(unittest.TestCase):
    def setUp(self) -> None:
        self.cluster, sessions = cluster(masters=3)
        self.host = self.cluster.hosts[0]
        self.session = sessions[self.cluster.name(self.host)]

    def expect(self, session: FakeSession, answer: object, status: int = 0) -> None:
        session.expect("sudo", "static-pods", "exec", "containerd",
                       stdout=json.dumps(answer), status=status)

    def test_addresses_are_compared_as_a_whole(self) -> None:
        found = [m.is_at("10.10.0.1") for m in _members(3)]
        self.assertEqual([True, False, False], found)

    def test_a_census_counts_who_answers(self) -> None:
        listed = [
            {"ID": 10, "name": "a", "peerURLs": ["https://10.0.0.1:2380"],
             "clientURLs": ["https://10.0.0.1:2379"]},
            {"ID": 11, "peerURLs": ["https://10.0.0.2:2380"]},
        ]
        self.expect(self.session, {"members": listed})
        status = {"header": {"member_id": 10}, "leader": 10}
        self.expect(self.session, [{"Status": status}], status=1)
        found = etcd.read_status(self.host, self.cluster)
        self.assertEqual((frozenset({10}), 10), (found.healthy, found.leader))
        self.assertEqual([True, False], [m.is_voter for m in found.members])

    def test_nobody_is_unhealthy_for_want_of_a_leader_that_nobody_has(self) -> None:
        listed = [
            {"ID": n, "name": f"m{n}", "peerURLs": ["https://a:2380"], "clientURLs": ["https://c"]}
            for n in (1, 2)
        ]
        alone = {"header": {"member_id": 1}, "errors": ["etcdserver: no leader"]}
        for others, healthy in (([], {1}), ([{"header": {"member_id": 2}, "leader": 2}], {2})):
            self.expect(self.session, {"members": listed})
            self.expect(self.session, [{"Status": status} for status in (alone, *others)])
            self.assertEqual(healthy, etcd.read_status(self.host, self.cluster).healthy)

    def test_no_answer_is_an_error(self) -> None:
        self.session.expect("sudo", "static-pods", status=1, stderr="no container runs")
        with self.assertRaisesRegex(etcd.EtcdUnreadable, "no container runs"):
            etcd.list_members(self.host, self.cluster)

    def test_without_a_quorum_a_member_tells_what_it_knows_by_itself(self) -> None:
        for status, output in ((1, "Error: unknown flag: --consistency"), (0, '{"members": []}')):
            self.session.expect(
                "sudo", "static-pods", status=1, stderr="Error: context deadline exceeded"
            )
            self.session.expect("sudo", "static-pods", status=status, stdout=output)
            if status == 0:
                self.assertEqual([], etcd.list_members(self.host, self.cluster))
            else:  # etcdctl before 3.6
                with self.assertRaisesRegex(etcd.EtcdUnreadable, "deadline exceeded"):
                    etcd.list_members(self.host, self.cluster)
            self.assertIn("--consistency=s", self.session.ran[-1])

    def test_orphans_are_the_drivers_own_and_no_machines(self) -> None:
        own = self.cluster.name(self.host)
        told = [
            (own, "192.0.2.11"), ("master-0123456789ab", "192.0.2.99"),
            ("master-0123456789ab", "192.0.2.12"),  # of a machine that is about to join anew
            ("by-hand", "192.0.2.98"), ("", "192.0.2.97"), ("", "192.0.2.13"),
        ]
        members = [
            Member(n, name, (f"https://{ip}:2380",), ()) for n, (name, ip) in enumerate(told)
        ]
        self.assertEqual([1, 4], [m.id for m in quorum.orphaned(self.cluster, members)])

    def test_the_leadership_moves_to_a_voter(self) -> None:
        voters = _members(3)
        learner = Member(9, "master9", ("https://10.10.0.9:2380",), (), is_learner=True)
        found = EtcdStatus((voters[0], learner, *voters[1:]), frozenset({1, 2, 9}), leader=1)
        self.expect(self.session, "Leadership transferred")
        quorum.move_leader(self.host, self.cluster, found, voters[:1])
        self.assertEqual(("move-leader", "2"), self.session.ran[-1][-2:])

    def test_the_leadership_moves_to_nobody_who_leaves(self) -> None:
        """Also if the member that leaves has got its name and its vote since it was listed."""
        voters = _members(3)
        before = Member(2, "", voters[1].peer_urls, (), is_learner=True)
        status = EtcdStatus(voters, frozenset({1, 2, 3}), leader=1)
        self.expect(self.session, "Leadership transferred")
        quorum.move_leader(self.host, self.cluster, status, [voters[0], before])
        self.assertEqual(("move-leader", "3"), self.session.ran[-1][-2:])

    def test_a_leader_without_a_successor_stays(self) -> None:
        voters = _members(3)
        found = EtcdStatus(voters, frozenset({1}), leader=1)
        with self.assertRaisesRegex(
            MgmtDriverError, r"leader master1 .* no healthy voter stays .*unhealthy: master11 "
        ):
            quorum.move_leader(self.host, self.cluster, found, voters[:1])

    def test_the_quorum_is_checked_before_the_leadership_moves(self) -> None:
        listed = [
            {"ID": m.id, "name": m.name, "peerURLs": m.peer_urls, "clientURLs": m.client_urls}
            for m in _members(3)
        ]
        healthy = [{"Status": {"header": {"member_id": n}, "leader": 1}} for n in (1, 2)]
        self.expect(self.session, {"members": listed})
        self.expect(self.session, healthy)
        self.session.expect("sudo", "prepare-snapshot")
        self.expect(self.session, {})
        self.session.expect("sudo", "chmod")
        self.expect(self.session, {})
        self.session.expect("sudo", "mv")
        self.expect(self.session, {"members": listed})
        self.expect(self.session, healthy)
        with self.assertRaisesRegex(MgmtDriverError, "2 must be healthy and 1 are"):
            RemoveEtcdMembers().act(self.host, self.cluster, _members(1))
        self.session.assert_done()

    def test_leftovers_of_a_join_are_purged(self) -> None:
        self.purge([10, 171])
        self.expect(self.session, {})
        quorum.purge(self.host, self.cluster, "10.10.0.1")
        self.assertEqual(("member", "remove", "ab"), self.session.ran[-1][-3:])
        self.session.assert_done()

    def test_a_leftover_without_which_there_is_no_quorum_stays(self) -> None:
        """Another master has died since."""
        self.purge([171])
        with self.assertRaisesRegex(MgmtDriverError, "b .* is left of .* 1 must be healthy and 0"):
            quorum.purge(self.host, self.cluster, "10.10.0.1")
        self.session.assert_done()

    def expect_snapshot(self) -> None:
        self.session.expect("sudo", "prepare-snapshot", "/var/lib/etcd", "snapshot.db")
        self.expect(self.session, {})
        self.session.expect("sudo", "chmod", "0600", "/var/lib/etcd/snapshot.db")

    def test_a_snapshot_is_checked_before_it_takes_the_place_of_another(self) -> None:
        self.expect_snapshot()
        self.expect(self.session, {})
        self.session.expect("sudo", "mv", "/var/lib/etcd/snapshot.db")
        kept = upkeep.save_snapshot(self.host, self.cluster, "kept")
        self.assertEqual("/var/lib/tacker-mgmt-drivers/kept.db", kept)
        self.assertIn("etcdutl", self.session.ran[-2])
        self.session.assert_done()

    def test_a_snapshot_that_is_not_whole_is_not_kept(self) -> None:
        """Of etcd 3.4 the image has no etcdutl, from 3.6 on no other program checks."""
        for status in (0, 1):
            self.expect_snapshot()
            self.expect(self.session, "no such program", 1)
            self.expect(self.session, "integrity check failed", status)
            if status == 0:
                self.session.expect("sudo", "mv")
                upkeep.save_snapshot(self.host, self.cluster)
                self.assertIn("etcdctl", self.session.ran[-2])
            else:
                path = "/var/lib/etcd/snapshot.db"
                self.session.expect("sudo", "rm", "--force", path, f"{path}.part")
                with self.assertRaisesRegex(MgmtDriverError, "is not whole.*etcdutl: .*etcdctl: "):
                    upkeep.save_snapshot(self.host, self.cluster)
        self.session.assert_done()

    def test_orphans_go_before_healthy_members_on_nodes(self) -> None:
        """Their machines may go at any time, and they would still count for the quorum."""
        node = self.cluster.hosts[0].node
        leaving = dataclasses.replace(self.cluster, leaving=[node])
        own = [
            (self.cluster.name(host), self.cluster.address(host)) for host in self.cluster.hosts[:3]
        ]
        told = [*own, ("master-0123456789ab", "192.0.2.98"), ("master-0123456789ac", "192.0.2.99")]
        members = [
            Member(n, name, (f"https://{ip}:2380",), ()) for n, (name, ip) in enumerate(told)
        ]
        found = quorum.leaving(leaving, members)
        for healthy, wanted in (({0, 1, 2, 3, 4}, [3, 4, 0]), ({1, 2, 3}, [4, 0, 3])):
            status = EtcdStatus(tuple(members), frozenset(healthy), leader=1)
            self.assertEqual(wanted, [m.id for m in quorum.in_order(status, found)])
        status = EtcdStatus(tuple(members), frozenset({0, 1, 2}), leader=1)
        self.assertEqual("", quorum.why_not_removable(status, found))

    def purge(self, healthy: list[int]) -> None:
        """Two members, of which one is of a join that failed."""
        listed = [
            {"ID": 10, "name": "a", "peerURLs": ["https://10.10.0.11:2380"]},
            {"ID": 171, "name": "b", "peerURLs": ["https://10.10.0.1:2380"]},
        ]
        self.expect(self.session, {"members": listed})
        self.expect(self.session, {"members": listed})
        self.expect(self.session, [{"Status": {"header": {"member_id": n}}} for n in healthy])
