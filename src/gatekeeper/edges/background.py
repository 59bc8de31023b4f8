"""One piece of work beside another: git answers while the rules are imported."""

from __future__ import annotations

import sys
from threading import Thread
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")


class Background(Generic[T]):
    """Runs `work` in a thread of its own from now on; `result` waits for it, and raises what it raised."""

    def __init__(self, work: Callable[[], T]) -> None:
        self._work = work
        self._made: T | None = None
        self._raised: BaseException | None = None
        # Imports hold the interpreter for whole slices: shorter ones let git's answers be read when they come.
        sys.setswitchinterval(0.0002)
        self._thread = Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        try:
            self._made = self._work()
        except BaseException as why:  # noqa: BLE001 -- raised again where the result is asked for
            self._raised = why

    def result(self) -> T:
        """What the work came to."""
        self._thread.join()
        if self._raised is not None:
            raise self._raised
        return self._made  # type: ignore[return-value]
