"""Starting git: its environment, its version, and what it leaves behind."""

from __future__ import annotations

import os
import re
import subprocess
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from gatekeeper.errors import RepositoryUnreadable
from gatekeeper.model import ABSENT, FOLDER, GITLINK, REGULAR, SYMLINK, Change

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

OLDEST_GIT = (2, 38)
"""The first git with `merge-tree --write-tree` and `cat-file --batch-command -z`."""

_USAGE = 129  # git's exit status for options that it does not know

# What a user's environment may say to git: how to reach a remote, and what their own settings are.
# Everything else of GIT_* (another index, another object folder, a hook's GIT_DIR) stays outside.
_KEPT = re.compile(
    r"GIT_(SSH|SSH_COMMAND|SSH_VARIANT|ASKPASS|PROXY_COMMAND|PROXY_SSL_.*|SSL_.*|HTTP_.*|CURL_.*|ALLOW_PROTOCOL"
    r"|PROTOCOL_FROM_USER|CONFIG_GLOBAL|CONFIG_SYSTEM|CONFIG_NOSYSTEM|CONFIG_COUNT|CONFIG_KEY_\d+|CONFIG_VALUE_\d+"
    r"|CONFIG_PARAMETERS|CEILING_DIRECTORIES|DISCOVERY_ACROSS_FILESYSTEM|EXEC_PATH|TRACE.*|TEST_.*)",
)
_ALWAYS = {
    "LC_ALL": "C",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_OPTIONAL_LOCKS": "0",
}


class Done(NamedTuple):
    """A git process that has ended: its exit status and what it wrote, as bytes."""

    status: int
    out: bytes
    err: bytes

    @property
    def complaint(self) -> str:
        """What git says is wrong, and where it does not, its last lines; on one line, for a message of ours."""
        lines = [line.strip() for line in self.err.decode("utf-8", "replace").splitlines() if line.strip()]
        fatal = next((i for i, line in enumerate(lines) if line.startswith("fatal: ")), len(lines))
        begin = max(min(fatal, len(lines) - 3), 0)
        return "; ".join(lines[begin : begin + 3])[:300]


def base_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """`environ` without whatever of GIT_* would point git elsewhere, and with what every call needs.

    Git is looked for on its PATH, and looks there itself for ssh and others.
    """
    kept = {k: v for k, v in environ.items() if not k.startswith("GIT_") or _KEPT.fullmatch(k)}
    return kept | _ALWAYS | absolute_path(environ)


def absolute_path(environ: Mapping[str, str]) -> dict[str, str]:
    """The PATH of an environment for programs that we start: a relative entry would be the repository's own.

    `{"PATH": …}`, empty where none is set; if nothing is left of it, one on which nothing can be found.
    """
    if "PATH" not in environ:
        return {}
    folders = [folder for folder in environ["PATH"].split(os.pathsep) if folder.startswith("/")]
    return {"PATH": os.pathsep.join(folders) or os.devnull}


_UNFINISHED: set[subprocess.Popen[bytes]] = set()


class Running:
    """A git process that was started and is not waited for until `done`. One that nobody asks any more is ended."""

    over = False
    """Whether the command is being left: a git that is started all the same is ended at once."""

    def __init__(self, process: subprocess.Popen[bytes], stdin: bytes, env: Mapping[str, str]) -> None:
        _UNFINISHED.add(process)
        if Running.over:
            process.kill()
        self._process = process
        self._stdin = stdin
        self._env = env
        self._done: Done | None = None

    def __del__(self) -> None:
        self.stop()

    def stop(self) -> None:
        """End the process if nobody asked what it found."""
        if self._process.returncode is None:
            with suppress(OSError, ValueError):  # its pipes may be closed by now
                self._process.kill()
                self._process.communicate()
        _UNFINISHED.discard(self._process)

    def done(self, timeout: float | None = None) -> Done:
        """Wait for the process; after `timeout` seconds it is killed, which reads as status 124.

        Raises RepositoryUnreadable where a git that is too old did not know what it was asked.
        """
        if self._done is None:
            self._done = self._wait(timeout)
            _UNFINISHED.discard(self._process)
        return self._done

    def _wait(self, timeout: float | None) -> Done:
        try:
            out, err = self._process.communicate(self._stdin or None, timeout)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.communicate()
            return Done(124, b"", b"git did not answer in time")
        if self._process.returncode == _USAGE:
            refuse_old_git(self._env)
        return Done(self._process.returncode, out, err)


def end_all() -> None:
    """End every git that still runs, in whatever thread: the command is left, and nobody waits for an answer any more."""
    Running.over = True
    for process in list(_UNFINISHED):
        with suppress(OSError):  # it has ended by itself
            process.kill()


def start_git(
    args: Sequence[str], *, env: Mapping[str, str], cwd: Path | None = None, stdin: bytes = b""
) -> Running:
    """Start git with `args`, never through a shell, so that several run at once.

    Raises RepositoryUnreadable where there is no git, or no such folder.
    """
    pipe = subprocess.PIPE
    try:
        process = subprocess.Popen(
            ["git", *args],  # noqa: S607
            env=env,
            cwd=cwd,
            stdin=pipe if stdin else subprocess.DEVNULL,
            stdout=pipe,
            stderr=pipe,
        )
    except (FileNotFoundError, NotADirectoryError):
        if cwd is not None and not cwd.is_dir():
            raise RepositoryUnreadable(f"there is no folder {str(cwd)!r}", "Name a git repository.") from None
        raise RepositoryUnreadable(
            "the git program is not on the PATH", "Install git 2.38 or later."
        ) from None
    except (OSError, ValueError) as why:
        raise RepositoryUnreadable(
            f"git could not be run: {why}", "Look at the arguments and the folder."
        ) from why
    return Running(process, stdin, env)


def run_git(
    args: Sequence[str],
    *,
    env: Mapping[str, str],
    cwd: Path | None = None,
    stdin: bytes = b"",
    timeout: float | None = None,
) -> Done:
    """Start git and wait for it, as `start_git` and `Running.done`."""
    return start_git(args, env=env, cwd=cwd, stdin=stdin).done(timeout)


def refuse_old_git(env: Mapping[str, str]) -> None:
    """Raise RepositoryUnreadable if the git on the PATH is too old.

    Asked where git did not understand us, and not before every command: a process is a millisecond.
    """
    version = run_git(["version"], env={**env, **absolute_path(env)}).out
    found = re.search(rb"git version (\d+)\.(\d+)", version)
    if found is None:
        raise RepositoryUnreadable("git does not say its version", "Install git 2.38 or later.")
    if (int(found[1]), int(found[2])) < OLDEST_GIT:
        name = f"{int(found[1])}.{int(found[2])}"
        raise RepositoryUnreadable(
            f"this git is version {name}, and gatekeeper needs 2.38 or later",
            "Upgrade git: `merge-tree --write-tree` came with 2.38.",
        )


REF_FORMAT = "--format=%(refname)%00%(objectname)%00%(objecttype)%00%(symref)"
SYMBOLIC = "symbolic ref"
"""Stands for the object type of a ref that only points at another ref, whatever that one holds."""


def parse_refs(done: Done) -> list[tuple[str, str, str]]:
    """What `for-each-ref` printed, as `(ref, object name, object type)`; the type is SYMBOLIC where the ref is."""
    if done.status:
        raise RepositoryUnreadable(f"git can't list its refs: {done.complaint}", "Run `git fsck`.")
    if b"ignoring " in done.err:  # a claim that can't be read is not "no claim"
        raise RepositoryUnreadable(
            f"git can't read a ref: {done.complaint}",
            "Delete it with `git update-ref -d`, or fetch it again.",
        )
    rows = (line.split("\0") for line in os.fsdecode(done.out).split("\n") if line)
    return [(ref, oid, SYMBOLIC if target else kind) for ref, oid, kind, target in rows]


def as_environment(settings: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Settings for one call of git, as its environment takes them."""
    pairs = list(settings)
    numbered = {"GIT_CONFIG_COUNT": str(len(pairs))} if pairs else {}
    for number, (name, value) in enumerate(pairs):
        numbered |= {f"GIT_CONFIG_KEY_{number}": name, f"GIT_CONFIG_VALUE_{number}": value}
    return numbered


class _Modes(dict[bytes, int]):
    """The modes that git's diffs name, read once: there are six of them, and two in every line."""

    def __missing__(self, octal: bytes) -> int:
        return int(octal, 8)


_MODES = _Modes({b"%06o" % mode: mode for mode in (0, *REGULAR, FOLDER, SYMLINK, GITLINK)})


def parse_changes(raw: bytes) -> list[Change]:
    """What `--raw -z --no-abbrev --no-renames` printed, as changes."""
    modes, make, new = _MODES, Change, tuple.__new__
    parts = raw.split(b"\0")
    size = (len(parts[0]) - len(b":100644 100644   M")) // 2  # of an object name
    a, b, c = 15 + size, 16 + size, 16 + 2 * size
    found = [
        new(make, (path, modes[line[1:7]], modes[line[8:14]], line[15:a].decode(), line[b:c].decode()))
        for line, path in zip(parts[::2], parts[1::2], strict=False)
    ]
    return [_absent(change) if 0 in change else change for change in found]


def _absent(change: Change) -> Change:
    """A change with no object named where there is no entry."""
    old = change.old_oid if change.old_mode else ABSENT
    return change._replace(old_oid=old, new_oid=change.new_oid if change.new_mode else ABSENT)
