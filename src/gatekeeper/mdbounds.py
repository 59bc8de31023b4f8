"""How much Markdown is read, and of which it is not known for sure how GitHub shows it.

A document's `env`, markdown-it's own, keeps account of both.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, MutableMapping

# markdown-it's time grows with these, not with the text's length alone; together they keep one
# body near a second, and no honest task comes near them.
MAX_BODY = 1024 * 1024
MAX_LINES = 20_000
MAX_CONTAINERS = 30_000
MAX_PIPES = 60_000
MAX_PIPES_IN_LINE = 1_000
MAX_QUOTES = 10
MAX_CELLS = 20_000
MAX_MARKS = 20_000
MAX_SCANNED = 8_000_000
"""Each `](` is followed up to the next blank, whether or not it proves to be a link; nobody writes that many."""

_CONTAINERS = re.compile(r"^(?:[ \t]*+(?:>|[-+*](?=[ \t])|[0-9]{1,9}[.)](?=[ \t])))+", re.MULTILINE)
_MARKS = re.compile(r"[!&*<\[\\\]_`~]")
_DOUBT = "what GitHub may read otherwise"


class UnreadableError(ValueError):
    """A body that can't be read as Markdown within bounds; the text says why, in one line."""


def refuse_too_much(text: str) -> None:
    """Raise UnreadableError for a text that would take long to parse into blocks."""
    limit(len(text), MAX_BODY, "characters")
    limit(text.count("\n"), MAX_LINES, "lines")
    limit(text.count("|"), MAX_PIPES, "vertical bars")
    limit(max(line.count("|") for line in text.split("\n")), MAX_PIPES_IN_LINE, "vertical bars in a line")
    nested = [found.group() for found in _CONTAINERS.finditer(text)]
    limit(max((g.count(">") for g in nested), default=0), MAX_QUOTES, "quotes in one another")
    limit(sum(g.count(">") + len(g.split()) for g in nested), MAX_CONTAINERS, "list markers and quote marks")


def weight(text: str) -> int:
    """How many characters of a text may mean something in Markdown: its reading takes time in proportion, at most."""
    return sum(map(text.count, "\n|>-+*_`~[]!<&\\"))


def limit(count: int, most: int, what: str) -> None:
    """Raise UnreadableError where there is more of something than is read."""
    if count > most:
        raise UnreadableError(f"it holds {count} {what}, and at most {most} are read")


def spend_marks(content: str, env: MutableMapping[str, Any]) -> None:
    """Count the marks of a leaf, text or HTML, to those of its document. Raises UnreadableError."""
    spend(env, "marks in its text", len(_MARKS.findall(content)), MAX_MARKS)


def spend(env: MutableMapping[str, Any], what: str, cost: int, most: int) -> None:
    """Count more of something to what a document holds of it. Raises UnreadableError."""
    env[what] = env.get(what, 0) + cost
    limit(env[what], most, what)


def doubt(env: MutableMapping[str, Any], what: str) -> None:
    """Note that GitHub may show something otherwise than it is read here."""
    env.setdefault(_DOUBT, what)


def refuse_doubts(env: Mapping[str, Any]) -> None:
    """Raise UnreadableError where there is a doubt. What is written so is hardly ever honest."""
    if _DOUBT in env:
        raise UnreadableError(env[_DOUBT])
