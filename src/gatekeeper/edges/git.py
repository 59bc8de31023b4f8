"""The git program: the only caller of it, and how its objects are read.

Two kinds of repository meet here. `Repository` is the user's own, as they set it
up; it is asked for refs and settings and never written. `View` is a bare
repository of ours in a temporary folder, over the same objects: merges, diffs and
history are computed there under settings that nobody else can change (CONTRACT 1),
so no attribute, replace ref, graft, hook or option of the user's or of the head's
has a say, and what the merge writes is thrown away with the folder.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from gatekeeper.errors import HistoryMissing, RepositoryUnreadable
from gatekeeper.model import ABSENT, Change

OLDEST_GIT = (2, 38)
"""The first git with `merge-tree --write-tree` and `cat-file --batch-command -z`."""

LARGEST_BLOB = 1 << 20
"""Bytes of a blob that are read into memory; whatever is larger is no file of a board."""

_EMPTY_TREE = {
    "sha1": "4b825dc642cb6eb9a060e54bf8d69288fbee4904",
    "sha256": "6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321",
}
_OID = re.compile(rb"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_TREE_ENTRY = {20: re.compile(rb"([0-7]+) ([^\0]+)\0(.{20})", re.S), 32: re.compile(rb"([0-7]+) ([^\0]+)\0(.{32})", re.S)}

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
_PINNED = {
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_SYSTEM": os.devnull,
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_GRAFT_FILE": os.devnull,
}
# How a remote is reached is the user's to say, in a view as well.
_TRANSPORT = re.compile(
    r"(remote\.(?P<remote>.+)\.(url|proxy|proxyauthmethod|uploadpack|vcs|serveroption)"
    r"|url\..*|http\..*|credential\..*|ssh\..*|protocol\..*|core\.(sshcommand|gitproxy|askpass))",
    re.S,
)

_VIEW_CONFIG = """\
[core]
\trepositoryformatversion = 1
\tbare = true
\tattributesFile = /dev/null
\thooksPath = /dev/null
\tfsmonitor = false
\tlogAllRefUpdates = false
\tuseReplaceRefs = false
\talternateRefsPrefixes = refs/heads/ refs/remotes/
[extensions]
\tobjectFormat = {object_format}
[protocol]
\tversion = 2
[gc]
\tauto = 0
[maintenance]
\tauto = false
[fetch]
\trecurseSubmodules = false
\twriteCommitGraph = false
[advice]
\tgraftFileDeprecated = false
"""


@dataclass(frozen=True, slots=True)
class Done:
    """A git process that has ended: its exit status and what it wrote, as bytes."""

    status: int
    out: bytes
    err: bytes

    @property
    def complaint(self) -> str:
        """The last lines of standard error on one line, for a message of ours."""
        lines = [line.strip() for line in self.err.decode("utf-8", "replace").splitlines() if line.strip()]
        return "; ".join(lines[-3:])[:300]


def base_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """`environ` without whatever of GIT_* would point git elsewhere, and with what every call needs."""
    kept = {k: v for k, v in environ.items() if not k.startswith("GIT_") or _KEPT.fullmatch(k)}
    return kept | _ALWAYS


def run_git(
    args: Sequence[str],
    *,
    env: Mapping[str, str],
    cwd: Path | None = None,
    stdin: bytes = b"",
    timeout: float | None = None,
) -> Done:
    """Run git with `args`, never through a shell. Raises RepositoryUnreadable where there is no git."""
    try:
        done = subprocess.run(  # noqa: PLW1510 -- the status is the answer
            ["git", *args], env=env, cwd=cwd, input=stdin, capture_output=True, timeout=timeout  # noqa: S607
        )
    except FileNotFoundError:
        if cwd is not None and not cwd.is_dir():
            raise RepositoryUnreadable(f"there is no folder {str(cwd)!r}", "Name a git repository.") from None
        raise RepositoryUnreadable("the git program is not on the PATH", "Install git 2.38 or later.") from None
    except subprocess.TimeoutExpired:
        return Done(124, b"", b"git did not answer in time")
    except (OSError, ValueError) as why:
        raise RepositoryUnreadable(f"git could not be run: {why}", "Look at the arguments and the folder.") from why
    return Done(done.returncode, done.stdout, done.stderr)


def check_version(version: bytes) -> None:
    """Raise RepositoryUnreadable if `git version`'s answer names a git that is too old, or none."""
    found = re.search(rb"git version (\d+)\.(\d+)", version)
    if found is None:
        raise RepositoryUnreadable("git does not say its version", "Install git 2.38 or later.")
    if (int(found[1]), int(found[2])) < OLDEST_GIT:
        name = f"{int(found[1])}.{int(found[2])}"
        raise RepositoryUnreadable(
            f"this git is version {name}, and gatekeeper needs 2.38 or later",
            "Upgrade git: `merge-tree --write-tree` came with 2.38.",
        )


class Repository:
    """The user's repository: its place, settings and refs. Nothing is ever written to it here."""

    def __init__(self, cwd: Path, environ: Mapping[str, str], *, explicit: bool = False) -> None:
        """Find the repository that `cwd` stands in; with `explicit` the environment's GIT_DIR is ignored.

        Raises RepositoryUnreadable where there is none that git would open.
        """
        self.cwd = cwd
        self.env = base_environment(environ)
        if not explicit and "GIT_DIR" in environ:
            self.env |= {k: environ[k] for k in ("GIT_DIR", "GIT_WORK_TREE", "GIT_COMMON_DIR") if k in environ}
        version = _start(["version"], self.env)
        facts = ["--git-common-dir", "--show-object-format", "--is-shallow-repository", "--is-bare-repository"]
        done = run_git(["rev-parse", "--path-format=absolute", *facts], env=self.env, cwd=cwd)
        check_version(version.communicate()[0])
        if done.status:
            raise _unopened(done, cwd)
        common, self.object_format, shallow, bare = os.fsdecode(done.out).split("\n")[:4]
        self.common_dir = Path(common)
        self.shallow = shallow == "true"
        self.bare = bare == "true"
        self._config: dict[str, list[str]] | None = None

    def git(self, *args: str, stdin: bytes = b"") -> Done:
        """Run git in the repository, under its owner's settings."""
        return run_git(args, env=self.env, cwd=self.cwd, stdin=stdin)

    @property
    def config(self) -> dict[str, list[str]]:
        """Every setting in force, by lower-case name (subsections as written), in order."""
        if self._config is None:
            self._config = {}
            for item in self.git("config", "--list", "-z").out.split(b"\0"):
                name, _, value = os.fsdecode(item).partition("\n")
                if name:
                    self._config.setdefault(name, []).append(value)
        return self._config

    def remotes(self) -> list[str]:
        """The names of the configured remotes."""
        names = (re.fullmatch(r"remote\.(.+)\.url", key, re.S) for key in self.config)
        return [found[1] for found in names if found]

    def toplevel(self) -> Path:
        """The working tree's root, or where we stand in a bare repository; relative URLs start there."""
        if self.bare:
            return self.cwd
        return Path(os.fsdecode(self.git("rev-parse", "--show-toplevel").out.rstrip(b"\n")) or self.cwd)

    def transport(self, remote: str) -> list[tuple[str, str]]:
        """The settings by which git reaches `remote`, to be used in a view."""
        wanted = []
        for name, values in self.config.items():
            found = _TRANSPORT.fullmatch(name)
            if found and found["remote"] in (None, remote):
                wanted += [(name, value) for value in values]
        return wanted

    def resolve(self, names: Sequence[str]) -> dict[str, str]:
        """The commit that each of `names` stands for; a name that stands for none is left out.

        A plain name is a branch before it is a remote's branch, and that before anything else
        that git would take it for: a tag of the base branch's name changes nothing.
        """
        spelt = {n: [n] if n.startswith("refs/") else [f"refs/heads/{n}", f"refs/remotes/{n}", n] for n in names}
        asked = [name for forms in spelt.values() for name in forms if not re.search(r"[\0\n]", name)]
        command = ["cat-file", "--batch-check=%(objectname)", "-z"]
        done = self.git(*command, stdin=b"".join(os.fsencode(n) + b"^{commit}\0" for n in asked))
        if done.status:
            raise RepositoryUnreadable(f"git can't read its objects: {done.complaint}", "Run `git fsck`.")
        answers = dict(zip(asked, done.out.split(b"\n"), strict=False))
        found = {}
        for name, forms in spelt.items():
            oids = [answers[form].decode() for form in forms if _OID.fullmatch(answers.get(form, b""))]
            if oids:
                found[name] = oids[0]
        return found

    def branch(self) -> str | None:
        """The branch that is checked out here; None where HEAD is detached."""
        done = self.git("symbolic-ref", "-q", "HEAD")
        name = os.fsdecode(done.out.rstrip(b"\n"))
        return name.removeprefix("refs/heads/") if name.startswith("refs/heads/") else None

    def remote_head(self, remote: str) -> str | None:
        """The default branch of `remote` as this clone last heard of it."""
        done = self.git("symbolic-ref", "-q", f"refs/remotes/{remote}/HEAD")
        name = os.fsdecode(done.out.rstrip(b"\n"))
        return name.removeprefix(f"refs/remotes/{remote}/") if name else None

    def refs(self, patterns: Sequence[str]) -> list[tuple[str, str, str]]:
        """`(ref, object name, object type)` of what stands at or below each of `patterns`."""
        return parse_refs(self.git("for-each-ref", _REF_FORMAT, *patterns))

    def uncommitted(self) -> subprocess.Popen[bytes] | None:
        """A git that looks for uncommitted changes while we do something else; None in a bare repository."""
        if self.bare:
            return None
        flags = ["--porcelain", "-z", "--no-renames", "--ignore-submodules=all"]
        return _start(["-c", "core.fsmonitor=false", "status", *flags], self.env, cwd=self.cwd)


_REF_FORMAT = "--format=%(refname)%00%(objectname)%00%(objecttype)"


def parse_refs(done: Done) -> list[tuple[str, str, str]]:
    """What `for-each-ref` printed, as `(ref, object name, object type)`."""
    if done.status:
        raise RepositoryUnreadable(f"git can't list its refs: {done.complaint}", "Run `git fsck`.")
    rows = (line.split("\0") for line in os.fsdecode(done.out).split("\n") if line)
    return [(ref, oid, kind) for ref, oid, kind in rows]


def _start(args: Sequence[str], env: Mapping[str, str], cwd: Path | None = None) -> subprocess.Popen[bytes]:
    """Start git and don't wait."""
    try:
        return subprocess.Popen(
            ["git", *args],  # noqa: S607
            env=env,
            cwd=cwd,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
    except FileNotFoundError:
        if cwd is not None and not cwd.is_dir():
            raise RepositoryUnreadable(f"there is no folder {str(cwd)!r}", "Name a git repository.") from None
        raise RepositoryUnreadable("the git program is not on the PATH", "Install git 2.38 or later.") from None


def _unopened(done: Done, cwd: Path) -> RepositoryUnreadable:
    """Why git would not open a repository at `cwd`, in our words."""
    if b"dubious ownership" in done.err:
        return RepositoryUnreadable(
            f"the repository at {str(cwd)!r} belongs to another user, and git will not open it",
            "If you trust it: git config --global --add safe.directory FOLDER.",
        )
    if b"not a git repository" in done.err:
        return RepositoryUnreadable(
            f"there is no git repository at {str(cwd)!r}",
            "Run this inside a clone, or name one with --repo DIR.",
        )
    return RepositoryUnreadable(f"git can't open the repository: {done.complaint}", "Run `git status` there.")


@dataclass(frozen=True, slots=True)
class Commit:
    """A commit's tree, parents (as written in it, whatever a shallow file says) and committer date (Unix seconds)."""

    oid: str
    tree: str
    parents: tuple[str, ...]
    committed: int


class View:
    """A bare repository of our own over another's objects (or over none), gone when closed.

    `transport` are settings by which remotes are reached; they go to git in its environment,
    so that no token stands on a command line or in a file. `promisor` is the remote that has the
    objects which are missing here: a merge may fetch blobs from it, and with `lazy_reads` every read may.
    """

    def __init__(
        self,
        environ: Mapping[str, str],
        *,
        objects: Path | None = None,
        object_format: str = "sha1",
        transport: Sequence[tuple[str, str]] = (),
        promisor: str | None = None,
        lazy_reads: bool = False,
        shallow: bytes = b"",
        cwd: Path | None = None,
    ) -> None:
        self.path = Path(tempfile.mkdtemp(prefix="gatekeeper-"))
        self.cwd = cwd
        self.object_format = object_format
        self.joined = False
        """Whether all that base and head have apart from each other is known to be here (`Remote.bring`)."""
        self._environ, self._transport = environ, transport
        (self.path / "objects" / "info").mkdir(parents=True)
        (self.path / "refs").mkdir()
        (self.path / "HEAD").write_text("ref: refs/heads/none\n")
        self.pristine()
        if objects is not None:
            quoted = '"' + str(objects).replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'
            (self.path / "objects" / "info" / "alternates").write_bytes(os.fsencode(quoted) + b"\n")
        if shallow:
            (self.path / "shallow").write_bytes(shallow)
        kept = {k: v for k, v in base_environment(environ).items() if not k.startswith("GIT_CONFIG")}
        self.env = kept | _PINNED | {"GIT_DIR": str(self.path)} | _as_environment(transport)
        lazily = [(f"remote.{promisor}.promisor", "true"), (f"remote.{promisor}.partialclonefilter", "blob:none")]
        self._lazy_env = self.env | _as_environment([*transport, *lazily]) if promisor else self.env
        self._read_env = self._lazy_env if lazy_reads else self.env
        self._objects: Objects | None = None

    def pristine(self) -> None:
        """Write the settings anew: a fetch with a filter adds its own, and they make git fetch behind our back."""
        (self.path / "config").write_text(_VIEW_CONFIG.format(object_format=self.object_format))

    def git(self, *args: str, stdin: bytes = b"", timeout: float | None = None, lazy: bool = False) -> Done:
        """Run git in the view; with `lazy` it may fetch the objects that it lacks from the promisor remote."""
        env = self._lazy_env if lazy else self.env
        return run_git(args, env=env, cwd=self.cwd, stdin=stdin, timeout=timeout)

    @property
    def objects(self) -> Objects:
        """The objects, read through one process that stays open."""
        if self._objects is None:
            self._objects = Objects(self._read_env, self.cwd, 32 if self.object_format == "sha256" else 20)
        return self._objects

    def reopen(self) -> None:
        """Forget the reading process: new objects came in, or the shallow boundary moved."""
        if self._objects is not None:
            self._objects.close()
            self._objects = None

    def close(self) -> None:
        """End the reading process and remove the folder."""
        self.reopen()
        shutil.rmtree(self.path, ignore_errors=True)

    def __enter__(self) -> View:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def boundary(self) -> frozenset[str]:
        """The commits at which history is cut here."""
        try:
            return frozenset((self.path / "shallow").read_text().split())
        except FileNotFoundError:
            return frozenset()

    def set_boundary(self, commits: Iterable[str]) -> None:
        """Say anew at which commits history is cut here."""
        lines = "".join(f"{oid}\n" for oid in commits)
        if lines:
            (self.path / "shallow").write_text(lines)
        else:
            (self.path / "shallow").unlink(missing_ok=True)
        self.reopen()

    def beside(self) -> View:
        """An empty view that reaches the same remotes."""
        return View(self._environ, object_format=self.object_format, transport=self._transport, cwd=self.cwd)

    def refs(self, patterns: Sequence[str]) -> list[tuple[str, str, str]]:
        """As `Repository.refs`, of the view's own refs."""
        return parse_refs(self.git("for-each-ref", _REF_FORMAT, *patterns))

    def merge_tree(self, base: str, head: str) -> tuple[str | None, list[bytes]]:
        """The tree that merging `head` into `base` gives, or None and the paths that conflict.

        Raises HistoryMissing where an object that decides is not there.
        """
        done = self.git("merge-tree", "--write-tree", "-z", "--name-only", "--no-messages", base, head, lazy=True)
        parts = done.out.split(b"\0")
        if done.status == 0:
            return parts[0].decode(), []
        if done.status == 1 and _OID.fullmatch(parts[0]):
            return None, [path for path in parts[1:] if path]
        if b"unrelated histories" in done.err:
            return None, []
        raise HistoryMissing(
            f"git could not merge head into base: {done.complaint}",
            "Fetch the whole history of both: git fetch --unshallow (or fetch-depth: 0).",
        )

    def diff(self, old_tree: str, new_tree: str) -> tuple[Change, ...]:
        """The paths that differ between two trees, renames as two."""
        done = self.git("diff-tree", "-r", "-z", "--raw", "--no-renames", "--no-abbrev", old_tree, new_tree, lazy=True)
        if done.status:
            raise HistoryMissing(f"git could not compare base and merge: {done.complaint}", "Fetch both again.")
        return tuple(_changes(done.out))

    def files(self, tree: str, starts: Sequence[bytes]) -> list[tuple[bytes, int, str]]:
        """The files of `tree` whose path begins with one of `starts`, up to the next slash: path, mode, object name."""
        specs = [b":(top,glob)" + re.sub(rb"([*?\[\]\\])", rb"\\\1", start) + b"*" for start in starts]
        empty = _EMPTY_TREE[self.object_format]
        args = ["diff-tree", "-r", "-z", "--raw", "--no-renames", "--no-abbrev", empty, tree, "--"]
        done = self.git(*args, *(os.fsdecode(spec) for spec in specs), lazy=True)
        if done.status:
            raise HistoryMissing(f"git could not list the board: {done.complaint}", "Fetch base again.")
        return [(change.path, change.new_mode, change.new_oid) for change in _changes(done.out)]

    def is_ancestor(self, ancestor: str, commit: str) -> bool:
        """Whether `ancestor` is `commit` or behind it, in the history that is here."""
        if ancestor == commit:
            return True
        done = self.git("merge-base", "--is-ancestor", ancestor, commit)
        if done.status in (0, 1):
            return done.status == 0
        raise HistoryMissing(f"git could not follow base's history: {done.complaint}", "Fetch the whole history.")

    def oldest_commit(self, base: str, head: str) -> int | None:
        """The earliest committer date (Unix seconds) in `base..head`; None where that is empty."""
        done = self.git("rev-list", "--timestamp", f"{base}..{head}")
        if done.status:
            raise HistoryMissing(f"git could not follow head's history: {done.complaint}", "Fetch the whole history.")
        dates = [int(line.split()[0]) for line in done.out.splitlines()]
        return min(dates, default=None)

    def cut_between(self, base: str, head: str) -> bool:
        """Whether history is cut before base and head meet, so that what they share can't be known."""
        boundary = self.boundary()
        if not boundary or self.joined:
            return False
        done = self.git("rev-list", f"{base}...{head}")
        apart = set(done.out.decode().split())
        return bool(done.status) or any(self.objects.commit(oid).parents for oid in apart & boundary)

    def first_parent_raw(self, since: str, until: str, pathspecs: Sequence[str]) -> list[list[Change]]:
        """What each first-parent commit of `since..until` changed of `pathspecs`, newest first."""
        args = ["log", "-z", "--first-parent", "-m", "--raw", "--no-renames", "--no-abbrev", "--format=%x01"]
        done = self.git(*args, f"{since}..{until}", "--", *pathspecs, lazy=True)
        if done.status:
            raise HistoryMissing(f"git could not follow base's history: {done.complaint}", "Fetch the whole history.")
        return [list(_changes(part.lstrip(b"\0\n"))) for part in done.out.split(b"\x01")[1:]]


def _as_environment(settings: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Settings for one call of git, as its environment takes them."""
    pairs = list(settings)
    numbered = {"GIT_CONFIG_COUNT": str(len(pairs))} if pairs else {}
    for number, (name, value) in enumerate(pairs):
        numbered |= {f"GIT_CONFIG_KEY_{number}": name, f"GIT_CONFIG_VALUE_{number}": value}
    return numbered


def _changes(raw: bytes) -> Iterator[Change]:
    """What `--raw -z` printed, as changes."""
    parts = raw.split(b"\0")
    for meta, path in zip(parts[0::2], parts[1::2], strict=False):
        old_mode, new_mode, old_oid, new_oid, _ = meta.decode().lstrip("\n:").split(" ")
        old, new = int(old_mode, 8), int(new_mode, 8)
        yield Change(path, old, new, old_oid if old else ABSENT, new_oid if new else ABSENT)


class Objects:
    """Reads objects by name through one `git cat-file` that stays open.

    Only full object names are ever asked for: a path from a tree is walked here, entry by
    entry, so that nothing hostile is parsed by git as a revision.
    """

    def __init__(self, env: Mapping[str, str], cwd: Path | None, raw_size: int) -> None:
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
                raise HistoryMissing(f"git can't read object {oid[:12]}", "Run `git fsck`, or fetch again.")

    @staticmethod
    def _pipe(stream: IO[bytes] | None) -> IO[bytes]:
        if stream is None:
            raise RepositoryUnreadable("git's object reader has gone", "Run the command again.")
        return stream

    def kinds(self, oids: Iterable[str]) -> dict[str, tuple[str, int]]:
        """The type (or `missing`) and the size in bytes of each object."""
        answers: dict[str, tuple[str, int]] = {}
        for batch in _batches([oid for oid in oids if _OID.fullmatch(oid.encode())]):
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
        (_, found, size), = self._ask("contents", [oid])
        data = self._read(size) if found != "missing" else b""
        if found != kind:
            hint = "Fetch the whole history: git fetch --unshallow (or fetch-depth: 0)."
            raise HistoryMissing(f"{kind} {oid[:12]} is not in this repository", hint)
        return data

    def commit(self, oid: str) -> Commit:
        """A commit. Raises HistoryMissing where it is not there."""
        head = self._typed(oid, "commit").partition(b"\n\n")[0].split(b"\n")
        named = [line.split(b" ", 1) for line in head if b" " in line]
        tree = next(value for name, value in named if name == b"tree").decode()
        parents = tuple(value.decode() for name, value in named if name == b"parent")
        committer = next(value for name, value in named if name == b"committer")
        date = re.search(rb"> (-?\d+) [-+]\d+$", committer)
        return Commit(oid, tree, parents, int(date[1]) if date else 0)

    def tree(self, oid: str) -> dict[bytes, tuple[int, str]]:
        """A tree's entries: name → mode and object name."""
        if oid not in self._trees:
            entries = self._entry.findall(self._typed(oid, "tree"))
            self._trees[oid] = {name: (int(mode, 8), raw.hex()) for mode, name, raw in entries}
        return self._trees[oid]

    def entry(self, tree: str, path: bytes) -> tuple[int, str] | None:
        """Mode and object name of `path` in `tree`; None where it is not there. The empty path is the tree itself."""
        here = (0o040000, tree)
        for name in path.split(b"/") if path else []:
            if here[0] != 0o040000:  # a file, a link or a submodule holds nothing that we could walk
                return None
            found = self.tree(here[1]).get(name)
            if found is None:
                return None
            here = found
        return here

    def walk(self, tree: str, path: bytes) -> Iterator[tuple[bytes, int, str]]:
        """Every entry below the folder `path` of `tree`, folders themselves left out, as path, mode, object name."""
        found = self.entry(tree, path)
        if found is None or found[0] != 0o040000:
            return
        for name, (mode, oid) in self.tree(found[1]).items():
            below = path + b"/" + name if path else name
            if mode == 0o040000:
                yield from self.walk(tree, below)
            else:
                yield below, mode, oid


def _batches(oids: Sequence[str], size: int = 200) -> Iterator[Sequence[str]]:
    """So few at a time that the questions fit in the pipe while nobody reads the answers."""
    for start in range(0, len(oids), size):
        yield oids[start : start + size]


def view_over(repository: Repository, environ: Mapping[str, str], remote: str | None) -> View:
    """A view over the user's objects, with their shallow boundary and their way to `remote`, if there is one."""
    shallow = (repository.common_dir / "shallow").read_bytes() if repository.shallow else b""
    promisor = next((n for n in repository.remotes() if f"remote.{n}.promisor" in repository.config), None)
    known = [name for name in dict.fromkeys((remote, promisor)) if name]
    return View(
        environ,
        objects=repository.common_dir / "objects",
        object_format=repository.object_format,
        transport=[setting for name in known for setting in repository.transport(name)],
        promisor=promisor,
        lazy_reads=promisor is not None,
        shallow=shallow,
        cwd=repository.toplevel() if known else None,
    )
