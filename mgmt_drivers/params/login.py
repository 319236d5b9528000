"""How machines are logged in to by SSH, the same in every group of them."""

from collections.abc import Iterator
from dataclasses import dataclass

from mgmt_drivers.params.reader import Reader
from mgmt_drivers.secret import Secret
from mgmt_drivers.ssh import keys
from mgmt_drivers.ssh.hostkeys import KnownKey


@dataclass(frozen=True)
class SshLogin:
    """A user with a password or a private key; beside the key, the password is for sudo.

    ``host_keys`` are those that the machines may show; without any, they are trusted at first.
    """

    username: str
    password: Secret | None
    private_key: Secret | None = None
    host_keys: tuple[KnownKey, ...] = ()

    def secrets(self) -> Iterator[Secret]:
        yield from filter(None, (self.password, self.private_key))


def read_login(reader: Reader) -> SshLogin:
    """Read ``username``, ``password``, ``private_key`` and ``host_key``."""
    private_key = _read_private_key(reader)
    needed = private_key is None or reader.has("password")
    return SshLogin(
        username=reader.text("username"),
        password=reader.secret("password") if needed else None,
        private_key=private_key,
        host_keys=read_host_keys(reader),
    )


def read_host_keys(reader: Reader) -> tuple[KnownKey, ...]:
    """Read ``host_key``, a list of the keys that the machines may show."""
    found = []
    for path, text in reader.texts("host_key"):
        try:
            found.append(KnownKey.parse(text))
        except ValueError:
            reader.error(
                path,
                "must be a public key as OpenSSH writes it, such as ssh-ed25519 AAAA..., or a "
                "fingerprint as `ssh-keygen -l` shows it, such as SHA256:...",
            )
    return tuple(found)


def _read_private_key(reader: Reader) -> Secret | None:
    if not reader.has("private_key"):
        return None
    key = Secret(reader.text("private_key", lines=True))
    if not key.reveal():
        return key
    try:
        keys.load(key)
    except ValueError as error:
        reader.error("private_key", str(error))
    return key
