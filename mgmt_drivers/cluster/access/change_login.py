"""Change the login of a machine."""

from mgmt_drivers.cluster.topology import Topology
from mgmt_drivers.engine.phase import HostPhase, Prediction
from mgmt_drivers.engine.trace import CHANGED, Outcome
from mgmt_drivers.errors import MgmtDriverError
from mgmt_drivers.machine.host import Host
from mgmt_drivers.machine.script import Script
from mgmt_drivers.secret import Secret
from mgmt_drivers.ssh import keys

_CHANGE_KEYS = Script(__package__, "change-keys")


class ChangeLogin(HostPhase[Topology]):
    """Give a machine its login, prove it by another connection, and remove the former key.

    The password comes first: a machine with the new key has the password for sudo, too.
    """

    title = "change the login"
    prediction = Prediction(CHANGED)

    def step(self, host: Host, topology: Topology) -> Outcome:
        login = topology.endpoint(host.node)
        assert login.former, "the phase runs on machines with a former login"
        new, old = (keys.public_half(each.private_key) for each in (login, login.former))
        if login.password and login.password != login.former.password:
            host.sudo("chpasswd", stdin=Secret(f"{login.username}:{login.password.reveal()}\n"))
        if new:
            host.run(*_CHANGE_KEYS.command("add", new))
        host.reconnect()
        if host.session.has_former_login:
            raise MgmtDriverError(
                f"sshd refuses the new login of {login.username}, and takes the former one: see "
                "PasswordAuthentication and AuthorizedKeysFile in its configuration"
            )
        if old and old != new:
            host.run(*_CHANGE_KEYS.command("remove", old))
        return CHANGED
