"""One piece of work beside another: git answers while the rules are imported."""

from __future__ import annotations

import sys
from threading import Lock, Thread
from typing import TYPE_CHECKING, Generic, Self, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")


class Background(Generic[T]):
    """Runs `work` in a thread of its own from now on; `result` waits for it, and raises what it raised.

    Whoever leaves the block without having taken the result leaves it to `undo`, whenever it comes.
    """

    def __init__(self, work: Callable[[], T], undo: Callable[[T], object]) -> None:
        self._work, self._undo = work, undo
        self._made: list[T] = []
        self._raised: BaseException | None = None
        self._taken = self._left = False
        self._lock = Lock()
        # Imports hold the interpreter for whole slices: shorter ones let git's answers be read when they come.
        sys.setswitchinterval(0.0002)
        self._thread = Thread(target=self._run)
        self._thread.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._settle(left=not self._taken)

    def _run(self) -> None:
        try:
            made = self._work()
        except BaseException as why:  # noqa: BLE001 -- raised again where the result is asked for
            self._raised = why
            return
        with self._lock:
            self._made.append(made)
        self._settle(left=False)

    def _settle(self, *, left: bool) -> None:
        """Undo what was made and will not be taken; both threads may come here, and one of them does it."""
        with self._lock:
            self._left = self._left or left
            unwanted = self._made.pop() if self._left and self._made else None
        if unwanted is not None:
            self._undo(unwanted)

    def result(self) -> T:
        """What the work came to."""
        self._thread.join()
        if self._raised is not None:
            raise self._raised
        self._taken = True
        return self._made.pop()
