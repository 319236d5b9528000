"""Change the login of a machine."""

from mgmt_drivers.cluster.topology import Topology
from mgmt_drivers.engine.phase import DEPENDS, HostPhase, Prediction
from mgmt_drivers.engine.trace import CHANGED, UNCHANGED, Outcome
from mgmt_drivers.errors import MgmtDriverError
from mgmt_drivers.machine.host import Host
from mgmt_drivers.machine.script import Script
from mgmt_drivers.secret import Secret
from mgmt_drivers.ssh import keys

_CHANGE_KEYS = Script(__package__, "change-keys")


class ChangeLogin(HostPhase[Topology]):
    """Give a machine its login in place of the former login of the topology.

    The former key is removed when another connection has proved the new login. In between the
    machine takes either login, and an attempt that was interrupted is repeated.
    """

    title = "change the login"
    prediction = Prediction(DEPENDS, "on the login that the machine has")

    def step(self, host: Host, topology: Topology) -> Outcome:
        wanted = topology.endpoint(host.node)
        former = wanted.former
        if former is None:
            return UNCHANGED
        new, old = (keys.public_words(login.private_key) for login in (wanted, former))
        if new != old and new:
            host.run(*_CHANGE_KEYS.command("add", *new))
        if wanted.password and wanted.password != former.password:
            password = Secret(f"{wanted.username}:{wanted.password.reveal()}\n")
            host.sudo("chpasswd", stdin=password)
        host.reconnect()
        if host.session.has_former_login:
            raise MgmtDriverError(
                f"the machine refuses the new login of user {wanted.username}, or its password "
                "for sudo, and takes the former one: see its sshd_config (PasswordAuthentication, "
                "AuthorizedKeysFile) and sudoers"
            )
        if new != old and old:
            host.run(*_CHANGE_KEYS.command("remove", *old))
        return CHANGED
