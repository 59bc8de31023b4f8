"""A working tree as one git tree, which is written into the view alone: nothing in the clone is changed.

What git tracks and nobody touched is taken from the index as it is; only what differs from it, and what
is new, is read. A board that git is told to ignore is linted all the same.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from gatekeeper.errors import RepositoryUnreadable

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from gatekeeper.edges.git import Done, Repository, View

LARGEST_NEW = 1 << 20
"""Bytes of an untracked file that is read; of a larger one only its name counts."""

_EMPTY = {
    "sha1": "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391",
    "sha256": "473a0f4c3be8a93681a267e3b1e9a7dcda1185436fe141f7749120a303721813",
}
_QUIETLY = ("-c", "core.fsmonitor=false", "-c", "core.quotePath=false")


def written(repository: Repository, view: View, always: Sequence[bytes]) -> str:
    """The object name of the working tree as it stands; `always` are folders that count even where they are ignored.

    Raises RepositoryUnreadable where there is no working tree, or git can't read it.
    """
    if repository.bare:
        raise RepositoryUnreadable(
            "this repository is bare, and has no working tree", "Name a commit: --tree COMMIT."
        )
    top = repository.toplevel()
    index = {"GIT_WORK_TREE": os.fspath(top), "GIT_INDEX_FILE": os.fspath(view.path / "index")}
    tracked = _must(repository.git_at(top, *_QUIETLY, "ls-files", "-z", "--stage"))
    _must(view.git_with(index, "update-index", "-z", "--index-info", cwd=top, stdin=_one_each(tracked)))
    changed = _must(
        repository.git_at(
            top, *_QUIETLY, "diff-files", "-z", "--name-only", "--no-renames", "--ignore-submodules=all"
        )
    ).split(b"\0")[:-1]
    fresh = _must(repository.git_at(top, *_QUIETLY, "ls-files", "-z", "--others", "--exclude-standard"))
    specs = [":(top,literal)" + os.fsdecode(folder) for folder in always]
    ignored = _must(repository.git_at(top, *_QUIETLY, "ls-files", "-z", "--others", "--", *specs))
    new = dict.fromkeys(path for path in (fresh + ignored).split(b"\0") if path and not path.endswith(b"/"))
    small, large = _by_size(top, new)
    _must(
        view.git_with(
            index,
            "update-index",
            "-z",
            "--add",
            "--remove",
            "--stdin",
            cwd=top,
            stdin=_listed([*changed, *small]),
        )
    )
    if large:
        empty = _EMPTY[repository.object_format].encode()
        rows = b"".join(b"100644 " + empty + b"\t" + path + b"\0" for path in large)
        _must(view.git_with(index, "update-index", "-z", "--index-info", cwd=top, stdin=rows))
    return _must(view.git_with(index, "write-tree", "--missing-ok", cwd=top)).decode().strip()


def _one_each(staged: bytes) -> bytes:
    """The index's entries, one for each path: of a merge that is not over ours, which is the first behind the base's."""
    entries: dict[bytes, bytes] = {}
    for row in staged.split(b"\0")[:-1]:
        info, _, path = row.partition(b"\t")
        mode, oid, stage = info.split(b" ")
        if path not in entries or stage == b"2":
            entries[path] = mode + b" " + oid + b" 0"
    return b"".join(info + b"\t" + path + b"\0" for path, info in entries.items())


def _by_size(top: Path, paths: Iterable[bytes]) -> tuple[list[bytes], list[bytes]]:
    """Files that are read, and files of which only the name counts. A name that is gone by now is left out."""
    small: list[bytes] = []
    large: list[bytes] = []
    root = os.fsencode(top)
    for path in paths:
        try:
            size = os.lstat(os.path.join(root, path)).st_size  # noqa: PTH118 -- paths are bytes
        except OSError:
            continue
        (small if size <= LARGEST_NEW else large).append(path)
    return small, large


def _listed(paths: Iterable[bytes]) -> bytes:
    return b"".join(path + b"\0" for path in paths)


def _must(done: Done) -> bytes:
    if done.status:
        raise RepositoryUnreadable(
            f"git could not read the working tree: {done.complaint}", "Run `git status`."
        )
    return done.out
