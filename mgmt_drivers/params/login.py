"""The parameters of SSH logins, which are the same for every group of machines."""

from collections.abc import Iterator
from dataclasses import dataclass

from mgmt_drivers.params.declaration import MODIFICATION, Always, Unless, param
from mgmt_drivers.params.kinds import ListOf, SecretText, Text, TextKind
from mgmt_drivers.params.reader import Reader
from mgmt_drivers.secret import Secret
from mgmt_drivers.ssh import keys
from mgmt_drivers.ssh.hostkeys import KnownKey


class _PrivateKey(TextKind[Secret]):
    words = "text of a private key"
    fallback = Secret("")
    has_lines = True

    def take(self, text: str, reader: Reader) -> Secret:
        key = Secret(text)
        try:
            keys.load(key)
        except ValueError as error:
            reader.refuse(str(error))
        return key


class _HostKey(TextKind[KnownKey | None]):
    def take(self, text: str, reader: Reader) -> KnownKey | None:
        try:
            return KnownKey.parse(text)
        except ValueError:
            reader.refuse(
                "must be a public key as OpenSSH writes it, such as ssh-ed25519 AAAA..., or a "
                "fingerprint as `ssh-keygen -l` shows it, such as SHA256:..."
            )
            return None


def host_keys_param() -> tuple[KnownKey, ...]:
    """The field ``host_key``, also for a private registry, which has other login parameters."""
    return param(
        "host_key", ListOf(_HostKey(), "string", at_least_one=True),
        example=["SHA256:rk5cAyJVKcKmS6LnYSf8jJ4VMEn3pkzuD9EN3TlCNUA"],
        meaning="SSH host keys of the machines (:ref:`host-keys`), each a public key "
        "(``ssh-ed25519 AAAA...``) or a fingerprint (``SHA256:...``)",
        left_out="the key that a machine shows first is trusted",
    )


@dataclass(frozen=True)
class SshLogin:
    """A user with a password or a private key, beside which the password is for sudo."""

    username: str = param(
        "username", Text(), required=Always(), example="ubuntu",
        meaning="SSH user, who may use sudo",
    )
    password: Secret | None = param(
        "password", SecretText(), required=Unless("private_key"), example="ubuntu",
        changed_by=MODIFICATION,
        meaning="the user's password; beside ``private_key`` the password is for sudo",
    )
    private_key: Secret | None = param(
        "private_key", _PrivateKey(), changed_by=MODIFICATION,
        meaning="text of the user's private key, without a passphrase",
    )
    host_keys: tuple[KnownKey, ...] = host_keys_param()

    def secrets(self) -> Iterator[Secret]:
        yield from filter(None, (self.password, self.private_key))
