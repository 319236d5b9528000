"""Change the login of a machine, and remove its former key when no machine needs the key."""

from mgmt_drivers.cluster.topology import Topology
from mgmt_drivers.engine.phase import Change, HostPhase, Prediction
from mgmt_drivers.engine.trace import CHANGED, Outcome
from mgmt_drivers.errors import ConnectionFailed
from mgmt_drivers.machine.host import Host
from mgmt_drivers.machine.script import Script
from mgmt_drivers.secret import Secret
from mgmt_drivers.ssh import keys

_CHANGE_KEYS = Script(__package__, "change-keys")


class ChangeLogin(HostPhase[Topology]):
    """Give a machine its login, and prove it by another connection; a former key stays.

    The password comes first: a machine with the new key has the password for sudo, too.
    """

    title = "change the login"
    prediction = Prediction(CHANGED)

    def step(self, host: Host, topology: Topology) -> Outcome:
        login = topology.endpoint(host.node)
        assert login.formers, "the phase runs on machines with a former login"
        new = keys.public_half(login.private_key)
        if login.password and {login.password} != {each.password for each in login.formers}:
            host.sudo("chpasswd", stdin=Secret(f"{login.username}:{login.password.reveal()}\n"))
        if new:
            host.run(*_CHANGE_KEYS.command("add", new))
        host.reconnect()
        if host.session.has_former_login:
            raise ConnectionFailed(
                f"sshd refuses the new login of {login.username}, and takes the former one: see "
                "PasswordAuthentication and AuthorizedKeysFile in its configuration"
            )
        return CHANGED


class RemoveFormerKey(Change[Topology, list[str]]):
    """Remove the former key, after all machines have taken the new login.

    Until then an operation that knows the former login alone, such as a heal, can log in.
    """

    title = "remove the former key"

    def look(self, host: Host, topology: Topology) -> list[str] | None:
        """The former keys, if the login has another one."""
        login = topology.endpoint(host.node)
        old = dict.fromkeys(keys.public_half(each.private_key) for each in login.formers)
        return [key for key in old if key not in ("", keys.public_half(login.private_key))] or None

    def act(self, host: Host, topology: Topology, old: list[str]) -> None:
        for key in old:
            host.run(*_CHANGE_KEYS.command("remove", key))
