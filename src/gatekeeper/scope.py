"""What an authority pattern matches, and whether two can meet. CONTRACT 2.

Patterns are text as YAML gives it and mean exactly what git's `:(top,glob)` pathspecs mean (see
`gatekeeper.globs`), on bytes and with regard to case. Paths are bytes, from the repository's root.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterable, Sequence
from functools import lru_cache
from typing import TypeVar

from gatekeeper.globs import (
    ANY_NAME,
    DEEP,
    NOT_SLASH,
    STAR,
    Reading,
    Segment,
    below,
    encode,
    names_of,
    read,
)
from gatekeeper.patterns import Patterns, fold

__all__ = [
    "LONGEST",
    "Patterns",
    "fold",
    "folder_prefix",
    "holds_below",
    "invalid",
    "literal",
    "may_hold_below",
    "meet",
    "names",
    "too_broad",
]

LONGEST = 1024
"""The length of the longest pattern, in bytes: as long as the longest path that macOS can open."""

_EFFORT = 10_000  # pairs of segments; two patterns with more are taken to meet
_PLAIN = re.compile(rb"(?:[^*?\[\\]|\\.)*", re.DOTALL)
_ESCAPE = re.compile(rb"\\(.)", re.DOTALL)
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_SURROGATE = re.compile("[\ud800-\udfff]")

_T = TypeVar("_T", bound=Hashable)


def invalid(pattern: str) -> str | None:
    """Why a text is no authority pattern (GK251), as a phrase that can follow the quoted text; else None.

    Beyond the contract's list: what git could only read as a pattern that never matches, which in
    a `forbid` would forbid nothing and say so to nobody.
    """
    if not pattern:
        return "is empty: git would take it for everything; write `**` if that is meant"
    if pattern[0] in "/:!":
        return f"begins with `{pattern[0]}`: a pattern is a bare path from the repository's root"
    if _SURROGATE.search(pattern):
        return "is no text: it holds half a surrogate pair"
    if _CONTROL.search(pattern):
        return "holds a control character: let `?` stand for one in a path"
    if len(encode(pattern)) > LONGEST:
        return f"is longer than {LONGEST} bytes"
    if (len(pattern) - len(pattern.rstrip("\\"))) % 2:
        return r"ends in a lone backslash: write `\\` for a backslash in a path"
    segments = _ESCAPE.sub(rb"\1", encode(pattern)).removesuffix(b"/").split(b"/")
    if b"" in segments:
        return "has an empty segment: no path holds `//`"
    if b"." in segments or b".." in segments:
        return "has a `.` or `..` segment: no path holds one"
    return None


def literal(pattern: str) -> bytes | None:
    """The very path that a pattern names; None where it has a wildcard, or names a folder by a slash."""
    raw = encode(pattern)
    if not raw or raw.endswith(b"/") or not _PLAIN.fullmatch(raw):
        return None
    return _ESCAPE.sub(rb"\1", raw)


def names(patterns: Iterable[str], path: bytes) -> bool:
    """Whether one of the patterns names that very path, with no wildcard."""
    return any(literal(pattern) == path for pattern in patterns)


def folder_prefix(pattern: str) -> bytes:
    """The folders that a pattern spells out before its first wildcard, with a slash at the end; or `b""`."""
    found = _PLAIN.match(encode(pattern))
    plain = _ESCAPE.sub(rb"\1", found[0]) if found else b""
    return plain[: plain.rfind(b"/") + 1]


def holds_below(patterns: Iterable[str], folder: bytes) -> bool:
    """Whether one pattern for sure holds every path below a folder; `b""` is the root.

    A folder that only several patterns together hold counts as not held.
    """
    path = names_of(folder)
    for pattern in patterns:
        for reading in read(pattern).readings:
            places = _reach(path, reading, _segments_meet)
            if any(places >> i & 1 and _open(reading[i:]) in (0, 1) for i in range(len(reading))):
                return True
    return False


def may_hold_below(patterns: Iterable[str], folder: bytes) -> bool:
    """Whether one pattern holds some path that can be below a folder; `b""` is the root."""
    other = below(folder)
    return any(_readings_meet(reading, other) for pattern in patterns for reading in read(pattern).readings)


def meet(a: str, b: str, *, literally: bool = False) -> bool:
    """Whether two patterns can hold one same path (GK254).

    Exact, but for two patterns of which one has more than a hundred segments: these are taken to
    meet. Left out, unless `literally`, are paths that a pattern with `*` or `?` holds only because
    git tries its text as a name first: else `**/*.py` and `**/*.md` met, below a folder `*.py`.

    Two patterns meet if two of their readings do. Those are compared segment by segment, `**`
    standing for any number of segments, and two segments token by token in the same way: work is
    the product of the lengths.
    """
    one, two = read(a), read(b)
    if not (one.prefix.startswith(two.prefix) or two.prefix.startswith(one.prefix)):
        return False
    firsts, seconds = (one.readings, two.readings) if literally else (one.usual, two.usual)
    return any(_readings_meet(x, y) for x in firsts for y in seconds)


def too_broad(pattern: str) -> bool:
    """Whether a pattern holds everything, or everything but what is close to the root (GK252).

    `**`, `**/*`, `*/**` and the like; not `*`, which holds the root's own files alone.
    """
    return any(_open(reading) is not None for reading in read(pattern).readings)


def _open(reading: Reading) -> int | None:
    """How many names a path must have to fit segments that ask for nothing else; None if they do."""
    if DEEP not in reading or not all(segment == DEEP or _any_name(segment) for segment in reading):
        return None
    return sum(segment != DEEP for segment in reading)


def _any_name(segment: Segment) -> bool:
    """Whether every name fits: stars, with one other byte of any kind at most."""
    others = [token for token in segment if token != STAR]
    return segment == ANY_NAME or (STAR in segment and others == [NOT_SLASH])


def _readings_meet(one: Reading, two: Reading) -> bool:
    """Whether one same path fits two readings; true for two that are too long to tell."""
    if len(one) * len(two) > _EFFORT:
        return True
    return bool(_reach(one, two, _segments_meet) >> len(two) & 1)


@lru_cache(maxsize=16384)
def _segments_meet(one: Segment, two: Segment) -> bool:
    """Whether one same name fits two segments."""
    if (one[0] and two[0] and not one[0] & two[0]) or (one[-1] and two[-1] and not one[-1] & two[-1]):
        return False
    return bool(_reach(one, two, _share) >> len(two) & 1)


def _share(one: int, two: int) -> bool:
    return one & two != 0


def _reach(names: Sequence[_T], row: Sequence[_T], meets: Callable[[_T, _T], bool]) -> int:
    """How far into `row` one can be when all of `names` is used up, as bits: bit i is before `row[i]`.

    A false element of either stands for any run of elements, none too; two never stand side by
    side. All other pairs are judged by `meets`, and each element can be met by something.
    """
    runs = sum(1 << i for i, element in enumerate(row) if not element)
    known: dict[_T, int] = {}
    bits = 1 | (runs & 1) << 1
    for name in names:
        if not name:
            bits = (2 << len(row)) - (bits & -bits)
            continue
        if name not in known:
            known[name] = sum(1 << i for i, element in enumerate(row) if element and meets(name, element))
        bits = (bits & known[name]) << 1 | bits & runs
        bits |= (bits & runs) << 1
        if not bits:
            break
    return bits
