"""An issuer of OpenID Connect on a test machine, whose tokens are signed here."""

import base64
import json
import shlex
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import padding, rsa

from mgmt_drivers.testing.made_certificates import signed
from tools.client.log import log, step
from tools.client.machines import Remote

PORT = 8443
AUDIENCE = "kubernetes"
_UNIT, _KEY_ID = "scenario-issuer", "first"
_SERVE = f"""
import functools, http.server, ssl
handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory="issuer")
server = http.server.ThreadingHTTPServer(("", {PORT}), handler)
context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
context.load_cert_chain("tls.crt", "tls.key")
server.socket = context.wrap_socket(server.socket, server_side=True)
server.serve_forever()
"""
# Without the kubeconfig of the login user, which has an administrator's certificate.
_ASK = (
    "kubectl --kubeconfig /dev/null --server https://127.0.0.1:6443 --tls-server-name kubernetes "
    "--certificate-authority /etc/kubernetes/pki/ca.crt auth whoami --output json --token"
)


@dataclass(frozen=True)
class Issuer:
    """An issuer by its URL, the CA of its certificate (PEM), and the key that signs its tokens."""

    url: str
    ca: str
    key: rsa.RSAPrivateKey

    def token(self, user: str, *groups: str, key: rsa.RSAPrivateKey | None = None) -> str:
        """A token for ten minutes, signed by the issuer's key or by another one."""
        now = int(time.time())
        claims = {"iss": self.url, "aud": AUDIENCE, "iat": now, "exp": now + 600}
        parts = ({"alg": "RS256", "kid": _KEY_ID}, {**claims, "sub": user, "groups": groups})
        text = ".".join(_encoded(json.dumps(part).encode()) for part in parts)
        made = (key or self.key).sign(text.encode(), padding.PKCS1v15(), hashes.SHA256())
        return f"{text}.{_encoded(made)}"

    def configured(self, configuration: Mapping[str, Any]) -> dict[str, Any]:
        """An AuthenticationConfiguration with this issuer in the place of its only one."""
        (rule,) = configuration["jwt"]
        issuer = {**rule["issuer"], "url": self.url, "certificateAuthority": self.ca}
        return {**configuration, "jwt": [{**rule, "issuer": issuer}]}


def make_key() -> rsa.RSAPrivateKey:
    return rsa.generate_private_key(65537, 2048)


def start_issuer(machine: Remote) -> Issuer:
    """Serve discovery and keys of a new issuer over HTTPS on a machine."""
    url, key, certificate = f"https://{machine.address}:{PORT}", make_key(), signed(machine.address)
    numbers = key.public_key().public_numbers()
    public = {"kty": "RSA", "use": "sig", "alg": "RS256", "kid": _KEY_ID}
    public |= {"n": _number(numbers.n), "e": _number(numbers.e)}
    discovery = {
        "issuer": url, "jwks_uri": f"{url}/keys", "response_types_supported": ["id_token"],
        "subject_types_supported": ["public"], "id_token_signing_alg_values_supported": ["RS256"],
    }
    contents = {
        "issuer/.well-known/openid-configuration": json.dumps(discovery),
        "issuer/keys": json.dumps({"keys": [public]}),
        "tls.crt": certificate.certificate.decode(),
        "tls.key": certificate.key.decode(),
        "serve.py": _SERVE,
    }
    lines = [f"printf %s {shlex.quote(text)} >{name}" for name, text in contents.items()]
    start = f"sudo systemd-run --quiet --unit={_UNIT} --working-directory=$PWD python3 serve.py"
    with step(f"start an issuer at {url}"):
        words = ["set -e", "umask 077", "mkdir -p issuer/.well-known", *lines, start]
        machine.run("\n".join(words))
    return Issuer(url, certificate.ca.decode(), key)


def ask_whoami(master: Remote, token: str) -> str:
    """Ask the apiserver of a control-plane node who the bearer of a token is."""
    seen = master.run(f"{_ASK} {token} 2>&1", check=False)
    log(f"who am I: {seen}")
    return seen


def _encoded(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def _number(value: int) -> str:
    return _encoded(value.to_bytes((value.bit_length() + 7) // 8, "big"))
