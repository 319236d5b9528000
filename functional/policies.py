"""A network policy in force: of two pods one reaches a server, and the other one does not."""

from functional.dns import Resolver
from functional.kubernetes import KUBECTL
from tools.client import wait
from tools.client.errors import ClientError
from tools.client.log import log
from tools.client.machines import Remote

_PODS = {"server": "none", "friend": "allowed", "stranger": "none"}  # with the label access
_PATIENCE = 5  # seconds for the answer of a server
_POD = """\
apiVersion: v1
kind: Pod
metadata: {{name: {name}, labels: {{name: {name}, access: {access}}}}}
spec:
  containers:
  - name: a
    image: {image}
    command: [/bin/busybox, sh, -c]
    args: ["/bin/busybox mkdir /w; echo served >/w/index.html; /bin/busybox httpd -f -h /w"]
---
"""
_POLICY = """\
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: server}
spec:
  podSelector: {matchLabels: {name: server}}
  policyTypes: [Ingress]
  ingress:
  - from: [{podSelector: {matchLabels: {access: allowed}}}]
"""


def start_pods(master: Remote, image: str) -> None:
    """Run a server that only pods with the label access=allowed may reach, and two other pods."""
    pods = [_POD.format(name=n, access=a, image=image) for n, a in _PODS.items()]
    master.run(f"{KUBECTL} apply --filename - <<'END'\n{''.join(pods)}{_POLICY}END")
    master.run(f"{KUBECTL} wait pod {' '.join(_PODS)} --for=condition=Ready --timeout=120s")


def check(master: Remote) -> None:
    """Wait until the policy is in force."""
    address = master.run(f"{KUBECTL} get pod server --output jsonpath='{{.status.podIP}}'").strip()
    wait.until(
        lambda: [fetch(master, pod, address) for pod in ("friend", "stranger")],
        lambda seen: seen == ["served", ""], 60, "the policy in force",
    )


def fetch(master: Remote, pod: str, address: str) -> str:
    """Fetch the page of a server in a pod; empty if no server answers."""
    try:
        return Resolver(master, pod).fetch(address, 80, _PATIENCE)
    except ClientError as error:
        log(f"{pod}: {error}")
        return ""
