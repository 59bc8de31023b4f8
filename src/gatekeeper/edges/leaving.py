"""Leaving in order: a command that a signal ends takes git with it, and leaves no folder behind."""

from __future__ import annotations

import atexit
import os
import signal
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType

ENDING = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)
"""The signals that end a command in order."""

_told: list[int] = []  # the signals that told us to end, in case Python swallows what is raised of one


class Stopped(BaseException):
    """A signal told the command to end."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


def in_order(command: Callable[[], int]) -> int:
    """Run a command; its exit status, or 128 and the signal's number where one ended it.

    Signals that were ignored from the start (`nohup`) stay ignored.
    """
    for number in ENDING:
        if signal.getsignal(number) in (signal.SIG_DFL, signal.default_int_handler):
            signal.signal(number, _stop)
    status = _status(command)
    for number in ENDING:  # what follows is short, and is to be whole
        signal.signal(number, signal.SIG_IGN)
    _end_git()
    return status


def at_once(status: int) -> NoReturn:
    """Leave with this status: threads are waited for, what was to be done at the end is done, and all is written.

    Where something can't be written Python's own way out says so.
    """
    if (threading := sys.modules.get("threading")) is not None:
        for thread in threading.enumerate():
            if thread is not threading.main_thread() and not thread.daemon:
                thread.join()
    atexit._run_exitfuncs()  # noqa: SLF001 -- there is no other name for it, and it has been there since Python 3.0
    try:
        for stream in (sys.stdout, sys.stderr):
            if stream is not None:
                stream.flush()
    except (OSError, ValueError):
        sys.exit(status)
    os._exit(status)


def stopping() -> bool:
    """Whether a signal told the command to end: what fails from then on is no news."""
    return bool(_told)


def _end_git() -> None:
    git = sys.modules.get("gatekeeper.edges.git.run")
    if git is not None and hasattr(git, "end_all"):  # a thread may still wait for one
        git.end_all()


def _stop(number: int, frame: FrameType | None) -> None:
    """End git now: what is raised here is lost where it hits a callback of Python's own, and then git's end is seen."""
    del frame
    _told.append(number)
    _end_git()
    raise KeyboardInterrupt if number == signal.SIGINT else Stopped(number)


def _status(command: Callable[[], int]) -> int:
    try:
        status = command()
    except (Stopped, KeyboardInterrupt):
        status = -1
    if not _told or status == 128 + _told[0]:  # click answers a KeyboardInterrupt itself
        return status
    status = 128 + _told[0]
    with suppress(AttributeError, OSError, ValueError):  # nobody reads it, or it is closed
        sys.stderr.write("gatekeeper: stopped\n")
    return status
