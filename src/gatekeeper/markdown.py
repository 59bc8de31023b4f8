"""What a Markdown body shows its reader, and what stands under its headings.

Every question here is asked of text that a pull request brings: where it can't be answered,
`UnreadableError` says so, and no guess does. Source of the rules: CONTRACT 5, GK134, GK135,
GK267 and GK321.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from gatekeeper.asktext import lines, plainly_kept, unticked
from gatekeeper.mdblocks import AROUND, MARK, Block, Definitions, read
from gatekeeper.mdbounds import UnreadableError

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

__all__ = [
    "Heading",
    "Shown",
    "UnreadableError",
    "ask_lost",
    "evidence",
    "has_heading_with",
    "has_text_under",
    "headings",
    "plainly",
    "says_nothing",
    "shown",
]


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading that is shown: its level from 1 to 6, its text without marks, its line in the body from 1."""

    level: int
    text: str
    line: int


@dataclass(frozen=True, slots=True)
class Shown:
    """What a reader sees, in order, as keys for comparison, and the link definitions, which no reader sees."""

    lines: tuple[str, ...]
    definitions: Definitions


def shown(body: str) -> Shown:
    """The lines that a body shows, boxes and list markers aside. Raises UnreadableError."""
    blocks, definitions = read(unticked(body))
    return Shown(tuple(line for block in blocks for line in block.lines), definitions)


def plainly(line: str) -> str:
    """A shown line as text, without what is there for comparison only."""
    return line.rpartition(AROUND)[2].replace(MARK, "")


def ask_lost(base_body: str, new_body: str) -> str | None:
    """A line that base shows and the new body does not; None where all are there, in order (GK134).

    Raises UnreadableError.
    """
    if plainly_kept(base_body, new_body):
        return None
    old, now = shown(base_body), shown(new_body)
    rest = iter(now.lines)
    for line in old.lines:
        if line not in rest:  # reads on to the line where it is there, to the end where it is not
            return plainly(_fewer(old.lines, now.lines) or line)
    lost = sorted(old.definitions - now.definitions)
    return f"[{lost[0][0].lower()}]: {lost[0][1]}" if lost else None


def _fewer(old: Collection[str], now: Collection[str]) -> str | None:
    """The first line that stands less often than it did; None where only the order is another."""
    missing = Counter(old) - Counter(now)
    return next((line for line in old if line in missing), None)


def evidence(body: str, base_body: str) -> bool:
    """Whether a section "Evidence" shows a fenced block or a link that base's copy does not hold (GK135).

    Raises UnreadableError.
    """
    old = _blocks(base_body)
    fences = {_squeezed(block.text) for block in old if block.kind == "fence"} | {""}
    links = {link for block in old for link in block.links}
    for block in _under(_blocks(body), ("evidence",)):
        if block.kind == "fence" and _squeezed(block.text) not in fences:
            return True
        if any(link not in links for link in block.links):
            return True
    return False


def headings(body: str) -> tuple[Heading, ...]:
    """The headings that a body shows. Raises UnreadableError."""
    return tuple(Heading(b.level, b.text, b.line) for b in _blocks(body) if b.level and not b.hidden)


def has_heading_with(body: str, word: str) -> bool:
    """Whether a heading holds `word`, in whatever case (GK267). Raises UnreadableError."""
    return any(word.casefold() in heading.text.casefold() for heading in headings(body))


def has_text_under(body: str, titles: Collection[str]) -> bool:
    """Whether something is said under a heading of one of these titles, in whatever case (GK321).

    Headings alone say nothing. Raises UnreadableError.
    """
    return any(block.says and not block.level for block in _under(_blocks(body), titles))


def says_nothing(body: str) -> bool:
    """Whether a body shows no text at all (GK267). Raises UnreadableError."""
    return not any(block.says for block in _blocks(body))


@lru_cache(maxsize=2)  # what is asked of a body is asked of it more than once in a row
def _blocks(body: str) -> list[Block]:
    return read(lines(body))[0]


def _under(blocks: Iterable[Block], titles: Collection[str]) -> Iterator[Block]:
    """The leaves that are shown under a heading of one of these titles, up to the next of its rank."""
    level = 0
    for block in blocks:
        if block.hidden:
            continue
        if block.level:
            if block.level <= level:
                level = 0
            if not level and block.text.strip(": ").casefold() in titles:
                level = block.level
                continue
        if level:
            yield block


def _squeezed(text: str) -> str:
    return " ".join(text.split())
