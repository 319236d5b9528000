"""Wait until the registry answers on its port."""

from mgmt_drivers.clock import NotYet
from mgmt_drivers.engine.phase import Check
from mgmt_drivers.errors import WaitTimeout
from mgmt_drivers.host.host import Host
from mgmt_drivers.host.script import Script
from mgmt_drivers.params.private_registry import PrivateRegistryParams
from mgmt_drivers.phases.registry import settings
from mgmt_drivers.phases.registry.vnf import OnRegistries, RegistryVnf

_LIMIT = 60.0  # seconds

# The registry's API answers /v2/ with 200, or with 401 where it wants a login
# (OCI distribution specification, "Determining Support"). bash and openssl are
# on every machine; curl is not.
_ASK = Script(
    "ask-registry",
    r"""
request='GET /v2/ HTTP/1.0\r\nHost: localhost\r\n\r\n'
if [ "$2" = tls ]; then
    printf "$request" | timeout 5 openssl s_client -quiet -connect "127.0.0.1:$1" 2>/dev/null
else
    exec 3<>"/dev/tcp/127.0.0.1/$1" && printf "$request" >&3 && timeout 5 cat <&3
fi | head -n 1
""",
    interpreter="bash",
)


class WaitForRegistry(OnRegistries, Check[RegistryVnf]):
    """The operation is done only when the registry is of use."""

    title = "wait for the registry"

    def check(self, host: Host, vnf: RegistryVnf) -> None:
        def answers() -> None:
            good, seen = _answers(host, vnf.params)
            if not good:
                raise NotYet(seen)

        try:
            host.clock.until(answers, _LIMIT, f"the registry on port {vnf.params.port}")
        except WaitTimeout as error:
            logs = host.ask("docker", "logs", "--tail", "20", settings.CONTAINER)
            raise WaitTimeout(f"{error}; its log ends: {logs.stderr or logs.stdout}") from None


def _answers(host: Host, params: PrivateRegistryParams) -> tuple[bool, str]:
    """Whether the registry answers as it should, and the line with which it does."""
    scheme = "tls" if params.tls else "plain"
    seen = host.ask(*_ASK.command(str(params.port), scheme))
    line = seen.stdout.strip()
    wanted = "401" if params.htpasswd else "200"
    return wanted in line.split()[1:2], line or seen.stderr.strip() or "no answer"
