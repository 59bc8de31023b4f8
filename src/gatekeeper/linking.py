"""verify-task-links: where the links and paths of a Markdown text lead, looked up in one tree (CONTRACT 5).

Only names that a tree holds count, byte by byte: no file system that folds case has a say.
"""

from __future__ import annotations

from functools import partial
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
    from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

    from gatekeeper.linktargets import Place
    from gatekeeper.mdlinks import Reference

MISSING, NO_ANCHOR = "GK241", "GK242"

MOST_GUESSES, MOST_LETTERS = 100, 1_500_000
"""How often, and through how many letters of names, one run looks for what was probably meant: a second's work."""

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
    """A path that differs from the one that can be meant in the case of its letters alone, both as a text spells them."""

    path: bytes
    line: int
    written: str
    meant: str


class _Names(NamedTuple):
    """Names of which one may have been meant, and how many letters they have."""

    names: tuple[str, ...]
    letters: int

    @classmethod
    def of(cls, names: Iterable[str]) -> _Names:
        """These names."""
        every = tuple(names)
        return cls(every, sum(map(len, every)))


class _Anchors(NamedTuple):
    """A Markdown file's anchors: to be looked up, in order, and some of them as a message names them."""

    found: frozenset[str] = frozenset()
    known: _Names = _Names((), 0)
    some: str = "none"

    @classmethod
    def of(cls, found: frozenset[str]) -> _Anchors:
        """These anchors."""
        names = sorted(found)
        return cls(found, _Names.of(names), listed(list(map(quoted, names)), _SHOWN_ANCHORS) or "none")


class _Page(NamedTuple):
    """A file that a link leads into: how it is named, and how its lines (None: nobody knows) and anchors are found."""

    named: str
    lines: Callable[[], int | None]
    anchors: Callable[[], _Anchors | str] | None


class Linker:
    """Looks up what texts point at in one tree. `folders` stand even where they are empty, which git can't keep."""

    def __init__(self, tree: Tree, folders: Collection[bytes] = ()) -> None:
        self._tree = tree
        self._folders = frozenset(folder.rstrip(b"/") for folder in folders)
        self._anchors: dict[str | bytes, _Anchors | str] = {}
        self._counts: dict[str | bytes, int | None] = {}
        self._by_fold: dict[str, list[str]] = {}
        self._names: _Names | None = None
        self._guesses, self._letters = MOST_GUESSES, MOST_LETTERS
        self.cases: list[Case] = []
        """What can be mended in one way only."""

    def defects(
        self, path: bytes, body: str, first_line: int, whole: Callable[[], str], *, spans: bool = True
    ) -> tuple[Defect, ...]:
        """What is wrong with the links of a Markdown body, and with the code spans that read as paths, if `spans`.

        `whole` gives the text of the file, front matter included, for links to its own anchors.
        """
        if not may_point(body) and "]:" not in body:
            return ()
        from gatekeeper.mdlinks import UnreadableError, links  # noqa: PLC0415 -- most texts of a check need no parser

        try:
            found = links(body, first_line)
        except UnreadableError as why:
            return (Defect(MISSING, f"its links can't be read: {why}", first_line, "Make the text simpler."),)
        asked = [ref for ref in found if spans or ref.kind != "code"]
        return tuple(defect for ref in asked for defect in self._of(path, ref, whole))

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
            text = partial(_encoded, whole)
            page = _Page(shown(path), partial(self._count, path, text), partial(self._found, path, text))
            yield from self._in_page(ref, fragment or "", page)
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
        text = partial(self._tree.text, entry[1])
        anchors = partial(self._found, entry[1], text) if is_markdown(place[-1]) else None
        yield from self._in_page(
            ref, fragment, _Page(shown(named), partial(self._count, entry[1], text), anchors)
        )

    def _in_page(self, ref: Reference, fragment: str, page: _Page) -> Iterator[Defect]:
        span = lines_named(fragment)
        count = page.lines() if span else None
        if has_anchor((), fragment) or (span and (count is None or span.within(count))):
            return
        anchors = page.anchors() if page.anchors else _Anchors()
        if isinstance(anchors, str):
            message = f"the headings of {quoted(page.named)} can't be read: {anchors}"
            yield Defect(
                NO_ANCHOR, message, ref.line, "Make that file simpler, or link to it without an anchor."
            )
        elif has_anchor(anchors.found, fragment):
            return
        elif span:
            yield Defect(
                NO_ANCHOR,
                f"{quoted('#' + fragment)} does not stand in {quoted(page.named)}, which has {count} lines",
                ref.line,
                "Name lines that the file has, the first before the last.",
            )
        elif page.anchors:
            near = self._guess(fragment, anchors.known)
            yield Defect(
                NO_ANCHOR,
                f"{quoted(page.named)} has no heading {quoted('#' + fragment)}",
                ref.line,
                f"Did you mean `#{near}`?" if near else f"Its anchors are: {anchors.some}.",
            )

    def _missing(self, path: bytes, ref: Reference, place: object, what: str) -> Defect:
        leads = shown(b"/".join(place)) if isinstance(place, tuple) else ref.target
        spelt = quoted(ref.target) if len(ref.target) < QUOTED else quoted(leads)
        also = f" ({quoted(leads)} from the root)" if leads != ref.target.lstrip("/") and leads else ""
        near = self._near(leads)
        if (
            near is not None
            and near.casefold() == leads.casefold()
            and (spelt_so := _respelt(ref, leads, near))
        ):
            self.cases.append(Case(path, ref.line, *spelt_so))
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

    def _count(self, key: str | bytes, text: Callable[[], bytes | None]) -> int | None:
        if key not in self._counts:
            data = text()
            self._counts[key] = None if data is None else line_count(data)
        return self._counts[key]

    def _found(self, key: str | bytes, text: Callable[[], bytes | None]) -> _Anchors | str:
        if key not in self._anchors:
            data = text()
            self._anchors[key] = (
                "it is too large" if data is None else _found(data.decode("utf-8", "replace"))
            )
        return self._anchors[key]

    # -- what was meant ------------------------------------------------------------

    def _near(self, wanted: str) -> str | None:
        """The file or folder that a missing path may have meant; one that differs in case alone before all others."""
        known = self._known()
        folded = self._by_fold.get(wanted.casefold(), [])
        if folded:
            return folded[0] if len(folded) == 1 else None
        return self._guess(wanted, known)

    def _known(self) -> _Names:
        """All files and folders."""
        if self._names is not None:
            return self._names
        names: dict[str, None] = {}
        for path in self._tree.paths():
            text = shown(path)
            names[text] = None
            while (end := text.rfind("/")) > 0:
                text = text[:end]
                if text in names:
                    break
                names[text] = None
        for name in names:
            self._by_fold.setdefault(name.casefold(), []).append(name)
        self._names = _Names.of(names)
        return self._names

    def _guess(self, wanted: str, known: _Names) -> str | None:
        if self._guesses <= 0 or self._letters <= 0:
            return None
        self._guesses -= 1
        self._letters -= known.letters
        return nearest(wanted, known.names)


def _respelt(ref: Reference, leads: str, near: str) -> tuple[str, str] | None:
    """The path of a reference as it is written and as it has to be; None where the name that differs is not spelt out."""
    written = ref.target.partition("#")[0].partition("?")[0].rstrip("/")
    names, old, new = written.split("/"), leads.split("/"), near.split("/")
    for back in range(1, min(len(names), len(old)) + 1):
        if names[-back] != old[-back]:
            break
        names[-back] = old[-back] = new[-back]
    return (written, "/".join(names)) if old == new else None


def _encoded(whole: Callable[[], str]) -> bytes:
    return whole().encode("utf-8", "surrogatepass")


def _found(text: str) -> _Anchors | str:
    """A Markdown text's anchors, or why they can't be told."""
    from gatekeeper.mdanchors import UnreadableError, anchors  # noqa: PLC0415 -- few links name one

    try:
        found = anchors(text)
    except UnreadableError as why:
        return str(why)
    return _Anchors.of(found)


__all__ = ["MISSING", "NO_ANCHOR", "Case", "Linker", "Tree"]
