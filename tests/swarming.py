"""Several agents on one board: worktrees of one clone, or of two clones of one remote on this disk."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from running import Ran, in_process

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

HERE = Path(__file__).resolve().parent
DYING = HERE / "fakes" / "dying"
CLAIMS, LOCKS, LOG = "refs/swarm/task-claims/", "refs/swarm/task-locks/", "refs/swarm/claim-log/"
NO_CAPS = "version: 1\ncaps: {implementation: 0, integration: 0, planning: 0, amendment: 0}\n"


@cache
def real_git() -> str:
    """The git program itself."""
    found = shutil.which("git")
    assert found
    return found


def environment(**more: str) -> dict[str, str]:
    """An environment that knows nothing of the user or of CI."""
    alien = ("GIT_", "GITHUB_", "GATEKEEPER_", "FAULT_")
    kept = {k: v for k, v in os.environ.items() if not k.startswith(alien)}
    who = {
        f"GIT_{role}_{what}": "ada@example.com"
        for role in ("AUTHOR", "COMMITTER")
        for what in ("NAME", "EMAIL")
    }
    quiet = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1", "NO_COLOR": "1", "LC_ALL": "C"}
    return kept | who | quiet | more


def git(folder: Path, *args: str, stdin: str | None = None) -> str:
    """Run the real git; what it prints."""
    command = [real_git(), *args]
    done = subprocess.run(
        command,
        cwd=folder,
        env=environment(),
        input=stdin,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, f"{command}: {done.stderr}"
    return done.stdout.rstrip("\n")


def needs_ref_files(clone: Path) -> None:
    """Skip the test where a clone keeps its refs in tables: no ref has a file there, or a lock, of its own."""
    if (clone / ".git" / "reftable").is_dir():
        pytest.skip("among reftables one lock is that of all refs: see test_reftable.py")


def task_id(number: int) -> str:
    """The id of the task of that number."""
    return f"T-20260301-{number:08x}"


def task_text(number: int, locks: Sequence[str] = (), more: str = "") -> str:
    """A queued task's file."""
    held = f"locks: [{', '.join(locks)}]\n" if locks else ""
    return (
        f"---\nid: {task_id(number)}\nstatus: queued\ntitle: Number {number}\nclassification: feature\n{held}{more}"
        f"authority:\n  paths: [src/{number}/**]\n---\n# Number {number}\n\n## Acceptance\n- it works\n"
    )


def _stored(ref_format: str) -> list[str]:
    """The option of `init` and `clone` for how refs are stored."""
    return [f"--ref-format={ref_format}"] if ref_format else []


def fake_git(folder: Path, push: str) -> str:
    """A PATH on which `git push` does that instead, `$git` being the real one."""
    folder.mkdir()
    script = folder / "git"
    text = f'#!/bin/sh\ngit="{real_git()}"\n[ "$1" = push ] || exec "$git" "$@"\n{push}\n'
    script.write_text(text)
    script.chmod(0o755)
    return f"{folder}:{environment()['PATH']}"


@dataclass(frozen=True)
class Agent:
    """Who works where: a name, a branch, a worktree, and the clone that this belongs to."""

    name: str
    branch: str
    path: Path
    clone: Path


class Swarm:
    """A board of tasks (number → lock keys) and the agents that work on it.

    `authority` is the repository whose refs decide: the bare remote, or the only clone.
    """

    def __init__(
        self,
        root: Path,
        tasks: Mapping[int, Sequence[str]],
        *,
        clones: int = 0,
        worktrees: int = 3,
        policy: str = NO_CAPS,
        url: str = "{}",
        clone_refs: str = "",
        remote_refs: str = "",
    ) -> None:
        """Make it below `root`: with `clones` that many clones of a remote, with none one clone alone.

        `clone_refs` and `remote_refs` say how their refs are stored (`files`, `reftable`); the empty text leaves
        that to git.
        """
        self.root, self.tasks = root, dict(tasks)
        first = root / "clone0"
        first.mkdir(parents=True)
        git(first, "init", "--quiet", "--template=", "--initial-branch=main", *_stored(clone_refs))
        self._fill(first, policy)
        self.remote = root / "remote.git" if clones else None
        self.clones = [first]
        if self.remote is not None:
            git(root, "clone", "--quiet", "--bare", *_stored(remote_refs), str(first), str(self.remote))
            shutil.rmtree(first)
            self.clones = [root / f"clone{n}" for n in range(clones)]
            for clone in self.clones:
                git(root, "clone", "--quiet", *_stored(clone_refs), url.format(self.remote), str(clone))
        self.agents = [self._agent(n, clone) for n in range(worktrees) for clone in self.clones]
        self.authority = self.remote or first

    def _fill(self, path: Path, policy: str) -> None:
        files = {".github/gatekeeper.yml": policy, "README.md": "# Sample\n"}
        files |= {
            f".agents/tasks/queued/{task_id(n)}.md": task_text(n, keys) for n, keys in self.tasks.items()
        }
        for name, text in files.items():
            (path / name).parent.mkdir(parents=True, exist_ok=True)
            (path / name).write_text(text)
        git(path, "add", "--all")
        git(path, "commit", "--quiet", "-m", "board")

    def _agent(self, number: int, clone: Path) -> Agent:
        name = f"{clone.name}-{number}"
        path = self.root / "trees" / name
        git(clone, "worktree", "add", "--quiet", "-b", f"agent/{name}", str(path), "main")
        return Agent(name, f"agent/{name}", path, clone)

    def to_base(self, files: Mapping[str, str | None]) -> None:
        """Commit files to base, through the first agent's branch; None deletes one."""
        first = self.agents[0]
        for name, text in files.items():
            path = first.path / name
            if text is None:
                path.unlink()
            else:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text)
        git(first.path, "add", "--all")
        git(first.path, "commit", "--quiet", "-m", "base moves")
        if self.remote:
            git(first.path, "push", "--quiet", "origin", "HEAD:main")
        else:
            git(first.clone, "merge", "--quiet", "--ff-only", first.branch)

    def put(self, ref: str, text: str, where: Path | None = None) -> str:
        """Let a hand write a ref, at the authority or in a clone; its blob."""
        oid = git(where or self.authority, "hash-object", "-w", "--stdin", stdin=text)
        git(where or self.authority, "update-ref", ref, oid)
        return oid

    def refs(self, where: Path | None = None) -> dict[str, str]:
        """Every claim ref and its object, at the authority or in a clone."""
        listed = git(
            where or self.authority, "for-each-ref", "--format=%(refname) %(objectname)", "refs/swarm"
        )
        return dict(line.split(" ") for line in listed.splitlines())

    def blobs(self, oids: Sequence[str], where: Path | None = None) -> dict[str, dict[str, Any]]:
        """Claims' blobs, read as JSON."""
        found = {}
        names = list(dict.fromkeys(oids))
        done = subprocess.run(
            [real_git(), "cat-file", "--batch"],
            cwd=where or self.authority,
            env=environment(),
            input="".join(f"{oid}\n" for oid in names).encode(),
            capture_output=True,
            timeout=60,
            check=True,
        )
        rest = done.stdout
        for oid in names:
            head, _, rest = rest.partition(b"\n")
            size = int(head.split()[2])
            found[oid], rest = json.loads(rest[:size]), rest[size + 1 :]
        return found

    def run(self, agent: Agent, *args: str, now: str | None = None, timeout: float = 60, **env: str) -> Ran:
        """Run `gatekeeper` as a process of its own in an agent's worktree."""
        with self.start(agent, *args, now=now, **env) as process:
            out, err = process.communicate(timeout=timeout)
        assert "Traceback" not in err, err
        assert "a fault of gatekeeper's own" not in err, err
        return Ran(process.returncode, out, err)

    def call(self, agent: Agent, *args: str, now: str | None = None, **env: str) -> Ran:
        """Run `gatekeeper` for an agent in this process; a fault of its own is raised."""
        words = ["--repo", str(agent.path), *(["--now", now] if now else []), *args]
        return in_process(words, environment(GATEKEEPER_AGENT=agent.name, **env))

    def start(self, agent: Agent, *args: str, now: str | None = None, **env: str) -> subprocess.Popen[str]:
        """Start `gatekeeper` in an agent's worktree, under the agent's name, and don't wait for it."""
        command = [sys.executable, "-m", "gatekeeper", *(["--now", now] if now else []), *args]
        return subprocess.Popen(
            command,
            cwd=agent.path,
            env=environment(GATEKEEPER_AGENT=agent.name, **env),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            stdin=subprocess.DEVNULL,
            text=True,
        )
