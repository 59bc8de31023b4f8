"""The commits that one commit has behind it and another has not, fetched exactly (`known..want`).

A shallow fetch can't be asked for them: it cuts by a depth, a date or a branch's name, and where
it cuts a merge it takes all of the merge's parents away. What a remote does answer exactly is
the everyday question "I have this, give me that". So it is asked from an empty repository that
holds the one commit `known`, shown to git there as a commit without parents (by a replace ref,
in that repository alone): git says that it has `known`, looks at nothing behind it, and is sent
what lies between. Filters keep blobs, or trees as well, from coming along.

A remote that believes one to have all of `known`'s history leaves out what is the same there: a
tree that was there once before may be missing. Whoever reads trees between the two must be able
to fetch them.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from gatekeeper.errors import HistoryMissing, RepositoryUnreadable

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from gatekeeper.edges.git import Objects, View

NOTHING_SENT = (b"did not send all necessary objects", b"bad object")
"""What git says where `want` itself is behind `known`: there is nothing between, not even `want`."""


@contextmanager
def holding(view: View, known: str) -> Iterator[View]:
    """An empty view beside `view` that holds `known` alone, there a commit without parents."""
    raw = view.git("cat-file", "commit", known)
    if raw.status:
        raise HistoryMissing(f"commit {known[:12]} is not here", "Run the check again.")
    with view.beside() as side:
        _write(side, raw.out)
        header, rest = raw.out.split(b"\n\n", 1)
        lines = [line for line in header.split(b"\n") if not line.startswith(b"parent ")]
        root = b"\n".join(lines) + b"\n\n" + rest
        if root != raw.out:
            side.git("update-ref", f"refs/replace/{known}", _write(side, root))
        _promise(side, known)
        side.env.pop("GIT_NO_REPLACE_OBJECTS", None)
        side.env["GIT_CONFIG_PARAMETERS"] = "'core.useReplaceRefs=true'"
        yield side


def _write(view: View, commit: bytes) -> str:
    done = view.git("hash-object", "-t", "commit", "-w", "--stdin", stdin=commit)
    if done.status:
        raise RepositoryUnreadable(f"a commit could not be written: {done.complaint}", "Is the disk full?")
    return done.out.decode().strip()


def _promise(side: View, known: str) -> None:
    """Mark `known` as a commit of which somebody else has the trees and parents.

    Since 2.48 a filtered fetch packs anew whatever it links to that is here already, with all that is behind
    that, and dies where it is not all here; but for what a promisor sent. `adopt` leaves this pack behind.
    """
    packs = side.path / "objects" / "pack"
    packs.mkdir(parents=True, exist_ok=True)
    done = side.git("pack-objects", "--quiet", str(packs / "known"), stdin=f"{known}\n".encode())
    if done.status:
        raise RepositoryUnreadable(f"a commit could not be packed: {done.complaint}", "Is the disk full?")
    (packs / f"known-{done.out.decode().strip()}.promisor").touch()


def adopt(view: View, side: View) -> None:
    """Move the packs of `side` into `view`; a pack counts once its index is there, so that goes last."""
    target = view.path / "objects" / "pack"
    target.mkdir(parents=True, exist_ok=True)
    packs = sorted((side.path / "objects" / "pack").glob("pack-*"), key=lambda path: path.suffix == ".idx")
    for path in packs:
        path.replace(target / path.name)
    view.reopen()


def ancestry(objects: Objects, starts: Sequence[str], stop: str = "") -> dict[str, tuple[str, ...] | None]:
    """Every commit that can be reached from `starts`, with its parents; None for one that is not here.

    Nothing behind `stop` is looked at.
    """
    found: dict[str, tuple[str, ...] | None] = {}
    todo = list(starts)
    while todo:
        oid = todo.pop()
        if oid not in found:
            found[oid] = _parents(objects, oid)
            todo += (found[oid] or ()) if oid != stop else ()
    return found


def _parents(objects: Objects, oid: str) -> tuple[str, ...] | None:
    try:
        return objects.commit(oid).parents
    except HistoryMissing:
        return None


def edges(known: Mapping[str, tuple[str, ...] | None]) -> tuple[set[str], set[str]]:
    """Where an ancestry ends: commits of which no parent is here, and parents that some, but not all, are without.

    Git can only be told that a commit has no parents at all, never that it has fewer.
    """
    ends, torn = set(), set()
    for oid, parents in known.items():
        missing = [parent for parent in parents or () if known[parent] is None]
        if missing and len(missing) == len(parents or ()):
            ends.add(oid)
        else:
            torn.update(missing)
    return ends, torn
