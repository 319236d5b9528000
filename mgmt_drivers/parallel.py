"""Doing the same with many things at once, and losing no error."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")
R = TypeVar("R")


def each(function: Callable[[T], R], items: Sequence[T], limit: int) -> list[R]:
    """``[function(item) for item in items]``, ``limit`` of them at a time.

    Every item is tried. A ``function`` that can fail catches its own errors
    and returns them; one that is raised here is a fault of the program.
    """
    if not items:
        return []
    with ThreadPoolExecutor(max_workers=min(limit, len(items))) as pool:
        return list(pool.map(function, items))
