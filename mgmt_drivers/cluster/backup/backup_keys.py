"""Keys of backups: key pairs to which nodes encrypt, and the nodes' keys which sign.

The private halves of the key pairs are kept with the VNF instance and reach no machine. A node
keeps the private half of its signing key, with which it also logs in to the storage server.
"""

import hashlib
import json
import re
import threading
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import padding, rsa

from mgmt_drivers.engine.services import Store
from mgmt_drivers.errors import DamagedMetadata
from mgmt_drivers.secret import Secret

STORE_KEY = "etcd_backup_keys"
_NEWEST = "etcd_backup_newest_pair"  # the id of the newest pair, and whether nodes have got it
_BITS = 3072
# Key pairs that are kept, one for each cluster that the VNF has been; and nodes. A request can hold
# them all.
_MOST_PAIRS, _MOST_SIGNERS = 3, 40
_OAEP = padding.OAEP(padding.MGF1(hashes.SHA256()), hashes.SHA256(), None)
_SAVING = threading.Lock()
# A public ed25519 key as ``ssh-keygen`` writes it, without its comment.
SIGNER = re.compile(r"ssh-ed25519 [A-Za-z0-9+/]{68}")
NODE = re.compile(r"master-[0-9a-f]{12}")


@dataclass(frozen=True)
class KeyPair:
    """An RSA key pair in PEM; ``id`` begins the public key's SHA-256, and is part of file names."""

    public: str
    private: Secret = field(repr=False)

    @property
    def id(self) -> str:
        return hashlib.sha256(self.public.encode()).hexdigest()[:8]

    def decrypt(self, data: bytes) -> Secret:
        """Decrypt a password (RSA-OAEP, RFC 8017); raises ValueError if it is for another key."""
        key = serialization.load_pem_private_key(self.private.reveal().encode(), None)
        if not isinstance(key, rsa.RSAPrivateKey):
            raise ValueError("not an RSA key")
        return Secret(key.decrypt(data, _OAEP).decode("ascii"))


def generate() -> KeyPair:
    """Generate a key pair, which takes about a second."""
    return as_pair(rsa.generate_private_key(65537, _BITS))


def as_pair(key: rsa.RSAPrivateKey) -> KeyPair:
    public = key.public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    return KeyPair(public.decode(), Secret(private.decode()))


@dataclass(frozen=True)
class BackupKeys:
    """All keys of a VNF's backups: ``pairs`` by id, the newest last; ``signers`` by node name."""

    pairs: Mapping[str, KeyPair]
    signers: Mapping[str, str]

    @property
    def current(self) -> KeyPair:
        return list(self.pairs.values())[-1]

    def joined_with(self, other: "BackupKeys | None") -> "BackupKeys":
        if other is None:
            return self
        pairs = {**other.pairs, **self.pairs}
        return BackupKeys(pairs, {**other.signers, **self.signers})


def parse(value: Any) -> BackupKeys:
    """Read the keys from a store's value, or from a copy of its text; raises ValueError."""
    try:
        given = json.loads(value) if isinstance(value, str) else value
        pairs = [KeyPair(pair["public"], Secret(pair["private"])) for pair in given["pairs"]]
        signers = dict(given["signers"])
        by_id = {pair.id: pair for pair in pairs if pair.private.reveal().isascii()}
    except (TypeError, KeyError, AttributeError, RecursionError) as error:
        raise ValueError(type(error).__name__) from error
    for node, key in signers.items():
        if not NODE.fullmatch(node) or not SIGNER.fullmatch(key):
            raise ValueError("a signer is not a node with an ed25519 key")
    return BackupKeys(by_id, signers)


def load(store: Store) -> BackupKeys:
    """Load the keys of the VNF; raises MgmtDriverError if somebody has changed them."""
    value = store.load(STORE_KEY, {"pairs": [], "signers": {}})
    try:
        return parse(value)
    except ValueError as error:
        raise DamagedMetadata(
            f"the keys of the backups ({STORE_KEY}) in the VNF instance's metadata are damaged: "
            f"restore the metadata from an earlier show of the VNF instance ({error})"
        ) from None


def make_pair(store: Store, is_new_cluster: bool = False) -> None:
    """Make a key pair for a new cluster, or if there is no key pair.

    An attempt to make a cluster takes the pair of the attempt before, which no backup has used. A
    pair that Tacker's v2 API has lost, with an operation that failed, is replaced.
    """
    with _SAVING:
        keys, newest = load(store), store.load(_NEWEST, {"id": "", "is_used": True})
        is_lost = newest["id"] and newest["id"] not in keys.pairs
        if keys.pairs and not is_lost and not (is_new_cluster and newest["is_used"]):
            return
        pair = generate()
        _save(store, replace(keys, pairs={**keys.pairs, pair.id: pair}), keys.signers)
        store.save(_NEWEST, {"id": pair.id, "is_used": False})


def note_use(store: Store) -> None:
    """Note that nodes encrypt backups to the newest key pair from now on."""
    with _SAVING:
        newest = store.load(_NEWEST, {"id": "", "is_used": True})
        if not newest["is_used"]:
            store.save(_NEWEST, {**newest, "is_used": True})


def add_signer(
    store: Store, node: str, public_key: str, staying: Collection[str] = ()
) -> None:
    """Keep the public half of a node's signing key; nodes that stay keep theirs."""
    with _SAVING:
        keys = load(store)
        signers = {**keys.signers, node: public_key}
        _save(store, replace(keys, signers=signers), {node, *staying})


def _save(store: Store, keys: BackupKeys, staying: Collection[str]) -> None:
    pairs = [
        {"public": pair.public, "private": pair.private.reveal()} for pair in keys.pairs.values()
    ][-_MOST_PAIRS:]
    gone = [node for node in keys.signers if node not in staying][-_MOST_SIGNERS:]
    signers = {node: key for node, key in keys.signers.items() if node in {*gone, *staying}}
    store.save_secret(STORE_KEY, {"pairs": pairs, "signers": signers})
