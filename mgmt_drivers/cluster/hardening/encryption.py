"""The keys by which apiservers encrypt Secrets in etcd, and the file of a node that has them.

An apiserver encrypts by the first key, and decrypts by each of them (Kubernetes' documentation,
"Encrypting Confidential Data at Rest"). It reads the file when it starts.
"""

import base64
import re
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mgmt_drivers import package_yaml
from mgmt_drivers.errors import EncryptionError
from mgmt_drivers.machine import files
from mgmt_drivers.machine.files import STATE_FOLDER, File
from mgmt_drivers.machine.host import Host
from mgmt_drivers.machine.script import Script
from mgmt_drivers.package_yaml import BadYaml
from mgmt_drivers.secret import Secret

FILE = "/etc/kubernetes/pki/encryption.yaml"  # beside the PKI, which the apiserver has
# A backup has the file as it is after the snapshot: no key may leave the file in between.
_LOCK = f"{STATE_FOLDER}/etcd-backup.lock"
_LIMIT = 900.0  # seconds, for a backup that is being saved
_SECRET = re.compile(r"secret:\s*(\S+)")
_KEY = re.compile(r"key([1-9][0-9]{0,8}) ([A-Za-z0-9+/]{43}=)")
_WRITE = Script(__package__, "encryption-key")


@dataclass(frozen=True)
class Key:
    """A key by its number, and its 32 bytes in base64."""

    number: int
    secret: Secret


def encrypting(is_new: bool) -> Sequence[str]:
    """The beginning of a command that starts an apiserver which encrypts Secrets.

    :param is_new: the cluster is new, and gets a key unless a backup has one; otherwise the command
        reads on its standard input what :func:`read_file` has read
    """
    return _WRITE.command("new" if is_new else "joined", FILE)


def read_file(host: Host) -> Secret | None:
    """Read by which keys the apiservers encrypt Secrets; None in a cluster that does not."""
    text = files.read(host, FILE)
    host.session.hide(*(Secret(key) for key in _SECRET.findall(text)))
    if "---" in text.split("\n"):
        raise EncryptionError(f"{FILE} on the machine must be one document of YAML")
    return Secret(text.rstrip("\n") + "\n") if text else None


def read_keys(host: Host) -> tuple[Key, ...]:
    """Read the keys of a control-plane node.

    :raises MgmtDriverError: if there is no file, or somebody else has written it
    """
    text = read_file(host)
    if text is None:
        raise EncryptionError(
            f"the cluster does not encrypt Secrets: there is no {FILE}. A heal of the whole VNF "
            "with restore_from makes a cluster that does; without restore_from all objects and "
            "workloads of the cluster are deleted"
        )
    try:
        found = package_yaml.load(text.reveal())
        named = found["resources"][0]["providers"][0]["secretbox"]["keys"]
        read = [_KEY.fullmatch(f"{key['name']} {key['secret']}") for key in named]
    except (BadYaml, LookupError, TypeError):  # whose words may quote a key
        found, read = None, []
    keys = tuple(Key(int(key[1]), Secret(key[2])) for key in read if key)
    if not keys or _document(keys) != found:
        raise EncryptionError(
            f"{FILE} on the machine has other providers than the drivers give, or keys with other "
            "names: rotate its keys by hand (Kubernetes' documentation, Rotate a decryption key)"
        )
    return keys


def choose_newest(by_node: Sequence[Sequence[Key]]) -> Key:
    """Choose the key to encrypt by: that of a rotation that has begun, or another one.

    :param by_node: the keys of each control-plane node
    :raises MgmtDriverError: if nodes have different keys of one name
    """
    known = {key for keys in by_node for key in keys}
    newest = max(known, key=lambda key: key.number)
    if len({key.number for key in known}) < len(known):
        raise EncryptionError(f"control-plane nodes have different keys of one name in {FILE}")
    if len(known) > 1:
        return newest
    return Key(newest.number + 1, Secret(base64.b64encode(secrets.token_bytes(32)).decode()))


def write_keys(host: Host, keys: Sequence[Key]) -> None:
    """Write the keys of a control-plane node as a whole, while no backup is being saved."""
    host.session.hide(*(key.secret for key in keys))
    text = Secret(package_yaml.dump(_document(keys)))
    write = files.writing([File(FILE, text, "0600")])
    host.sudo("flock", _LOCK, *write.command, stdin=write.contents, timeout=_LIMIT)


def _document(keys: Sequence[Key]) -> Mapping[str, Any]:
    named = [{"name": f"key{key.number}", "secret": key.secret.reveal()} for key in keys]
    providers = [{"secretbox": {"keys": named}}, {"identity": {}}]
    return {
        "apiVersion": "apiserver.config.k8s.io/v1",
        "kind": "EncryptionConfiguration",
        "resources": [{"resources": ["secrets"], "providers": providers}],
    }
