"""What turns at partitions share: names in one order, waiting, and telling for whom."""

from __future__ import annotations

import logging
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager

from raptor_core.identity import digest

POLL_SECONDS = 0.25

_log = logging.getLogger(__name__)


class WaitingTurn(ABC):
    """Takes locks in one order, so that no two runs wait for each other.

    A kind of lock adds its key of a partition, an attempt to take one, who holds one, and release.
    ``tell`` is told when it waits.
    """

    def __init__(self, tell: Callable[[str], None]) -> None:
        self._tell = tell

    @abstractmethod
    def close(self) -> None:
        """Give everything back."""

    @abstractmethod
    def require(self) -> None:
        """See ``raptor_assets.process.Turn``."""

    @abstractmethod
    def _try(self, key: int) -> bool:
        """Whether the lock was taken now."""

    @abstractmethod
    def _release(self) -> None:
        """Give all locks back."""

    @abstractmethod
    def _told_holder(self, key: int) -> str:
        """Who has the lock, for people."""

    @abstractmethod
    def _key(self, partition: str) -> int:
        """The number of a partition's lock."""

    @contextmanager
    def take(self, partitions: Collection[str]) -> Iterator[None]:
        """See ``raptor_assets.process.Turn``."""
        try:
            for key, name in sorted({self._key(name): name for name in partitions}.items()):
                self._wait(key, name)
            yield
        finally:
            self._release()

    def _wait(self, key: int, name: str) -> None:
        told = False
        while not self._try(key):
            if not told:
                message = f"partition {name!r}: waiting for {self._told_holder(key)} to end"
                self._tell(message)
                _log.warning(message)
                told = True
            time.sleep(POLL_SECONDS)


def lock_number(*parts: str) -> int:
    """A number of 64 bits, with sign, as the database's locks have them."""
    return int.from_bytes(bytes.fromhex(digest("turn", *parts)[:16]), "big", signed=True)
