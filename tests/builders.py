"""Makes real git repositories from a short description, and runs the gate in them.

A description is what the files in `examples/` hold: `start` (boards of `data/boards.yml`), `base`
(edits to `main` before the fork), `branch`, `edits` (on that branch), `claims` and `args`. An edit
is a mapping of one verb to its argument; the verbs are the `VERBS` at the end of this file.

Time stands still: `NOW` is when the gate looks, claims began 20 minutes earlier and run for 10 more, and the
branch's commits lie in between, a minute apart; base's are from the day before.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any
from unittest.mock import patch

import yaml

HERE = Path(__file__).resolve().parent
NOW = "2026-03-10T11:20:00Z"
CLAIMED, EXPIRES, STAMP = "2026-03-10T11:00:00.000Z", "2026-03-10T11:30:00.000Z", "20260310T111500000Z"
BASE_BEGAN = 1_773_046_800  # 2026-03-09T09:00:00Z
WORK_BEGAN = 1_773_140_700  # 2026-03-10T11:05:00Z
BRANCH = "agent/work"
PLAN_REVISION = 4
BOARD = ".agents/tasks"

Spec = Mapping[str, Any]


@cache
def boards() -> dict[str, dict[str, str | None]]:
    """The named sets of files that a repository can start from."""
    found: dict[str, dict[str, str | None]] = load((HERE / "data" / "boards.yml").read_text())
    return found


def load(text: str) -> Any:
    """YAML that the project's own tests wrote."""
    return yaml.load(text, Loader=yaml.CSafeLoader)


def listed(value: Any) -> list[Any]:
    """A list as it is, nothing as an empty one, anything else as a list of one."""
    if value is None:
        return []
    return value if isinstance(value, list) else [value]


@dataclass(frozen=True)
class Ran:
    """A command that has ended."""

    status: int
    out: str
    err: str

    @property
    def report(self) -> dict[str, Any]:
        """The JSON report that it printed."""
        found: dict[str, Any] = json.loads(self.out)
        return found

    @property
    def severities(self) -> dict[str, set[str]]:
        """Each code of the report's findings, and how severe it is found."""
        found: dict[str, set[str]] = {}
        for finding in self.report["findings"]:
            found.setdefault(finding["code"], set()).add(finding["severity"])
        return found

    @property
    def codes(self) -> set[str]:
        """The codes of the report's findings."""
        return set(self.severities)

    @property
    def verdict(self) -> str:
        """The report's verdict."""
        return str(self.report["verdict"])


class Sample:
    """A repository under construction, with a working tree, in the folder `path`."""

    def __init__(self, root: Path, start: str | Sequence[str] = "shop", object_format: str = "sha1") -> None:
        """Begin one in the empty folder `root`, with the files of the boards that `start` names uncommitted."""
        self.root, self.path, self.branch = root, root / "repo", "main"
        self.clock = BASE_BEGAN
        self.fork = ""
        self._gitlinks: dict[str, str] = {}
        self.path.mkdir(parents=True)
        self.git(
            "init", "--quiet", "--template=", f"--object-format={object_format}", "--initial-branch=main"
        )
        for name in [start] if isinstance(start, str) else start:
            for path, text in boards()[name].items():
                if text is None:
                    (self.path / path).unlink(missing_ok=True)
                else:
                    self.write(path, text)

    # -- git ---------------------------------------------------------------

    @property
    def env(self) -> dict[str, str]:
        """An environment that knows nothing of the user, of CI, or of another repository."""
        alien = ("GIT_", "GITHUB_", "GATEKEEPER_", "INPUT_", "RUNNER_")
        kept = {k: v for k, v in os.environ.items() if not k.startswith(alien) and k != "CI"}
        who = {
            f"GIT_{role}_{what}": value
            for role in ("AUTHOR", "COMMITTER")
            for what, value in self._person().items()
        }
        quiet = {
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_CONFIG_NOSYSTEM": "1",
            "NO_COLOR": "1",
            "HOME": str(self.root),
        }
        return kept | who | quiet | {"GIT_CEILING_DIRECTORIES": str(self.root)}

    def _person(self) -> dict[str, str]:
        return {"NAME": "Ada", "EMAIL": "ada@example.com", "DATE": f"{self.clock} +0000"}

    def git(self, *args: str, stdin: str | None = None) -> str:
        """Run git in the repository; what it prints, without the last line's end."""
        command = ["git", *args]
        done = subprocess.run(
            command, cwd=self.path, env=self.env, input=stdin, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, f"{shlex.join(command)}: {done.stderr}"
        return done.stdout.rstrip("\n")

    def commit(self, message: str = "work") -> str:
        """Commit everything there is, a minute after the last commit; its object name."""
        self.clock += 60
        self.git("add", "--all", "--force")
        for path, oid in self._gitlinks.items():
            self.git("update-index", "--add", "--cacheinfo", f"160000,{oid},{path}")
        self._gitlinks = {}
        self.git("commit", "--quiet", "--allow-empty", "-m", message)
        return self.git("rev-parse", "HEAD")

    def start_branch(self, name: str = BRANCH) -> None:
        """Fork the pull request's branch off the base branch."""
        self.fork = self.git("rev-parse", "HEAD")
        self.git("switch", "--quiet", "-c", name)
        self.branch, self.clock = name, max(self.clock, WORK_BEGAN)

    # -- files -------------------------------------------------------------

    def edit(self, step: Spec) -> None:
        """Make one edit: a verb and its argument."""
        ((verb, arg),) = step.items()
        VERBS[verb](self, arg)

    def write(self, path: str, text: str | Mapping[str, str]) -> None:
        """Write a file: its text, or its bytes as `{hex: …}`."""
        data = bytes.fromhex(text["hex"]) if isinstance(text, Mapping) else text.encode()
        self._room(path).write_bytes(data)

    def _room(self, path: str) -> Path:
        target = self.path / path
        target.parent.mkdir(parents=True, exist_ok=True)
        return target

    def append(self, path: str, text: str) -> None:
        """Add text at a file's end."""
        with (self.path / path).open("ab") as out:
            out.write(text.encode())

    def delete(self, path: str) -> None:
        """Remove a file."""
        (self.path / path).unlink()

    def move(self, old: str, new: str) -> None:
        """Rename a file."""
        (self.path / old).rename(self._room(new))

    def copy(self, old: str, new: str) -> None:
        """Copy a file."""
        shutil.copy(self.path / old, self._room(new))

    def replace(self, path: str, words: Sequence[str]) -> None:
        """Put the second of two texts in the place of the first, wherever it stands."""
        old, new = (word.encode() for word in words)
        data = (self.path / path).read_bytes()
        assert old in data, f"{path} does not hold {old!r}"
        (self.path / path).write_bytes(data.replace(old, new))

    def symlink(self, path: str, target: str) -> None:
        """Make a symbolic link, in the place of whatever stands there."""
        link = self._room(path)
        link.unlink(missing_ok=True)
        link.symlink_to(target)

    def gitlink(self, path: str, oid: str) -> None:
        """Make a submodule's commit stand at `path`, with the next commit."""
        (self.path / path).mkdir(parents=True, exist_ok=True)
        self._gitlinks[path] = oid

    def chmod(self, path: str, mode: str) -> None:
        """Set a file's permissions, octal."""
        (self.path / path).chmod(int(mode, 8))

    def finish(self, what: str | Mapping[str, str]) -> None:
        """Move a task to done, or to the `state` that is named, in folder and header."""
        task, state = (what, "done") if isinstance(what, str) else (what["task"], what["state"])
        (old,) = (self.path / BOARD).glob(f"*/{task}*.md")
        text = re.sub(
            rb"^status: [a-z]+", b"status: " + state.encode(), old.read_bytes(), count=1, flags=re.MULTILINE
        )
        old.unlink()
        self._room(f"{BOARD}/{state}/{old.name}").write_bytes(text)

    def merge_base(self, name: str) -> None:
        """Merge the base branch into the head branch."""
        self.commit("before the merge")
        self.git("merge", "--quiet", "--no-edit", name)

    def on_base(self, steps: Sequence[Spec]) -> None:
        """Let the base branch move on by some edits."""
        self.commit("before base moves on")
        self.git("switch", "--quiet", "main")
        for step in steps:
            self.edit(step)
        self.commit("base moves on")
        self.git("switch", "--quiet", self.branch)

    def clone(self, options: str) -> None:
        """Go on in a clone of this repository, made with those options of `git clone`."""
        self.commit("before the clone")
        whole = self.root / "whole"
        self.path.rename(whole)
        self.path.mkdir()
        self.git("clone", "--quiet", *shlex.split(options), f"file://{whole}", ".")

    # -- claims ------------------------------------------------------------

    def claim(self, kind: str, what: Spec) -> None:
        """Write a claim as the protocol does: `live`, `released`, or `raw` (`{ref: the blob's text}`)."""
        if kind == "raw":
            for ref, text in what.items():
                self._refs(text, [ref])
            return
        fields = self.claim_fields(what)
        text = json.dumps(fields)
        task = what.get("at_ref", what["task"])
        if kind == "released":
            self._refs(text, [f"refs/swarm/claim-log/{task}/{what.get('stamp', STAMP)}"])
            return
        keys = what.get("lock_refs", fields.get("locks", []))
        locks = [f"refs/swarm/task-locks/{hashlib.sha256(key.encode()).hexdigest()[:16]}" for key in keys]
        self._refs(text, [f"refs/swarm/task-claims/{task}", *locks])

    def claim_fields(self, what: Spec) -> dict[str, Any]:
        """A claim's blob: what the case says, else an honest claim of this branch, signed if `sign` names a key."""
        fields: dict[str, Any] = {
            "task": what["task"],
            "agent": what.get("agent", "ada"),
            "branch": what.get("branch", self.branch),
            "baseCommit": self.git("rev-parse", what["at"]) if "at" in what else self.fork,
            "claimedAt": what.get("claimedAt", CLAIMED),
            "expiresAt": what.get("expiresAt", EXPIRES),
            "locks": what.get("locks", []),
            "planRevision": what.get("planRevision", PLAN_REVISION),
        } | what.get("extra", {})
        fields = {name: value for name, value in fields.items() if name not in what.get("without", [])}
        if "sign" in what:
            fields["signature"] = self.sign(what["sign"], fields)
        return fields | what.get("after_signing", {})

    def _refs(self, text: str, refs: Sequence[str]) -> None:
        oid = self.git("hash-object", "-w", "--stdin", stdin=text)
        self.git("update-ref", "--stdin", stdin="".join(f"update {ref} {oid}\n" for ref in refs))

    def key(self, name: str) -> Path:
        """An SSH key of that name, made when it is first asked for; the public one ends in `.pub`."""
        path = self.root / f"key-{name}"
        if not path.exists():
            command = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", name, "-f", str(path)]
            subprocess.run(command, check=True, stdin=subprocess.DEVNULL)
        return path

    def sign(self, name: str, fields: Mapping[str, Any]) -> str:
        """The signature of a claim by the key of that name, as `ssh-keygen` makes it."""
        signed = {k: v for k, v in fields.items() if k not in ("signature", "outcome")}
        text = json.dumps(signed, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()
        command = ["ssh-keygen", "-q", "-Y", "sign", "-n", "gatekeeper-claim", "-f", str(self.key(name))]
        return subprocess.run(command, input=text, capture_output=True, check=True).stdout.decode()

    def allow_signers(self, keys: Mapping[str, str]) -> None:
        """Write the allowed signers: each principal and the name of its key."""
        public = {
            who: self.key(name).with_suffix(".pub").read_text().split()[:2] for who, name in keys.items()
        }
        self.write(
            ".github/allowed_signers", "".join(f"{who} {' '.join(key)}\n" for who, key in public.items())
        )

    # -- running -----------------------------------------------------------

    def call(self, *args: str, env: Mapping[str, str] | None = None) -> Ran:
        """Run `gatekeeper` with these arguments in this process; a fault of its own is raised."""
        from gatekeeper.cli import run  # noqa: PLC0415 -- only who runs in process needs it

        wanted = self.env | {"GATEKEEPER_TRACEBACK": "1"} | (env or {})
        out, err = io.StringIO(), io.StringIO()
        with patch.dict(os.environ, wanted, clear=True), redirect_stdout(out), redirect_stderr(err):
            status = run(["--repo", str(self.path), *args])
        return Ran(status, out.getvalue(), err.getvalue())

    def run(self, *args: str, env: Mapping[str, str] | None = None, python: Sequence[str] = ()) -> Ran:
        """Run `gatekeeper` with these arguments as a process of its own, in the repository."""
        command = [sys.executable, *python, "-m", "gatekeeper", *args]
        done = subprocess.run(
            command, cwd=self.path, env=self.env | (env or {}), capture_output=True, text=True, check=False
        )
        assert "Traceback (most recent call last)" not in done.stderr, done.stderr
        assert "a fault of gatekeeper's own" not in done.stderr, done.stderr
        return Ran(done.returncode, done.stdout, done.stderr)

    def check_args(self, *args: str, now: str = NOW) -> list[str]:
        """The arguments of `check` on the branch, with a JSON report."""
        which = ["--base", "main", "--head", self.branch, "--branch", self.branch]
        return ["--now", now, "check", *which, "--format", "json", *args]

    def check(self, *args: str, now: str = NOW) -> Ran:
        """Judge the branch, in this process. Exit status and report are held against each other."""
        done = self.call(*self.check_args(*args, now=now))
        sound(done)
        return done


def sound(done: Ran) -> None:
    """Hold a command's exit status, verdict and findings against each other, whatever they say."""
    report = done.report
    enforced = "not enforced" not in done.err
    assert done.status == {"pass": 0, "fail": 1 if enforced else 0, "error": 2}[report["verdict"]], done.err
    ranks = {"error": 0, "warning": 1, "notice": 2}
    order = [(ranks[f["severity"]], f["code"], f["path"] or "", f["line"] or 0) for f in report["findings"]]
    assert order == sorted(order)
    assert (report["verdict"] == "pass") == (0 not in {rank for rank, *_ in order})


def play(spec: Spec, root: Path) -> Sample:
    """Make the repository that a description describes, its branch checked out."""
    sample = Sample(root, spec.get("start", "shop"))
    for step in listed(spec.get("base")):
        sample.edit(step)
    sample.commit("base")
    sample.start_branch(spec.get("branch", BRANCH))
    for step in listed(spec.get("edits")):
        sample.edit(step)
    sample.commit("work")
    for item in listed(spec.get("claims")):
        for kind, what in item.items():
            sample.claim(kind, what)
    return sample


def _each(method: Callable[..., None]) -> Callable[[Sample, Any], None]:
    """A verb whose argument is a mapping: the method is called for each pair."""

    def verb(sample: Sample, pairs: Mapping[str, Any]) -> None:
        for name, value in pairs.items():
            method(sample, name, value)

    return verb


def _delete(sample: Sample, paths: str | Sequence[str]) -> None:
    for path in [paths] if isinstance(paths, str) else paths:
        sample.delete(path)


VERBS: Mapping[str, Callable[[Sample, Any], object]] = {
    "write": _each(Sample.write),
    "append": _each(Sample.append),
    "delete": _delete,
    "move": _each(Sample.move),
    "copy": _each(Sample.copy),
    "replace": _each(Sample.replace),
    "symlink": _each(Sample.symlink),
    "gitlink": _each(Sample.gitlink),
    "chmod": _each(Sample.chmod),
    "finish": Sample.finish,
    "commit": Sample.commit,
    "merge-base": Sample.merge_base,
    "on-base": Sample.on_base,
    "clone": Sample.clone,
    "allow-signers": Sample.allow_signers,
    "git": lambda sample, line: sample.git(*shlex.split(line)),
}
"""What an edit can do. The argument is a mapping for those that take several paths."""
