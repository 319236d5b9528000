"""Whether an apiserver is ready, asked from a master."""

from mgmt_drivers.host.host import Host
from mgmt_drivers.kube.cluster import API_PORT
from mgmt_drivers.ssh import wait


def await_api(host: Host, address: str, limit: float, port: int = API_PORT) -> None:
    """Wait until the API at an address says that it is ready (its /readyz)."""
    url = f"https://{address}:{port}"

    def answers() -> None:
        seen = host.ask(
            "kubectl", "--kubeconfig", "/etc/kubernetes/admin.conf", "--server", url,
            "--request-timeout", "5s", "get", "--raw", "/readyz",
        )
        if not seen.ok or seen.stdout.strip() != "ok":
            raise wait.NotYet(seen.stderr.strip() or seen.stdout.strip() or "no answer")

    wait.until(answers, limit, f"the API at {url}")
