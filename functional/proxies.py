"""An HTTP proxy on a test machine."""

from tools.client.log import step
from tools.client.machines import Remote

PORT = 8888
_UNIT = "scenario-proxy"
_START = (
    "sudo apt-get -qq update && sudo DEBIAN_FRONTEND=noninteractive apt-get -qq install -y "
    "tinyproxy >/dev/null && sudo systemctl stop tinyproxy "
    f"&& printf 'Port {PORT}\\nLogLevel Connect\\n' >/tmp/proxy.conf "
    f"&& sudo systemd-run --quiet --unit={_UNIT} tinyproxy -d -c /tmp/proxy.conf"
)


def start_proxy(machine: Remote) -> str:
    """Start a proxy on a machine; returns its URL."""
    with step(f"start a proxy on {machine.address}"):
        machine.run(_START)
    return f"http://{machine.address}:{PORT}"


def proxy_log(machine: Remote) -> str:
    """The proxy's log: a line for each request."""
    return machine.run(f"sudo journalctl --no-pager --unit={_UNIT}")
