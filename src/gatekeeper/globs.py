"""What git reads in a `:(top,glob)` pathspec.

A pattern is read into one to three *readings*, and holds a path if one of them does. A reading is
a row of *segments*, one for each name of the path, with `DEEP` for any number of names. A segment
is a row of *tokens*: a set of bytes, as an integer with one bit for each, or `STAR` for any run.
`DEEP` and `STAR` are the false values of their kinds, so one algorithm serves both rows.

The rules are those of git's `match_pathspec_item` (dir.c) and `wildmatch` (wildmatch.c), and hold
for paths as git keeps them: names that are not empty, joined by single slashes. A name `.` or `..`
is one like any other here; `gatekeeper.scope.invalid` refuses patterns that spell one out.
"""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import dropwhile
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

Segment = tuple[int, ...]
"""The tokens of one name: sets of bytes, and `STAR`. Never empty, but for `DEEP`."""

Reading = tuple[Segment, ...]
"""The segments of a path from the repository's root, and `DEEP`."""

STAR = 0
"""The token for any run of bytes within a name, none too. Two never stand side by side."""

DEEP: Segment = ()
"""The segment for any number of whole names, none too. Two never stand side by side."""

_SLASH = 1 << ord("/")
NOT_SLASH = (1 << 256) - 1 & ~_SLASH & ~1
"""What `?` stands for: every byte that a name can hold."""

ANY_NAME: Segment = (STAR,)
"""What `*` stands for: every name."""

_WIDE, _DEEPER = -1, -2  # in a lexed pattern: `**` that crosses slashes; the same with its own slash

_LITERAL = re.compile(rb"[^*?\[\\]*")
_ODD = re.compile(rb"[*?]")


def _span(first: int, last: int) -> int:
    """The set of all bytes from `first` to `last`, empty where they come the wrong way round."""
    return (1 << last + 1) - (1 << first) if first <= last else 0


_UPPER, _LOWER, _DIGIT = _span(65, 90), _span(97, 122), _span(48, 57)
_ALNUM = _UPPER | _LOWER | _DIGIT
_CLASSES = {
    b"alnum": _ALNUM,
    b"alpha": _UPPER | _LOWER,
    b"blank": 1 << 9 | 1 << 32,
    b"cntrl": _span(0, 31) | 1 << 127,
    b"digit": _DIGIT,
    b"graph": _span(33, 126),
    b"lower": _LOWER,
    b"print": _span(32, 126),
    b"punct": _span(33, 126) & ~_ALNUM,
    b"space": 1 << 9 | 1 << 10 | 1 << 13 | 1 << 32,  # git's own table knows neither VT nor FF
    b"upper": _UPPER,
    b"xdigit": _DIGIT | _span(65, 70) | _span(97, 102),
}


class Glob(NamedTuple):
    """A pattern as read: its bytes, those before the first special one, the rest, and the readings.

    `usual` is without the reading as it stands of a pattern that has a `*` or a `?` in it.
    """

    raw: bytes
    prefix: bytes
    rest: bytes
    readings: tuple[Reading, ...]
    usual: tuple[Reading, ...]

    @property
    def plain(self) -> tuple[bytes | None, bytes] | None:
        """A path, and a beginning of paths, that are all it holds; None where that is not so.

        So read are `a` (itself and all below it), `a/`, and what has nothing special but a last `**`.
        """
        if not self.rest:
            return (None, self.raw) if self.raw.endswith(b"/") else (self.raw, self.raw + b"/")
        return (None, self.prefix) if self.rest.startswith(b"**") and not self.rest.strip(b"*") else None


def encode(pattern: str) -> bytes:
    """A pattern's bytes: UTF-8. Half a surrogate pair, which no path can hold, goes through as it is."""
    return pattern.encode("utf-8", "surrogatepass")


@lru_cache(maxsize=8192)
def read(pattern: str) -> Glob:
    """A pattern as git reads it. One that git can't be given (empty, or with a NUL) holds nothing."""
    raw = encode(pattern)
    plain = _LITERAL.match(raw)
    prefix = plain[0] if plain else b""
    rest = raw[len(prefix) :]
    if not raw or b"\0" in raw:
        return Glob(raw, prefix, rest, (), ())
    text = _as_it_stands(raw)
    ways = _ways(prefix, tokens) if rest and (tokens := _lex(rest)) is not None else []
    found = tuple(r for way in ways if (r := _segments([*spelt(prefix), *way])))
    readings = (text, *found) if text else found
    return Glob(raw, prefix, rest, readings, found if _ODD.search(raw) else readings)


def spelt(text: bytes) -> Segment:
    """The tokens of a text that is meant as it stands."""
    return tuple(1 << byte for byte in text)


def below(folder: bytes) -> Reading:
    """The reading that holds every path below a folder, and no other; `b""` is the root."""
    return (*names_of(folder), ANY_NAME, DEEP)


def names_of(path: bytes) -> Reading:
    """The reading that holds one path alone."""
    return tuple(spelt(name) for name in path.split(b"/") if name)


def _as_it_stands(raw: bytes) -> Reading | None:
    """What git looks for first, wildcards or not: the pattern's own bytes, as a path or a folder of it."""
    names = raw.removesuffix(b"/").split(b"/")
    if not all(names):
        return None
    return (*map(spelt, names), *((ANY_NAME,) if raw.endswith(b"/") else ()), DEEP)


def _ways(prefix: bytes, tokens: list[int]) -> list[list[int]]:
    """The ways to go on after the prefix.

    git cuts the prefix off before it looks at the rest, so a `**/` counts there even within a
    name: `lib**/x` holds `libx` as well as `lib/x` and `lib2/y/x`. More of them at once do the same.
    """
    if not prefix or prefix.endswith(b"/") or tokens[0] != _DEEPER:
        return [tokens]
    after = list(dropwhile(lambda token: token == _DEEPER, tokens))
    return [after, [_WIDE, _SLASH, *after]]


def _segments(tokens: Sequence[int]) -> Reading | None:
    """Tokens of a whole pattern, cut at the slashes; None where a name would be empty."""
    reading: list[Segment] = []
    name: list[int] = []
    closed = False  # behind a `**` stands the path's end, or a slash that belongs to it
    for token in (*tokens, _SLASH):
        if token in (_WIDE, _DEEPER):
            if token == _WIDE:
                reading.append((*name, STAR))
                name, closed = [], True
            if reading[-1:] != [DEEP]:
                reading.append(DEEP)
        elif token == _SLASH:
            if not name and not closed:
                return None
            if name:
                reading.append(tuple(name))
            name, closed = [], False
        else:
            name.append(token)
    return tuple(reading)


def _lex(rest: bytes) -> list[int] | None:
    """The tokens of a pattern from its first special byte on; None where git lets it match nothing."""
    text = rest + b"\0"
    tokens: list[int] = []
    at = 0
    while byte := text[at]:
        if byte == ord("*"):
            token, at = _stars(text, at)
        elif byte == ord("["):
            token, at = _class(text, at + 1)
        elif byte == ord("?"):
            token, at = NOT_SLASH, at + 1
        else:
            at += byte == ord("\\")
            token, at = 1 << text[at], at + 1
        if token == 1:  # the NUL at the end: something was left open
            return None
        tokens.append(token)
    return tokens


def _stars(text: bytes, at: int) -> tuple[int, int]:
    """The token of a run of stars, and where it ends. Two or more cross slashes if they fill a segment."""
    end = at
    while text[end] == ord("*"):
        end += 1
    fills = (at == 0 or text[at - 1] == ord("/")) and text[end : end + 2].startswith((b"\0", b"/", b"\\/"))
    if end - at == 1 or not fills:
        return STAR, end
    return (_DEEPER, end + 1) if text[end] == ord("/") else (_WIDE, end)


def _class(text: bytes, at: int) -> tuple[int, int]:
    """The set of a bracket expression and where it ends; `(1, …)` where it holds nothing or is not closed.

    `at` is behind the `[`. As in git a first `]` stands for itself, a backslash escapes, and a
    range takes its beginning from whatever single byte came before the `-`.
    """
    broken = 1, at
    negated = text[at] in b"!^"
    at += negated
    held = before = 0
    start = at
    while text[at] != ord("]") or at == start:
        byte = text[at]
        if text.startswith(b"[:", at):
            end = text.find(b"]", at + 2)
            if end < 0:
                return broken
            if end > at + 2 and text[end - 1] == ord(":"):
                name = text[at + 2 : end - 1]
                if name not in _CLASSES:
                    return broken
                held, before, at = held | _CLASSES[name], 0, end + 1
                continue
        ranged = byte == ord("-") and before and text[at + 1] not in b"]\0"
        at += bool(ranged)
        at += text[at] == ord("\\")
        byte = text[at]
        if not byte:
            return broken
        held |= _span(before, byte) if ranged else 1 << byte
        before = 0 if ranged else byte
        at += 1
    held = (~held if negated else held) & NOT_SLASH
    return held or 1, at + 1
