"""Leaving in order: a command that a signal ends takes git with it, and leaves no folder behind."""

from __future__ import annotations

import signal
import sys
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType

ENDING = (signal.SIGTERM, signal.SIGHUP)
"""The signals that would end a command on the spot; SIGINT is Python's own KeyboardInterrupt."""


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
        if signal.getsignal(number) == signal.SIG_DFL:
            signal.signal(number, _stop)
    status = _status(command)
    for number in (signal.SIGINT, *ENDING):  # what follows is short, and is to be whole
        signal.signal(number, signal.SIG_IGN)
    git = sys.modules.get("gatekeeper.edges.git.run")
    if git is not None:  # a thread may still wait for one
        git.end_all()
    return status


def _stop(number: int, frame: FrameType | None) -> None:
    del frame
    raise Stopped(number)


def _status(command: Callable[[], int]) -> int:
    try:
        return command()
    except Stopped as stopped:
        status = 128 + stopped.number
    except KeyboardInterrupt:  # click, which answers it, was not there yet
        status = 128 + signal.SIGINT
    with suppress(AttributeError, OSError, ValueError):  # nobody reads it, or it is closed
        sys.stderr.write("gatekeeper: stopped\n")
    return status
