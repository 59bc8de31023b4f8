"""Reading objects by their names through one git process that stays open."""

from __future__ import annotations

import re
import subprocess
from typing import IO, TYPE_CHECKING, NamedTuple

from gatekeeper.edges.git.run import refuse_old_git
from gatekeeper.errors import HistoryMissing, RepositoryUnreadable
from gatekeeper.model import FOLDER, GITLINK, REGULAR, SYMLINK

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

LARGEST_BLOB = 1 << 20
"""Bytes of a blob that are read into memory; whatever is larger is no file of a board."""

OID = re.compile(rb"[0-9a-f]{40}(?:[0-9a-f]{24})?")
"""A full object name, SHA-1 or SHA-256."""

_TREE_ENTRY = {
    20: re.compile(rb"([0-7]+) ([^\0]+)\0(.{20})", re.DOTALL),
    32: re.compile(rb"([0-7]+) ([^\0]+)\0(.{32})", re.DOTALL),
}

# Parents stand right behind the tree: git takes no later line for one, so neither do we.
_COMMIT = re.compile(
    rb"tree (?P<tree>[0-9a-f]+)\n(?P<parents>(?:parent [0-9a-f]+\n)*)"
    rb"(?:(?!\n)[^\n]*\n)*?(?:committer (?P<committer>[^\n]*)\n|\n|\Z)"
)


def _mode(octal: bytes) -> int:
    """An entry's mode as git reads it: of a file's permissions only whether its owner may run it."""
    mode = int(octal, 8)
    kind = mode & 0o170000
    if kind == 0o100000:  # noqa: PLR2004
        return REGULAR[1] if mode & 0o100 else REGULAR[0]
    return kind if kind in (FOLDER, SYMLINK) else GITLINK


class Commit(NamedTuple):
    """A commit's tree, parents (as written in it, whatever a shallow file says) and committer date (Unix seconds)."""

    oid: str
    tree: str
    parents: tuple[str, ...]
    committed: int


class Objects:
    """Reads objects by name through one `git cat-file` that stays open.

    Only full object names are ever asked for: a path from a tree is walked here, entry by
    entry, so that nothing hostile is parsed by git as a revision.
    """

    def __init__(self, env: Mapping[str, str], cwd: Path | None, raw_size: int) -> None:
        self._env = env
        self._process = subprocess.Popen(
            ["git", "cat-file", "--batch-command=%(objectname) %(objecttype) %(objectsize)", "--buffer"],  # noqa: S607
            env=env,
            cwd=cwd,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        self._entry = _TREE_ENTRY[raw_size]
        self._trees: dict[str, dict[bytes, tuple[int, str]]] = {}

    def close(self) -> None:
        """End the process."""
        for stream in (self._process.stdin, self._process.stdout):
            if stream:
                stream.close()
        self._process.wait()

    def _ask(self, command: str, oids: Sequence[str]) -> Iterator[tuple[str, str, int]]:
        """Send one command for each of `oids`; yield name, type and size of each answer in order."""
        out = self._pipe(self._process.stdin)
        out.write("".join(f"{command} {oid}\n" for oid in oids).encode() + b"flush\n")
        out.flush()
        for oid in oids:
            line = self._pipe(self._process.stdout).readline().split()
            if len(line) == 3:  # noqa: PLR2004 -- name, type and size
                yield oid, line[1].decode(), int(line[2])
            elif line[1:2] == [b"missing"]:
                yield oid, "missing", 0
            else:
                if not line:
                    refuse_old_git(self._env)
                raise HistoryMissing(f"git can't read object {oid[:12]}", "Run `git fsck`, or fetch again.")

    @staticmethod
    def _pipe(stream: IO[bytes] | None) -> IO[bytes]:
        if stream is None:
            raise RepositoryUnreadable("git's object reader has gone", "Run the command again.")
        return stream

    def kinds(self, oids: Iterable[str]) -> dict[str, tuple[str, int]]:
        """The type (or `missing`) and the size in bytes of each object."""
        answers: dict[str, tuple[str, int]] = {}
        for batch in _batches([oid for oid in oids if OID.fullmatch(oid.encode())]):
            answers |= {oid: (kind, size) for oid, kind, size in self._ask("info", batch)}
        return answers

    def blobs(self, oids: Iterable[str]) -> dict[str, bytes | None]:
        """The contents of each blob; None for what is no blob or larger than LARGEST_BLOB.

        Raises HistoryMissing for a blob that is not there.
        """
        sizes = self.kinds(dict.fromkeys(oids))
        for oid, (kind, _) in sizes.items():
            if kind == "missing":
                raise HistoryMissing(f"blob {oid[:12]} is not in this repository", "Fetch it: git fetch.")
        small = [oid for oid, (kind, size) in sizes.items() if kind == "blob" and size <= LARGEST_BLOB]
        found: dict[str, bytes | None] = dict.fromkeys(sizes)
        for batch in _batches(small):
            for oid, _, size in self._ask("contents", batch):
                found[oid] = self._read(size)
        return found

    def blob(self, oid: str) -> bytes | None:
        """The contents of one blob, as `blobs`."""
        return self.blobs([oid])[oid]

    def _read(self, size: int) -> bytes:
        data = self._pipe(self._process.stdout).read(size + 1)
        if len(data) != size + 1:
            raise RepositoryUnreadable("git's object reader ended early", "Run `git fsck`.")
        return data[:-1]

    def _typed(self, oid: str, kind: str) -> bytes:
        ((_, found, size),) = self._ask("contents", [oid])
        data = self._read(size) if found != "missing" else b""
        if found != kind:
            hint = "Fetch the whole history: git fetch --unshallow (or fetch-depth: 0)."
            raise HistoryMissing(f"{kind} {oid[:12]} is not in this repository", hint)
        return data

    def commit(self, oid: str) -> Commit:
        """A commit. Raises HistoryMissing where it is not there."""
        found = _COMMIT.match(self._typed(oid, "commit"))
        if found is None:
            raise RepositoryUnreadable(f"commit {oid[:12]} is malformed", "Run `git fsck`.")
        parents = tuple(line[7:].decode() for line in found["parents"].splitlines())
        date = re.search(rb"> (-?\d{1,18}) [-+]\d+$", found["committer"] or b"")
        return Commit(oid, found["tree"].decode(), parents, int(date[1]) if date else 0)

    def tree(self, oid: str) -> dict[bytes, tuple[int, str]]:
        """A tree's entries: name → mode and object name."""
        if oid not in self._trees:
            entries = self._entry.findall(self._typed(oid, "tree"))
            self._trees[oid] = {name: (_mode(mode), raw.hex()) for mode, name, raw in entries}
            if len(self._trees[oid]) != len(entries):
                raise RepositoryUnreadable(f"tree {oid[:12]} names an entry twice", "Run `git fsck`.")
        return self._trees[oid]

    def entry(self, tree: str, path: bytes) -> tuple[int, str] | None:
        """Mode and object name of `path` in `tree`; None where it is not there. The empty path is the tree itself."""
        here = (FOLDER, tree)
        for name in path.split(b"/") if path else []:
            if here[0] != FOLDER:  # a file, a link or a submodule holds nothing that we could walk
                return None
            found = self.tree(here[1]).get(name)
            if found is None:
                return None
            here = found
        return here

    def walk(self, tree: str, path: bytes) -> Iterator[tuple[bytes, int, str]]:
        """Every entry below the folder `path` of `tree`, folders themselves left out, as path, mode, object name."""
        found = self.entry(tree, path)
        if found is None or found[0] != FOLDER:
            return
        open_ = [
            (path, iter(self.tree(found[1]).items()))
        ]  # no recursion: folders may be nested thousands deep
        while open_:
            folder, entries = open_[-1]
            for name, (mode, oid) in entries:
                below = folder + b"/" + name if folder else name
                if mode == FOLDER:
                    open_.append((below, iter(self.tree(oid).items())))
                    break
                yield below, mode, oid
            else:
                open_.pop()


def _batches(oids: Sequence[str], size: int = 200) -> Iterator[Sequence[str]]:
    """So few at a time that the questions fit in the pipe while nobody reads the answers."""
    for start in range(0, len(oids), size):
        yield oids[start : start + size]
