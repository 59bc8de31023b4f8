"""verify-task-links: where the links and paths of a Markdown text lead, looked up in one tree (CONTRACT 5).

Only names that a tree holds count, byte by byte: no file system that folds case has a say.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

from gatekeeper.linktargets import (
    OUTSIDE,
    Reading,
    code_readings,
    git_path,
    has_anchor,
    is_markdown,
    is_relative,
    line_count,
    lines_named,
    link_reading,
    may_point,
    nearest,
    readme,
    reads_as_path,
)
from gatekeeper.model import FOLDER, GITLINK, REGULAR, Defect
from gatekeeper.text import QUOTED, listed, quoted, shown

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Sequence

    from gatekeeper.linktargets import Place
    from gatekeeper.mdlinks import Reference

MISSING, NO_ANCHOR = "GK241", "GK242"

MOST_GUESSES = 40
"""Findings of one run for which the name that was probably meant is looked for: each look takes a tenth of a second."""

_SHOWN_ANCHORS = 6


class Tree(Protocol):
    """What stands in one tree."""

    def entry(self, path: bytes) -> tuple[int, str] | None:
        """Mode and object name of a path, None where nothing stands there; the empty path is the root."""

    def names(self, oid: str) -> Collection[bytes]:
        """The names in a folder."""

    def text(self, oid: str) -> bytes | None:
        """A blob's bytes; None for one that is too large to be looked through."""

    def paths(self) -> Sequence[bytes]:
        """The paths of all files."""


class Case(NamedTuple):
    """A target that differs from the one path that can be meant in the case of its letters alone."""

    path: bytes
    line: int
    written: str
    meant: str


class Linker:
    """Looks up what texts point at in one tree. `folders` stand even where they are empty, which git can't keep."""

    def __init__(self, tree: Tree, folders: Collection[bytes] = ()) -> None:
        self._tree = tree
        self._folders = frozenset(folder.rstrip(b"/") for folder in folders)
        self._anchors: dict[str, frozenset[str] | str] = {}
        self._counts: dict[str, int | None] = {}
        self._by_fold: dict[str, list[str]] | None = None
        self._guesses = 0
        self.cases: list[Case] = []
        """What can be mended in one way only."""

    def defects(
        self, path: bytes, body: str, first_line: int, whole: Callable[[], str]
    ) -> tuple[Defect, ...]:
        """What is wrong with the links and paths of a Markdown body.

        `whole` gives the text of the file, front matter included, for links to its own anchors.
        """
        if not may_point(body) and "]:" not in body:
            return ()
        from gatekeeper.mdlinks import UnreadableError, links  # noqa: PLC0415 -- most texts of a check need no parser

        try:
            found = links(body, first_line)
        except UnreadableError as why:
            return (Defect(MISSING, f"its links can't be read: {why}", first_line, "Make the text simpler."),)
        return tuple(defect for ref in found for defect in self._of(path, ref, whole))

    def _of(self, path: bytes, ref: Reference, whole: Callable[[], str]) -> Iterator[Defect]:
        folder = tuple(path.split(b"/")[:-1])
        if ref.kind == "code":
            yield from self._code(path, ref)
        elif is_relative(ref.target):
            reading = link_reading(folder, ref.target, image=ref.kind == "image")
            yield from self._link(path, ref, reading, whole)

    def _code(self, path: bytes, ref: Reference) -> Iterator[Defect]:
        readings = code_readings(ref.target) if reads_as_path(ref.target) else ()
        real = [r for r in readings if isinstance(r.place, tuple) and self._stands(r.place[:1])]
        if real and not any(isinstance(r.place, tuple) and self._stands(r.place) for r in real):
            yield self._missing(path, ref, real[0].place, "the path")

    def _link(
        self, path: bytes, ref: Reference, reading: Reading, whole: Callable[[], str]
    ) -> Iterator[Defect]:
        place, fragment = reading
        if place == OUTSIDE:
            yield Defect(
                MISSING,
                f"the {ref.kind} to {quoted(ref.target)} climbs out of the repository",
                ref.line,
                "Point it at a path inside, from the file's folder or, with a leading `/`, from the root.",
            )
        elif place is None:
            yield from self._anchor(ref, fragment or "", shown(path), lambda: _found(whole()))
        elif not self._stands(place):
            yield self._missing(path, ref, place, f"the {ref.kind}")
        elif fragment:
            yield from self._in_file(ref, fragment, self._page(place, fragment))

    def _page(self, place: Place, fragment: str) -> Place:
        """What GitHub shows at a place: of a folder its README, which it calls `#readme` there."""
        entry = self._tree.entry(git_path(place) or b"")
        if entry is None or entry[0] != FOLDER or fragment == "readme":
            return place
        name = readme(self._tree.names(entry[1]))
        return (*place, name) if name else place

    def _in_file(self, ref: Reference, fragment: str, place: Place) -> Iterator[Defect]:
        named = git_path(place) or b""
        entry = self._tree.entry(named)
        if entry is None or entry[0] not in REGULAR:  # a folder's or a submodule's page is nobody's to check
            return
        span = lines_named(fragment)
        if span is not None:
            count = self._count(entry[1])
            if count is not None and not span.within(count):
                yield Defect(
                    NO_ANCHOR,
                    f"{quoted('#' + fragment)} does not stand in {quoted(shown(named))}, which has {count} lines",
                    ref.line,
                    "Name lines that the file has, the first before the last.",
                )
        elif is_markdown(place[-1]):
            yield from self._anchor(ref, fragment, shown(named), lambda: self._of_blob(entry[1]))

    def _anchor(
        self, ref: Reference, fragment: str, where: str, look: Callable[[], frozenset[str] | str]
    ) -> Iterator[Defect]:
        if has_anchor((), fragment):
            return
        anchors = look()
        if isinstance(anchors, str):
            message = f"the headings of {quoted(where)} can't be read: {anchors}"
            yield Defect(
                NO_ANCHOR, message, ref.line, "Make that file simpler, or link to it without an anchor."
            )
        elif not has_anchor(anchors, fragment):
            near = self._guess(fragment, sorted(anchors))
            known = listed(sorted(anchors), _SHOWN_ANCHORS) or "none"
            yield Defect(
                NO_ANCHOR,
                f"{quoted(where)} has no heading {quoted('#' + fragment)}",
                ref.line,
                f"Did you mean `#{near}`?" if near else f"Its anchors are: {known}.",
            )

    def _missing(self, path: bytes, ref: Reference, place: object, what: str) -> Defect:
        leads = shown(b"/".join(place)) if isinstance(place, tuple) else ref.target
        spelt = quoted(ref.target) if len(ref.target) < QUOTED else quoted(leads)
        also = f" ({quoted(leads)} from the root)" if leads != ref.target.lstrip("/") and leads else ""
        near = self._near(leads)
        if near is not None and near.casefold() == leads.casefold():
            self.cases.append(Case(path, ref.line, leads, near))
        end = f"; mark what the task is to make: `{leads}` (create)"
        return Defect(
            MISSING,
            f"{what} {spelt}{also} leads to nothing",
            ref.line,
            f"Did you mean `{near}`{end}?" if near else f"Name a path that is there{end}.",
        )

    # -- looking up --------------------------------------------------------------

    def _stands(self, place: Place) -> bool:
        """Whether something stands at a place: a file, a folder, or whatever is at or below a submodule."""
        path = git_path(place)
        if path is None:
            return False
        if path in self._folders or self._tree.entry(path) is not None:
            return True
        return any(
            (entry := self._tree.entry(b"/".join(place[:end]))) is not None and entry[0] == GITLINK
            for end in range(1, len(place))
        )

    def _count(self, oid: str) -> int | None:
        if oid not in self._counts:
            data = self._tree.text(oid)
            self._counts[oid] = None if data is None else line_count(data)
        return self._counts[oid]

    def _of_blob(self, oid: str) -> frozenset[str] | str:
        if oid not in self._anchors:
            data = self._tree.text(oid)
            self._anchors[oid] = (
                "it is too large" if data is None else _found(data.decode("utf-8", "replace"))
            )
        return self._anchors[oid]

    # -- what was meant ------------------------------------------------------------

    def _near(self, wanted: str) -> str | None:
        """The file or folder that a missing path may have meant; one that differs in case alone before all others."""
        folded = self._folded().get(wanted.casefold(), [])
        if folded:
            return folded[0] if len(folded) == 1 else None
        return self._guess(wanted, [name for names in self._folded().values() for name in names])

    def _folded(self) -> dict[str, list[str]]:
        if self._by_fold is None:
            names: dict[str, None] = {}
            for path in self._tree.paths():
                text = shown(path)
                names[text] = None
                while (cut := text.rfind("/")) > 0:
                    text = text[:cut]
                    if text in names:
                        break
                    names[text] = None
            self._by_fold = {}
            for name in names:
                self._by_fold.setdefault(name.casefold(), []).append(name)
        return self._by_fold

    def _guess(self, wanted: str, known: Sequence[str]) -> str | None:
        if self._guesses >= MOST_GUESSES:
            return None
        self._guesses += 1
        return nearest(wanted, known)


def _found(text: str) -> frozenset[str] | str:
    """A Markdown text's anchors, or why they can't be told."""
    from gatekeeper.mdanchors import UnreadableError, anchors  # noqa: PLC0415 -- few links name one

    try:
        return anchors(text)
    except UnreadableError as why:
        return str(why)


__all__ = ["MISSING", "NO_ANCHOR", "Case", "Linker", "Tree"]
