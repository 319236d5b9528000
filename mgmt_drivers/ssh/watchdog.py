"""Time limits for calls that may block for ever: one thread for all commands of a connection."""

import contextlib
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import paramiko

Act = Callable[[], object]


class Watchdog:
    """Calls functions when their time limits are exceeded, until it is closed."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._limits: dict[object, tuple[float, Act]] = {}  # deadline and function of each block
        self._is_closed = False
        threading.Thread(target=self._watch, name="ssh-watchdog", daemon=True).start()

    @contextmanager
    def after(self, seconds: float, act: Act) -> Iterator[None]:
        """Call a function if the block takes longer. The function must not block the watchdog."""
        key = object()
        with self._changed:
            self._limits[key] = time.monotonic() + seconds, act
            self._changed.notify()
        try:
            yield
        finally:
            with self._changed:
                self._limits.pop(key, None)

    def close(self) -> None:
        """End the thread; closing twice is fine."""
        with self._changed:
            self._is_closed = True
            self._changed.notify()

    def _watch(self) -> None:
        while (acts := self._wait()) is not None:
            for act in acts:
                with contextlib.suppress(Exception):  # the other limits still apply
                    act()

    def _wait(self) -> list[Act] | None:
        """Wait for the next limit; None when the watchdog is closed."""
        with self._changed:
            while not self._is_closed:
                now = time.monotonic()
                late = [key for key, (moment, _) in self._limits.items() if moment <= now]
                if late:
                    return [self._limits.pop(key)[1] for key in late]
                soonest = min((moment for moment, _ in self._limits.values()), default=None)
                self._changed.wait(None if soonest is None else soonest - now)
        return None


@contextmanager
def closed_after(
    watchdog: Watchdog, transport: paramiko.Transport, seconds: float
) -> Iterator[None]:
    """Close a transport if the block takes longer.

    paramiko sends without a time limit: a machine that accepts no more data would block all threads
    that send, for ever. Closing the transport wakes them.

    :raises TimeoutError: if the transport was closed
    """
    is_late = threading.Event()

    def close() -> None:
        is_late.set()
        transport.close()

    try:
        with watchdog.after(seconds, close):
            yield
    except (OSError, EOFError, paramiko.SSHException) as error:
        if is_late.is_set():
            raise TimeoutError("the machine accepts no more data") from error
        raise
