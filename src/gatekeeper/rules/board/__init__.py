"""The board's rules, GK2xx and GK3xx: each looks at a `Board` and at nothing else."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gatekeeper.rules.board import ages, authorities, files, links, plans, relations

if TYPE_CHECKING:
    from gatekeeper.boards.board import Board
    from gatekeeper.rules.base import Rule

RULES: tuple[Rule[Board], ...] = (
    *files.RULES,
    *relations.RULES,
    *links.RULES,
    *authorities.RULES,
    *ages.RULES,
    *plans.RULES,
)
