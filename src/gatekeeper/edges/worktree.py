"""A board's files in the user's working tree: found, read, written whole or not at all, and staged.

Every folder is opened one by one without following links, and files are named below the open
folder, so that no link and no rename under our feet leads a write elsewhere. A file comes into being
under a name of its own and is linked to its place when it is whole: nothing that stands there
is ever overwritten, and a crash leaves both copies of a task that moves, never none.
"""

from __future__ import annotations

import errno
import os
import stat
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from gatekeeper import boards
from gatekeeper.edges.git import Repository, run_git
from gatekeeper.errors import GatekeeperError, Refusal, RepositoryUnreadable
from gatekeeper.header import MAX_FILE
from gatekeeper.policy import DEFAULT, Policy, parse_policy
from gatekeeper.snapshot import POLICY_PATH
from gatekeeper.taskname import id_from_name
from gatekeeper.text import listed, shown

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from gatekeeper.edges.git.run import Done
    from gatekeeper.model import State

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_AT_ONCE = 500  # paths on one command line
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC  # a pipe must not keep us waiting
_WRITE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_NO_LINKS = (errno.EPERM, errno.EOPNOTSUPP, errno.ENOTSUP, errno.ENOSYS)
_NEW_FILE = 0o666


class Found(NamedTuple):
    """A task's file on the board: its path from the repository's root, and the state whose folder it is in."""

    path: bytes
    state: State


class Held(NamedTuple):
    """A regular file as it was read. `stamp` tells whether it is still that file, `mode` is its permissions."""

    path: bytes
    data: bytes
    mode: int
    stamp: tuple[int, ...]


class WorkTree:
    """The working tree that a command stands in, wherever in it that is; linked worktrees have their own."""

    def __init__(self, cwd: Path, environ: Mapping[str, str], *, explicit: bool = False) -> None:
        """Find it. Raises RepositoryUnreadable where there is none, PolicyInvalid where its policy can't be read."""
        self.repository = Repository(cwd, environ, explicit=explicit)
        self.top = self._place("--show-toplevel")
        self.policy = self._policy()
        self.layout = boards.by_name(self.policy.layout)

    def _place(self, option: str) -> Path:
        done = self.repository.git("rev-parse", "--path-format=absolute", option)
        if done.status:
            raise RepositoryUnreadable(
                f"there is no working tree at {str(self.repository.cwd)!r}",
                "Task files are written in a working tree: run this in a clone or a worktree that has one.",
            )
        return Path(os.fsdecode(done.out.removesuffix(b"\n")))

    def _policy(self) -> Policy:
        """The working tree's own policy: what is written here is held against it once it is merged."""
        from gatekeeper.rules import Codes  # noqa: PLC0415 -- most repositories have no policy file

        try:
            held = self.read(POLICY_PATH)
        except FileNotFoundError:
            return DEFAULT
        return parse_policy(held.data, Codes.adjustable, Codes.known)

    # -- looking ---------------------------------------------------------------------------------

    def files(self) -> Iterator[Found]:
        """Every task file of the board, whatever it holds, by state and name."""
        for state in self.layout.states:
            folder = self.layout.folder(state)
            for name in self._names(folder):
                if self.layout.place(folder + name):
                    yield Found(folder + name, state)

    def find(self, task: str) -> list[Found]:
        """The files whose names say that they are that task."""
        return [found for found in self.files() if id_from_name(found.path) == task]

    def _names(self, folder: bytes) -> list[bytes]:
        with _told(folder):
            try:
                with self._opened(folder) as fd:
                    return sorted(os.fsencode(name) for name in os.listdir(fd))  # noqa: PTH208 -- by its descriptor
            except FileNotFoundError:
                return []

    def holds(self, path: bytes) -> bool:
        """Whether anything stands at a path."""
        folder, name = os.path.split(path)
        with _told(path):
            try:
                with self._opened(folder) as fd:
                    os.stat(name, dir_fd=fd, follow_symlinks=False)
            except FileNotFoundError:
                return False
        return True

    def read(self, path: bytes) -> Held:
        """A regular file. Raises FileNotFoundError, or Refusal where it is a link or anything else."""
        folder, name = os.path.split(path)
        with _told(path), self._opened(folder) as parent:
            fd = os.open(name, _READ, dir_fd=parent)
            with os.fdopen(fd, "rb") as file:
                facts = os.fstat(fd)
                if not stat.S_ISREG(facts.st_mode):
                    raise _no_file(path)
                data = file.read(MAX_FILE + 1)  # one byte more is enough for the reader to refuse it
        return Held(path, data, stat.S_IMODE(facts.st_mode), _stamp(facts))

    # -- writing ---------------------------------------------------------------------------------

    def create(self, path: bytes, data: bytes, mode: int | None = None) -> None:
        """Write a new file, whole and on disk before it is seen. Raises Refusal where something stands there."""
        folder, name = os.path.split(path)
        with _told(path), self._opened(folder, make=True) as parent:
            hidden = _hidden(parent, data, mode)
            try:
                _into_place(hidden, name, parent)
            except FileExistsError:
                raise Refusal(
                    f"{shown(path)} is there already, and nothing is overwritten",
                    "Look at both, and delete one.",
                ) from None
            finally:
                with suppress(FileNotFoundError):
                    os.unlink(hidden, dir_fd=parent)
            os.fsync(parent)

    def move(self, old: Held, path: bytes, data: bytes) -> None:
        """Write `data` at `path` and take the old file away, if it is still the one that was read.

        Raises Refusal where something stands at `path`, or the old file was changed in the meantime.
        """
        self.create(path, data, old.mode)
        try:
            self.drop(old)
        except Refusal:
            self.drop(self.read(path))
            raise

    def rewrite(self, held: Held, data: bytes) -> None:
        """Put other bytes in a file's place, whole. Raises Refusal where it is no longer the one that was read."""
        folder, name = os.path.split(held.path)
        with _told(held.path), self._opened(folder) as parent:
            hidden = _hidden(parent, data, held.mode)
            try:
                if _stamp(os.stat(name, dir_fd=parent, follow_symlinks=False)) != held.stamp:
                    raise Refusal(f"{shown(held.path)} was changed by someone else just now", "Try again.")
                os.rename(hidden, name, src_dir_fd=parent, dst_dir_fd=parent)
            finally:
                with suppress(FileNotFoundError):
                    os.unlink(hidden, dir_fd=parent)

    def drop(self, held: Held) -> None:
        """Delete a file. Raises Refusal where it is no longer the one that was read."""
        folder, name = os.path.split(held.path)
        changed = Refusal(f"{shown(held.path)} was changed by someone else just now", "Try again.")
        with _told(held.path):
            try:
                with self._opened(folder) as parent:
                    if _stamp(os.stat(name, dir_fd=parent, follow_symlinks=False)) != held.stamp:
                        raise changed
                    os.unlink(name, dir_fd=parent)
                    os.fsync(parent)
            except FileNotFoundError:
                raise changed from None

    # -- the index -------------------------------------------------------------------------------

    def differing(self, paths: Sequence[bytes]) -> frozenset[bytes]:
        """Those of some paths that differ from HEAD, in the index or in the working tree."""
        specs = [":(top,literal)" + os.fsdecode(path) for path in paths]
        found: set[bytes] = set()
        for start in range(0, len(specs), _AT_ONCE):
            done = self.repository.git(
                "diff",
                "--name-only",
                "--no-ext-diff",
                "--ignore-submodules=all",
                "--no-renames",
                "-z",
                "HEAD",
                "--",
                *specs[start : start + _AT_ONCE],
            )
            if done.status:
                raise RepositoryUnreadable(f"git could not compare: {done.complaint}", "Run `git status`.")
            found |= set(done.out.split(b"\0")[:-1])
        return frozenset(found)

    def stage(self, paths: Sequence[bytes]) -> None:
        """Put into the index how these paths stand now, gone or there, and no others. One step, all or none.

        Raises GatekeeperError where git can't, as while another git holds the index.
        """
        done = self._git(["update-index", "--add", "--remove", "-z", "--stdin"], paths)
        if done.status:
            raise GatekeeperError(
                f"the files are written, but git could not stage them: {done.complaint}",
                f"Then run this again, or stage them: git add -A {shown(self.layout.tasks)}",
            )

    def unstaged(self, paths: Sequence[bytes]) -> set[bytes]:
        """Those of the paths that are in the index and gone, or there and not in the index."""
        return set(self._listed("--deleted", "--others", paths=paths))

    def refuse_unmerged(self, paths: Sequence[bytes]) -> None:
        """Raise Refusal where a merge left two versions of a path: staging it would say that they are reconciled."""
        left = {row.partition(b"\t")[2] for row in self._listed("--unmerged", paths=paths)}
        if left:
            raise Refusal(
                f"a merge conflict in {listed([shown(path) for path in sorted(left)])} is not resolved",
                "Resolve it, say so with `git add`, and run this again.",
            )

    def _listed(self, *which: str, paths: Sequence[bytes]) -> list[bytes]:
        """What `ls-files` lists of these paths, as it writes it."""
        names = [os.fsdecode(path) for path in paths]
        done = self._git(["--literal-pathspecs", "ls-files", "-z", *which, "--", *names])
        if done.status:
            raise RepositoryUnreadable(f"git can't read its index: {done.complaint}", "Run git status.")
        return [row for row in done.out.split(b"\0") if row]

    def _git(self, args: Sequence[str], paths: Sequence[bytes] = ()) -> Done:
        """Run git at the top, whatever the folder that we stand in; paths go to its standard input."""
        place = {"GIT_DIR": str(self._place("--absolute-git-dir")), "GIT_WORK_TREE": str(self.top)}
        stdin = b"".join(path + b"\0" for path in paths)
        return run_git(args, env=self.repository.env | place, cwd=self.top, stdin=stdin)

    @contextmanager
    def _opened(self, folder: bytes, *, make: bool = False) -> Iterator[int]:
        """A folder below the top, opened through no link; made where it is missing and `make` is said."""
        fd = os.open(self.top, _FOLDER)
        try:
            for part in folder.strip(b"/").split(b"/"):
                if make:
                    with suppress(FileExistsError):
                        os.mkdir(part, dir_fd=fd)
                above = fd
                fd = _step(part, above, folder)
                os.close(above)
            yield fd
        finally:
            os.close(fd)


def _step(part: bytes, above: int, folder: bytes) -> int:
    """A folder's descriptor below another's."""
    try:
        return os.open(part, _FOLDER | os.O_NOFOLLOW, dir_fd=above)
    except OSError as why:
        if why.errno not in (errno.ELOOP, errno.ENOTDIR):
            raise
        raise Refusal(
            f"{shown(part)} on the way to {shown(folder)} is a symlink or a file, and has to be a folder",
            "Put a real folder there.",
        ) from None


def _hidden(parent: int, data: bytes, mode: int | None) -> bytes:
    """A file in a folder that nobody looks for, written whole and on disk; its name."""
    hidden = f".{os.urandom(8).hex()}.gatekeeper".encode()
    fd = os.open(hidden, _WRITE, _NEW_FILE, dir_fd=parent)
    try:
        with os.fdopen(fd, "wb") as file:
            file.write(data)
            if mode is not None:
                os.fchmod(fd, mode)
            file.flush()
            os.fsync(fd)
    except BaseException:
        with suppress(FileNotFoundError):
            os.unlink(hidden, dir_fd=parent)
        raise
    return hidden


def _into_place(hidden: bytes, name: bytes, parent: int) -> None:
    """Give a whole file its name, which must be free. Raises FileExistsError."""
    try:
        os.link(hidden, name, src_dir_fd=parent, dst_dir_fd=parent, follow_symlinks=False)
    except OSError as why:
        if why.errno not in _NO_LINKS:
            raise
        # A file system without hard links: look first, then rename, which would overwrite.
        with suppress(FileNotFoundError):
            os.stat(name, dir_fd=parent, follow_symlinks=False)
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST)) from None
        os.rename(hidden, name, src_dir_fd=parent, dst_dir_fd=parent)


def _stamp(facts: os.stat_result) -> tuple[int, ...]:
    return facts.st_dev, facts.st_ino, facts.st_size, facts.st_mtime_ns, facts.st_mode


@contextmanager
def _told(path: bytes) -> Iterator[None]:
    """What the file system refuses, in words. A file that is not there stays a FileNotFoundError."""
    try:
        yield
    except FileNotFoundError:
        raise
    except OSError as why:
        if why.errno == errno.ELOOP:
            raise _no_file(path) from None
        raise GatekeeperError(
            f"{shown(path)} can't be read or written: {why.strerror}",
            "Look at its permissions, and at the disk.",
        ) from None


def _no_file(path: bytes) -> Refusal:
    return Refusal(
        f"{shown(path)} is no regular file, and a board's files have to be", "Put a real file there."
    )
