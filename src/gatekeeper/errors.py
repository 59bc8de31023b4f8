"""The ways in which a command can end without an answer.

Each error says what is wrong and, in `hint`, what to do about it. Errors that
stand for a GK0xx code carry it, so that a report can be written of them.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


TRACEBACK = "GATEKEEPER_TRACEBACK"
"""The environment variable that asks for a fault's traceback."""


class GatekeeperError(Exception):
    """Something could not be decided: exit status 2, verdict `error`.

    `message` is one line that says what is wrong and where; `hint` is the next step.
    """

    code: str = "GK005"

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class PolicyInvalid(GatekeeperError):
    """GK001: base's policy can't be read. `line` is where in the file, from 1, if that is known."""

    code = "GK001"
    line: int | None = None


class HistoryMissing(GatekeeperError):
    """GK002: commits that decide are not in this repository."""

    code = "GK002"


class RemoteUnreachable(GatekeeperError):
    """GK003: a remote or the forge did not answer, or would not tell."""

    code = "GK003"


class RepositoryUnreadable(GatekeeperError):
    """GK005: no repository, a ref that does not resolve, a git that is too old."""

    code = "GK005"


class Refusal(GatekeeperError):
    """What was asked is refused: exit status 1."""


def unforeseen(why: Exception, environ: Mapping[str, str]) -> GatekeeperError:
    """Whatever was raised, as an error that can be told: what the system would not do, or a fault of our own.

    A fault is raised again where the environment asks for the traceback (`TRACEBACK`).
    """
    if isinstance(why, GatekeeperError):
        return why
    if isinstance(why, OSError):
        return _refused(why)
    if TRACEBACK in environ:
        raise why
    return GatekeeperError(
        f"a fault of gatekeeper's own: {type(why).__name__}: {why}"[:500],
        f"Set {TRACEBACK}=1 to see where, and report it.",
    )


def _refused(why: OSError) -> GatekeeperError:
    """What the system would not do."""
    said = why.strerror or str(why)
    if why.filename is None:
        return GatekeeperError(f"the system would not go on: {said}", "See whether disk or memory is full.")
    name = os.fsdecode(why.filename) if isinstance(why.filename, (str, bytes)) else str(why.filename)
    return GatekeeperError(f"{name!r}: {said}", "See whether it is there, and whose it is.")
