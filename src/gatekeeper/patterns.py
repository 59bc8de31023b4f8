"""Many paths against a list of patterns, fast: one regular expression, that never goes back far.

`re` backtracks, so the expression is made of atomic groups: every run of names or of bytes that a
wildcard stands for ends at the first place where what follows it fits, for good. That loses
nothing, since what follows, up to the next wildcard, has a fixed number of names or bytes.
"""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import groupby, pairwise
from typing import TYPE_CHECKING

from gatekeeper.globs import ANY_NAME, DEEP, NOT_SLASH, STAR, Glob, Reading, Segment, read, spelt

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_UPPER = ((1 << 26) - 1) << ord("A")
# Some file systems do not see these at all (git's is_hfs_dotgit): zero width, direction, BOM.
_UNSEEN = dict.fromkeys((*range(0x200C, 0x2010), *range(0x202A, 0x202F), *range(0x206A, 0x2070), 0xFEFF))
_LONGEST_PATH = 4096


class Patterns:
    """A list of authority patterns, to be asked which of them holds a path.

    `ignore_case` is for protected paths: there a pattern also holds every path that a file system
    which folds case could take for one it holds. See `fold`.
    """

    __slots__ = ("_exact", "_folded", "patterns")

    def __init__(self, patterns: Iterable[str], *, ignore_case: bool = False) -> None:
        self.patterns = tuple(patterns)
        self._exact = _matcher(self.patterns, folded=False)
        self._folded = _matcher(self.patterns, folded=True) if ignore_case else None

    def holds(self, path: bytes) -> bool:
        """Whether some pattern holds a path: `match`, for those who need not know which."""
        if self._folded is None:
            return self._exact.any(path)
        folded = fold(path)
        return self._folded.any(folded) or (folded != path and self._exact.any(path))

    @property
    def starts(self) -> tuple[bytes, ...]:
        """What begins so (a folder, with its slash) is held for sure, by a pattern without a wildcard before it."""
        return self._exact.starts

    def may_hold_one_of(self, listed: bytes) -> bool:
        r"""Whether some pattern could hold one of many paths; false says for sure that none does.

        `listed` holds the paths with a NUL before and behind each: a few searches through it take
        far less time than asking for each path.
        """
        if self._folded is None:
            return self._exact.may_hold_one_of(listed)
        return not listed.isascii() or self._folded.may_hold_one_of(listed.lower())

    def match(self, path: bytes) -> str | None:
        """The first pattern that holds a path (bytes, from the repository's root), or None."""
        if self._folded is None:
            at = self._exact.first(path)
        elif (folded := fold(path)) == path:  # what a pattern holds as it is, it holds folded as well
            at = self._folded.first(path)
        else:
            at = min(self._exact.first(path), self._folded.first(folded))
        return self.patterns[at] if at < len(self.patterns) else None


def fold(path: bytes) -> bytes:
    """A path without regard to case: equal results for paths that a file system could take for one.

    ASCII is lowered. Of other UTF-8 the parts that can be read are folded as Unicode has it, by
    their upper case too (exFAT equates a dotless i with `i`, a long s with `s`), and decomposed;
    characters that HFS+ skips are dropped. Bytes that are no UTF-8 stay. Of a path that is longer
    than any file system takes only the ASCII is lowered: decomposing could take very long.
    """
    if path.isascii() or len(path) > _LONGEST_PATH:
        return path.lower()
    import unicodedata  # noqa: PLC0415 - most paths are ASCII, and start-up time counts

    text = path.decode("utf-8", "surrogateescape").translate(_UNSEEN)
    text = unicodedata.normalize("NFD", text).casefold().upper().casefold()
    return unicodedata.normalize("NFD", text).encode("utf-8", "surrogateescape")


class _Matcher:
    """Finds the place of the first pattern that holds a path; the number of patterns where none does."""

    __slots__ = ("_names", "_needles", "_none", "_order", "_plain", "_wild", "starts")

    def __init__(self, globs: Sequence[Glob], *, folded: bool) -> None:
        self._none = len(globs)
        self._plain: list[tuple[int, bytes | None, bytes]] = []
        self._order: list[int] = []
        wild: list[bytes] = []
        needles: list[bytes] = []
        for place, glob in enumerate(globs):
            if glob.readings and glob.plain is not None:
                name, start = glob.plain
                if folded:
                    name, start = fold(name) if name is not None else None, fold(start)
                self._plain.append((place, name, start))
            elif glob.readings:
                readings = [_fold_reading(r) for r in glob.readings] if folded else glob.readings
                # The empty group at its end tells which of the patterns it was.
                needles += map(_needle, readings)
                wild.append(b"(?:" + b"|".join(map(_expression, readings)) + b")()")
                self._order.append(place)
        self._wild = re.compile(b"|".join(wild)) if wild else None
        # Most paths hold none of the plain bytes that the wildcards stand between: no need to ask the expression.
        self._needles = () if b"" in needles else tuple(dict.fromkeys(needles))
        self._names = frozenset(name for _, name, _ in self._plain if name is not None)
        self.starts = tuple(start for _, _, start in self._plain)

    def any(self, path: bytes) -> bool:
        """Whether some pattern holds the path."""
        if path.startswith(self.starts) or path in self._names:
            return True
        if self._wild is None or not _any_in(self._needles, path):
            return False
        return self._wild.match(path) is not None

    def may_hold_one_of(self, listed: bytes) -> bool:
        """As `Patterns.may_hold_one_of`, of paths that are folded as these patterns are."""
        if any(b"\0" + start in listed for start in self.starts):
            return True
        if any(b"\0" + name + b"\0" in listed for name in self._names):
            return True
        return self._wild is not None and _any_in(self._needles, listed)

    def first(self, path: bytes) -> int:
        """The place of the first pattern that holds the path, from 0."""
        found = self._none
        if path.startswith(self.starts) or path in self._names:
            held = (place for place, name, start in self._plain if path.startswith(start) or path == name)
            found = next(held, found)
        if not _any_in(self._needles, path):
            return found
        if self._wild is not None and (hit := self._wild.match(path)) and hit.lastindex:
            return min(found, self._order[hit.lastindex - 1])
        return found


@lru_cache(maxsize=2048)
def _matcher(patterns: tuple[str, ...], *, folded: bool) -> _Matcher:
    return _Matcher([read(pattern) for pattern in patterns], folded=folded)


def _expression(reading: Reading) -> bytes:
    """A regular expression, anchored at its end, for the paths that fit a reading."""
    runs = [list(run) for deep, run in groupby(reading, lambda segment: segment == DEEP) if not deep]
    last = rb"(?:/|\Z)" if reading[-1] == DEEP else rb"\Z"
    parts: list[bytes] = []
    for number, run in enumerate(runs, 1):
        end = b"/" if number < len(runs) else last
        start = b"" if number == 1 and reading[0] != DEEP else b"(?:[^/]*+/)*?"
        parts.append(b"(?>" + start + b"/".join(map(_name, run)) + end + b")")
    return b"".join(parts)


def _any_in(needles: tuple[bytes, ...], path: bytes) -> bool:
    """Whether a path holds one of the needles, or there are none to look for."""
    for needle in needles:
        if needle in path:
            return True
    return not needles


def _needle(reading: Reading) -> bytes:
    """The longest run of single bytes that every path which fits a reading holds; empty where there is none."""
    best = b""
    for segment in reading:
        if segment == DEEP:
            continue
        for single, run in groupby(segment, lambda token: token != STAR and token & token - 1 == 0):
            plain = bytes(token.bit_length() - 1 for token in run) if single else b""
            best = max(best, plain, key=len)
    return best


def _name(segment: Segment) -> bytes:
    """The expression for one whole name; it ends before a slash or the path's end."""
    if segment == ANY_NAME:
        return b"[^/]++"
    first, *later = [list(run) for run in _between_stars(segment)]
    text = b"".join(map(_byte, first))
    for run in later[:-1]:
        text += b"(?>[^/]*?" + b"".join(map(_byte, run)) + b")"
    if later:
        last = b"".join(map(_byte, later[-1]))
        text += rb"(?>[^/]*" + last + rb"(?=/|\Z))" if last else b"[^/]*+"
    return text


def _between_stars(segment: Segment) -> list[Segment]:
    """The runs of sets before, between and after the stars; the first and the last may be empty."""
    stars = [at for at, token in enumerate(segment) if token == STAR]
    cuts = [-1, *stars, len(segment)]
    return [segment[a + 1 : b] for a, b in pairwise(cuts)]


def _byte(held: int) -> bytes:
    """The expression for one byte out of a set."""
    if held == NOT_SLASH:
        return b"[^/]"
    if held & held - 1 == 0:
        return re.escape(bytes([held.bit_length() - 1]))
    text = b""
    while held:
        first = (held & -held).bit_length() - 1
        gap = ~(held >> first)
        last = first + (gap & -gap).bit_length() - 2
        text += b"\\x%02x-\\x%02x" % (first, last)
        held = held >> last + 1 << last + 1
    return b"[" + text + b"]"


def _fold_reading(reading: Reading) -> Reading:
    return tuple(map(_fold_segment, reading))


def _fold_segment(segment: Segment) -> Segment:
    """A name's tokens for folded names: runs of single bytes are folded as the text they are."""
    tokens: list[int] = []
    for single, run in groupby(segment, lambda token: token != STAR and token & token - 1 == 0):
        if single:
            tokens += spelt(fold(bytes(token.bit_length() - 1 for token in run)))
        else:
            # A capital in a set stands for its small letter; the rest of the set stays.
            tokens += [token | (token & _UPPER) << 32 for token in run]
    return tuple(tokens) or segment  # a name of unseen characters alone must not turn into DEEP
