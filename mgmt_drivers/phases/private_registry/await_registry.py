"""Wait until the registry answers on its port."""

from mgmt_drivers.errors import WaitTimeout
from mgmt_drivers.host.host import Host
from mgmt_drivers.params.private_registry import PrivateRegistryParams
from mgmt_drivers.phases.phase import Phase
from mgmt_drivers.phases.private_registry import settings
from mgmt_drivers.ssh import wait

# The registry's API answers /v2/ with 200, or with 401 where it wants a login
# (OCI distribution specification, "Determining Support"). bash and openssl are
# on every machine; curl is not.
_ASK = r"""
request='GET /v2/ HTTP/1.0\r\nHost: localhost\r\n\r\n'
if [ "$2" = tls ]; then
    printf "$request" | timeout 5 openssl s_client -quiet -connect "127.0.0.1:$1" 2>/dev/null
else
    exec 3<>"/dev/tcp/127.0.0.1/$1" && printf "$request" >&3 && timeout 5 cat <&3
fi | head -n 1
"""


class AwaitRegistry(Phase[PrivateRegistryParams]):
    """The operation is done only when the registry is of use."""

    title = "await the registry"
    limit = 60.0  # seconds

    def needed(self, host: Host, params: PrivateRegistryParams) -> bool:
        return not _answers(host, params)[0]

    def apply(self, host: Host, params: PrivateRegistryParams) -> None:
        def answers() -> None:
            good, seen = _answers(host, params)
            if not good:
                raise wait.NotYet(seen)

        try:
            wait.until(answers, self.limit, f"the registry on port {params.port}")
        except wait.WaitTimeout as error:
            logs = host.ask("docker", "logs", "--tail", "20", settings.CONTAINER)
            raise WaitTimeout(f"{error}; its log ends: {logs.stderr or logs.stdout}") from None


def _answers(host: Host, params: PrivateRegistryParams) -> tuple[bool, str]:
    """Whether the registry answers as it should, and the line with which it does."""
    scheme = "tls" if params.tls else "plain"
    seen = host.ask("bash", "-c", _ASK, "bash", str(params.port), scheme)
    line = seen.stdout.strip()
    wanted = "401" if params.htpasswd else "200"
    return wanted in line.split()[1:2], line or seen.stderr.strip() or "no answer"
