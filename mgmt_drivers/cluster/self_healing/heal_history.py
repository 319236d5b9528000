"""The automatic heals of the last hour, which the VNF instance has.

Conductors may share no disk. A VNFC is known by its id in the drivers, which stays when its machine
is replaced.
"""

from collections.abc import Collection, Mapping, Sequence

from mgmt_drivers.engine.services import Store
from mgmt_drivers.errors import DamagedMetadata

_KEY = "automatic_heals"  # in the store: times of heals (s since 1970) by VNFC
# Whether the heal under way has passed the rails. A retry goes on: a machine that it has half
# joined may already be well.
_PASSED = "automatic_heal_passed"
HOUR = 3600.0  # seconds


def load(store: Store, now: float) -> Mapping[str, Sequence[float]]:
    """Load the times of the automatic heals that ended in the last hour, by VNFC.

    :raises MgmtDriverError: if somebody has changed what is kept with the VNF instance
    """
    kept = store.load(_KEY, {})
    try:
        # A time in the future is of a conductor whose clock is ahead.
        recent = {id_: [t for t in listed if now - t < HOUR] for id_, listed in kept.items()}
    except TypeError as error:
        raise DamagedMetadata(
            f"the automatic heals in the VNF instance's metadata ({_KEY}) are not lists of times: "
            "restore the metadata from an earlier show of the VNF instance"
        ) from error
    return {id_: listed for id_, listed in recent.items() if listed}


def has_passed(store: Store) -> bool:
    return bool(store.load(_PASSED, False))


def note_passed(store: Store) -> None:
    store.save(_PASSED, True)


def note_end(store: Store, vnfcs: Collection[str], now: float) -> None:
    known = load(store, now)
    store.save(_KEY, {**known, **{id_: [*known.get(id_, ()), now] for id_ in sorted(vnfcs)}})
    store.save(_PASSED, False)
