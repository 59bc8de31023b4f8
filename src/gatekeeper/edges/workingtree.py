"""A working tree as one git tree, which is written into the view alone: nothing in the clone is changed.

What git tracks and nobody touched is taken from the index as it is; only what differs from it, and what
is new, is looked at. A board that git is told to ignore is linted all the same.
"""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING, NamedTuple

from gatekeeper.errors import RepositoryUnreadable
from gatekeeper.linktargets import is_markdown

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from gatekeeper.edges.git import Done, Repository, View

LARGEST = 1 << 20
"""Bytes of a file that is read; of a larger one only its name counts."""

_QUIETLY = ("-c", "core.fsmonitor=false", "-c", "core.quotePath=false")
_NOTHING = {"sha1": b"0" * 40, "sha256": b"0" * 64}


class _Differ(NamedTuple):
    """Where a working tree differs from its index: what is gone, what is read, what is only there, other repositories."""

    gone: list[bytes]
    read: list[bytes]
    there: list[bytes]
    others: list[bytes]


def written(repository: Repository, view: View, always: Sequence[bytes]) -> str:
    """The object name of the working tree as it stands.

    `always` are folders and files that count even where they are ignored. Of new files outside them only
    Markdown is read: that all others are there is what matters to a board. Raises RepositoryUnreadable
    where there is no working tree, or git can't read it.
    """
    if repository.bare:
        raise RepositoryUnreadable(
            "this repository is bare, and has no working tree", "Name a commit: --tree COMMIT."
        )
    top = repository.toplevel()
    index = {"GIT_WORK_TREE": os.fspath(top), "GIT_INDEX_FILE": os.fspath(view.path / "index")}

    def asked(*args: str) -> list[bytes]:
        return _must(repository.git_at(top, *_QUIETLY, *args)).split(b"\0")[:-1]

    def update(*options: str, stdin: Iterable[bytes]) -> None:
        command = ("update-index", "-z", "--replace", *options)
        _must(view.git_with(index, *command, cwd=top, stdin=b"".join(row + b"\0" for row in stdin)))

    tracked = asked("ls-files", "-z", "--stage")
    changed = asked("diff-files", "-z", "--name-only", "--no-renames", "--ignore-submodules=all")
    new = asked("ls-files", "-z", "--others", "--exclude-standard")
    new += asked("ls-files", "-z", "--others", "--", *(":(top,literal)" + os.fsdecode(p) for p in always))
    differ = _looked_at(os.fsencode(top), changed, new, always)
    rows = _one_each(tracked)
    rows += [b"0 " + _NOTHING[view.object_format] + b" 0\t" + path for path in differ.gone]
    if differ.there or differ.others:
        unread = _unread(view)
        rows += [b"100644 " + unread + b" 0\t" + path for path in differ.there]
        rows += [b"160000 " + unread + b" 0\t" + path for path in differ.others]
    update("--index-info", stdin=rows)
    update("--add", "--remove", "--stdin", stdin=differ.read)
    return _must(view.git_with(index, "write-tree", "--missing-ok", cwd=top)).decode().strip()


def _one_each(staged: Iterable[bytes]) -> list[bytes]:
    """The index's entries, one for each path: of a merge that is not over ours, which is the first behind the base's."""
    entries: dict[bytes, bytes] = {}
    for row in staged:
        info, _, path = row.partition(b"\t")
        mode, oid, stage = info.split(b" ")
        if path not in entries or stage == b"2":
            entries[path] = mode + b" " + oid + b" 0"
    return [info + b"\t" + path for path, info in entries.items()]


def _looked_at(
    root: bytes, changed: Iterable[bytes], new: Iterable[bytes], always: Sequence[bytes]
) -> _Differ:
    """Sort what git found by what stands there now. Behind a link to a folder nothing stands."""
    differ = _Differ([], [], [], [])
    wanted = set(changed)
    links: dict[bytes, bool] = {}
    for path in dict.fromkeys([*wanted, *new]):
        if path.endswith(b"/"):
            differ.others.append(path[:-1])
            continue
        facts = None if _behind_link(root, path, links) else _facts(root, path)
        if facts is None:
            differ.gone.append(path)
        elif facts.st_size > LARGEST and stat.S_ISREG(facts.st_mode):
            differ.there.append(path)
        elif path in wanted or is_markdown(path.rpartition(b"/")[2]) or _below(path, always):
            differ.read.append(path)
        else:
            differ.there.append(path)
    return differ


def _facts(root: bytes, path: bytes) -> os.stat_result | None:
    try:
        return os.lstat(root + b"/" + path)
    except OSError:
        return None


def _behind_link(root: bytes, path: bytes, known: dict[bytes, bool]) -> bool:
    """Whether a folder on the way to a path is a link."""
    folder = root
    for name in path.split(b"/")[:-1]:
        folder += b"/" + name
        if folder not in known:
            known[folder] = os.path.islink(folder)  # noqa: PTH114 -- paths are bytes
        if known[folder]:
            return True
    return False


def _below(path: bytes, always: Sequence[bytes]) -> bool:
    return any(path == name or path.startswith(name + b"/") for name in always)


def _unread(view: View) -> bytes:
    """A blob that stands for one that nobody reads: it is too large."""
    return _must(view.git("hash-object", "-w", "--stdin", stdin=b"\0" * (LARGEST + 1))).strip()


def _must(done: Done) -> bytes:
    if done.status:
        raise RepositoryUnreadable(
            f"git could not read the working tree: {done.complaint}", "Run `git status`."
        )
    return done.out
