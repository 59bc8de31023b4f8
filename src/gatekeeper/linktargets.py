"""A link's target → the place in a repository that it names; which of the names that exist comes nearest to one.

Nothing here looks anything up: a place is a tuple of git's own bytes, one for each segment, and
whoever holds a tree says whether it stands there. Segments are never joined before they are
compared, so that an encoded slash or an encoded `..` is a name like any other, which no tree has.
Source of the rules: CONTRACT 5, verify-task-links.
"""

from __future__ import annotations

import re
from difflib import SequenceMatcher
from functools import lru_cache
from heapq import nsmallest
from itertools import islice
from typing import TYPE_CHECKING, Final, Literal, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

Place: TypeAlias = "tuple[bytes, ...]"
"""A path from the repository's root, split; empty: the root."""

OUTSIDE: Final = "outside"
"""Where a target leads that climbs out of the repository."""

MARKDOWN = frozenset({b"md", b"markdown", b"mdown", b"mkdn", b"mkd", b"mkdown"})
"""The endings of the files that GitHub shows as Markdown."""

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*+:")
_ENCODED = re.compile(rb"%([0-9A-Fa-f]{2})")
_LINES = re.compile(r"L([0-9]++)(?:C[0-9]++)?(?:-L?([0-9]++)(?:C[0-9]++)?)?")
# A glob, a placeholder, an alternative, an escape, a blank; no file that a task names is named so.
_NO_PATH = re.compile(r"[*?\[\]{}<>$|`\\…\s\x00-\x1f\x7f]|\.\.\.|%(?![0-9A-Fa-f]{2})|://")
_LONGEST_PATH = 4096
_LONGEST_NUMBER = 18
_LONGEST_WANTED = 200
_MOST_CANDIDATES = 20_000
_FINALISTS = 20
_BITS = 1021
_ALIKE = 0.7


class Target(NamedTuple):
    """A target split up: its segments as written, whether it begins at the root, its decoded fragment.

    Without segments and not from the root it is the file it stands in. `fragment` is None where
    there is no `#`; a text fragment (`#:~:text=`), which only the browser reads, is taken off.
    """

    segments: tuple[str, ...]
    rooted: bool = False
    fragment: str | None = None


class Reading(NamedTuple):
    """One way to read a reference: the place it names (None: the file it stands in) and its fragment."""

    place: Place | Literal["outside"] | None
    fragment: str | None = None


class Lines(NamedTuple):
    """The lines that `#L10` or `#L10-L20` names."""

    first: int
    last: int

    def within(self, count: int) -> bool:
        """Whether they stand in a file of that many lines, and don't run backwards."""
        return 1 <= self.first <= self.last <= count


def may_point(text: str) -> bool:
    """Whether a Markdown text may hold a link that needs no definition, or a code span that reads as a path."""
    return "](" in text or ("`" in text and "/" in text)


def is_relative(target: str) -> bool:
    """Whether a link's target stays in the repository: it has neither a scheme nor a host."""
    target = target.strip()
    return _SCHEME.match(target) is None and not target.startswith("//")


def reads_as_path(code: str) -> bool:
    r"""Whether a code span reads as a repository path, as far as its text tells.

    It holds a `/`, and neither a blank nor `* ? [ ] { } < > $ | \ … ...`, a lone `%` or `://`. Behind a
    leading slash stand routes and paths of a machine as well, so there its last segment has to have
    an ending. Whether its first segment stands in the tree is for the caller to say.
    """
    if "/" not in code or len(code) > _LONGEST_PATH or _NO_PATH.search(code) is not None:
        return False
    return not code.startswith("/") or "." in code.rstrip("/").rpartition("/")[2][1:]


def split_target(target: str) -> Target:
    """A link's target, split at its `#`, its `?` and its slashes; what stands behind `?` is for the server."""
    path, mark, fragment = target.strip().partition("#")
    path = path.partition("?")[0]
    shown = _text(fragment.partition(":~:")[0]) if mark else None
    return Target(_segments(path), path.startswith("/"), shown)


def resolve(folder: Place, target: Target) -> Place | Literal["outside"] | None:
    """The place a target names in a file of that folder; None: that file itself; OUTSIDE: none in the repository.

    `.` and `..` are followed first, then each segment is decoded; an invalid `%` stays as it is.
    """
    if not target.segments and not target.rooted:
        return None
    return _walk(() if target.rooted else folder, target.segments, decoded=True)


def link_reading(folder: Place, target: str, *, image: bool = False) -> Reading:
    """What a link or image in a file of that folder leads to. A picture has no anchors: its fragment is dropped."""
    split = split_target(target)
    return Reading(resolve(folder, split), None if image else split.fragment)


def code_readings(code: str) -> tuple[Reading, ...]:
    """What a code span that reads as a path may name, from the root: it holds if one of these stands.

    The name as it stands comes first, then decoded, then without what people write behind a path:
    `#anchor`, `:12`, `::test_name`. None where it climbs out, for then it is no path of the repository.
    """
    path, mark, fragment = code.partition("#")
    readings = (
        Reading(_walk((), _segments(code), decoded=False)),
        Reading(_walk((), _segments(code), decoded=True)),
        Reading(_walk((), _segments(_without_line(path)), decoded=True), _text(fragment) if mark else None),
    )
    return tuple(dict.fromkeys(reading for reading in readings if reading.place not in (OUTSIDE, ())))


def git_path(place: Place) -> bytes | None:
    """A place as git writes paths; None where no tree can hold such a name."""
    if any(not name or name in (b".", b"..") or b"/" in name or b"\0" in name for name in place):
        return None
    return b"/".join(place)


def lines_named(fragment: str) -> Lines | None:
    """The lines a fragment names, as `L10`, `L10-L20` or with columns; None where it names none."""
    found = _LINES.fullmatch(fragment)
    if found is None:
        return None
    # So many digits are past the end of any file, and Python refuses to read thousands of them.
    first, last = (
        int(text.lstrip("0")[:_LONGEST_NUMBER] or "0") for text in (found[1], found[2] or found[1])
    )
    return Lines(first, last)


def line_count(data: bytes) -> int:
    """How many lines a file has; the last one may lack its end."""
    return data.count(b"\n") + (not data.endswith(b"\n") and data != b"")


def has_anchor(anchors: Collection[str], fragment: str) -> bool:
    """Whether a fragment leads somewhere on a page with these anchors: its top always, no matter what is there."""
    bare = fragment.removeprefix("user-content-")  # what GitHub puts before an id, in the page's own HTML
    return fragment in ("", "top") or fragment in anchors or bare in anchors


def is_markdown(name: bytes) -> bool:
    """Whether GitHub shows a file of this name as Markdown."""
    stem, dot, ending = name.rpartition(b".")
    return bool(stem and dot) and ending.lower() in MARKDOWN


def readme(names: Iterable[bytes]) -> bytes | None:
    """Of the names in a folder that of its README, whose anchors a link to the folder may name."""
    found = [name for name in names if is_markdown(name) and name.partition(b".")[0].lower() == b"readme"]
    return min(found, default=None)


def nearest(wanted: str, candidates: Iterable[str]) -> str | None:
    """The candidate that `wanted` most probably meant; None where none comes near it.

    The first 20,000 candidates are looked at, which takes a few hundredths of a second: ask for a few findings,
    not for all.
    """
    if len(wanted) > _LONGEST_WANTED:
        return None
    folded, mine = wanted.casefold(), _pairs(wanted)
    scored: list[tuple[float, str]] = []
    for candidate in islice(candidates, _MOST_CANDIDATES):
        if candidate.casefold() == folded:
            return candidate
        if len(candidate) <= _LONGEST_WANTED:
            theirs = _pairs(candidate)
            shared = (mine & theirs).bit_count() / (mine.bit_count() + theirs.bit_count())
            scored.append((-shared, candidate))
    # Pairs of letters in common tell cheaply who may be alike; difflib, which takes longer, decides.
    matcher = SequenceMatcher(None, b=wanted, autojunk=False)
    best: tuple[float, str] = (_ALIKE, "")
    for _, candidate in nsmallest(_FINALISTS, scored):
        matcher.set_seq1(candidate)
        if matcher.quick_ratio() > best[0] and (ratio := matcher.ratio()) > best[0]:
            best = (ratio, candidate)
    return best[1] or None


@lru_cache(_MOST_CANDIDATES)
def _pairs(text: str) -> int:
    """The pairs of letters that stand side by side, the ends of the text marked: a bit for each, a few share one."""
    found, last = 0, 0
    for letter in map(ord, text + "\0"):
        found |= 1 << (last * 37 + letter) % _BITS
        last = letter
    return found


def _without_line(path: str) -> str:
    """A path without a line and column as compilers write them, and without `::` and a name inside the file."""
    path = path.partition("::")[0]
    rest = path.rstrip("0123456789:-")
    head, colon, line = path[len(rest) :].partition(":")
    return rest + head if colon and line[:1].isdigit() else path


def _segments(path: str) -> tuple[str, ...]:
    return tuple(segment for segment in path.split("/") if segment)


def _walk(start: Place, segments: Iterable[str], *, decoded: bool) -> Place | Literal["outside"]:
    steps = list(start)
    for segment in segments:
        if segment == "..":
            if not steps:
                return OUTSIDE
            steps.pop()
        elif segment != ".":
            name = _bytes(segment)
            steps.append(_decoded(name) if decoded else name)
    return tuple(steps)


def _bytes(text: str) -> bytes:
    try:
        return text.encode("utf-8", "surrogateescape")  # how Python shows bytes that are no UTF-8
    except UnicodeEncodeError:
        return text.encode("utf-8", "surrogatepass")


def _decoded(name: bytes) -> bytes:
    return _ENCODED.sub(lambda found: bytes([int(found[1], 16)]), name)


def _text(fragment: str) -> str:
    return _decoded(_bytes(fragment)).decode("utf-8", "replace")
