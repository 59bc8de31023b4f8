"""Every rule, in one place. A new rule is a function in a module here and a line in that module's RULES."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gatekeeper.rules import admission, board, claim, movement, operators, paths, record, undecided
from gatekeeper.rules.base import Doc, Found, Rule

if TYPE_CHECKING:
    from gatekeeper.boards.board import Board
    from gatekeeper.errors import GatekeeperError
    from gatekeeper.snapshot import Snapshot

RAISED: tuple[Rule[GatekeeperError], ...] = undecided.RAISED
"""What is raised at the edges as an error rather than found by looking."""

GATE: tuple[Rule[Snapshot], ...] = (
    *undecided.RULES,
    *movement.RULES,
    *claim.RULES,
    *record.RULES,
    *paths.RULES,
    *admission.RULES,
    *operators.RULES,
)
"""What is asked of a pull request's snapshot."""

GATE_WEAKER: tuple[Rule[Snapshot], ...] = (*claim.WEAKER, *operators.WEAKER)
"""The same codes where they weigh less."""

BOARD: tuple[Rule[Board], ...] = board.RULES
"""What is asked of a board."""

ALL: tuple[Rule[Any], ...] = tuple(sorted((*RAISED, *GATE, *BOARD), key=lambda rule: rule.code))


class Codes:
    """Which codes there are, for reading a policy's `severity`."""

    known = frozenset(rule.code for rule in ALL)
    adjustable = frozenset(rule.code for rule in ALL if rule.adjustable)


def by_code(code: str) -> Rule[Any] | None:
    """The rule of a code (`GK141`, `gk141`, `141`) or of a name; None where there is none."""
    spelt = {code.upper(), f"GK{code}"}
    return next((rule for rule in ALL if rule.code in spelt or rule.name == code.lower()), None)


__all__ = ["ALL", "BOARD", "GATE", "GATE_WEAKER", "RAISED", "Codes", "Doc", "Found", "Rule", "by_code"]
