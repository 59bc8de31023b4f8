"""Makes the repositories that the benchmark runs in: quickly, and the same every time.

Everything goes through one `git fast-import`; refs that stand at blobs, of which it makes none,
are written as one packed-refs file, which is what `git pack-refs --all` leaves behind.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

NOW = "2026-03-10T12:00:00Z"
BRANCH = "agent/finish"
BORN = 1_770_000_000  # 2026-02-02, in Unix seconds; each commit of base is an hour later
WORKED = 1_773_143_000  # 2026-03-10T11:43:20Z: the head's commit, after the claim

QUIET = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1", "LC_ALL": "C"}

POLICY = "version: 1\n"
PLAN = "---\nstatus: approved\nrevision: 7\n---\n# Plan\n"


@dataclass(frozen=True)
class Size:
    """How big a repository is: numbers of tasks, files, paths that the pull request changes, log refs, commits."""

    name: str
    tasks: int
    files: int
    changed: int
    log: int
    commits: int


SIZES = (
    Size("small", tasks=10, files=20, changed=5, log=20, commits=20),
    Size("wide", tasks=10_000, files=50_000, changed=5_000, log=20, commits=1_000),
    Size("old", tasks=10_000, files=20, changed=5, log=100_000, commits=1_000),
)

STATES = ("queued", "done", "done", "done", "done", "done", "done", "failed", "done", "blocked")
TASK, DEPENDENCY = "T-20260201-00000000", "T-20260201-00000001"
QUEUED, DONE = f".agents/tasks/queued/{TASK}.md", f".agents/tasks/done/{TASK}.md"


def task_id(number: int) -> str:
    """The id of the task of that number; the pull request finishes number 0."""
    return f"T-20260201-{number:08x}"


def task_text(number: int, state: str) -> str:
    """A task's file; number 0 may change every file of the pull request."""
    extra = {"failed": "failure: spec-gap\n", "blocked": "reason: waits for an answer\n"}.get(state, "")
    depends = f"depends_on: [{DEPENDENCY}]\n" if number == 0 else ""
    scope = "src/area0/**" if number == 0 else f"src/area{number % 40 + 1}/**"
    return (
        f"---\nid: {task_id(number)}\ntitle: Task number {number}\nstatus: {state}\nclassification: feature\n"
        f"{extra}{depends}authority:\n  paths:\n    - {scope}\n    - docs/notes-{number}.md\n"
        f"  forbid:\n    - src/area0/legacy/**\n---\n# Task number {number}\n\n"
        "## Context\nWhat is there today gives up at the first failure.\n\n"
        "## Acceptance criteria\n- [ ] Three attempts, then an error\n- [ ] A test covers both\n\n"
        "## Evidence\n<!-- output of the test command -->\n"
    )


def manifest_text() -> str:
    """The plan's milestones: the finished task stands in the active one."""
    leaves = ", ".join(task_id(number) for number in (0, 1, 2, 3))
    return (
        "plan_revision: 7\nmilestones:\n"
        f"  - {{id: m1, status: done, tasks: [{task_id(4)}, {task_id(5)}], integration_task: {task_id(6)}}}\n"
        f"  - {{id: m2, status: active, tasks: [{leaves}], integration_task: {task_id(8)}}}\n"
    )


def source_path(size: Size, number: int) -> str:
    """Where file number so-and-so stands: those that the pull request changes come first, in area0."""
    if number < size.changed:
        return f"src/area0/part{number // 100}/file{number}.py"
    return f"src/area{number % 40 + 1}/part{number // 1000}/file{number}.py"


def first_files(size: Size) -> Iterator[tuple[str, str]]:
    """Path and text of everything in the first commit."""
    yield ".github/gatekeeper.yml", POLICY
    yield ".agents/plan.md", PLAN
    yield ".agents/manifest.yml", manifest_text()
    for number in range(size.tasks):
        state = STATES[number % len(STATES)]
        yield f".agents/tasks/{state}/{task_id(number)}.md", task_text(number, state)
    for number in range(size.files):
        yield source_path(size, number), f"def answer():\n    return {number}\n"


def commit(branch: str, when: int, words: str, parent: str = "") -> Iterator[str]:
    """The head of a commit in fast-import's own language; its files follow."""
    yield f"commit refs/heads/{branch}\n"
    yield f"committer Ada <ada@example.com> {when} +0000\ndata {len(words)}\n{words}\n"
    if parent:
        yield f"from {parent}\n"


def file(path: str, text: str) -> str:
    """One regular file of a commit."""
    return f"M 100644 inline {path}\ndata {len(text)}\n{text}\n"


def history(size: Size) -> Iterator[str]:
    """All commits: base's history, the head that forks off near its end, and base moved on a little since."""
    yield from commit("main", BORN, "The board and the code")
    yield from (file(path, text) for path, text in first_files(size))
    for number in range(1, size.commits):
        yield from commit("main", BORN + number * 3600, f"Note {number}")
        yield file("docs/changes.md", f"Change {number}\n")
    yield from commit(BRANCH, WORKED, "Finish the task", "refs/heads/main")
    for number in range(size.changed):
        yield file(source_path(size, number), f"def answer():\n    return {number} + 1\n")
    yield f"D {QUEUED}\n"
    yield file(DONE, task_text(0, "done").replace("[ ]", "[x]") + "\n```\n2 passed\n```\n")
    yield from commit("main", WORKED + 60, "Another pull request merged")
    yield file("docs/changes.md", "Merged meanwhile\n")


def claim_text(number: int, fork: str, entry: int, branch: str) -> str:
    """A claim's blob: unique, as the protocol's nonce makes it."""
    standing = branch == BRANCH
    fields = {
        "task": task_id(number),
        "agent": f"agent-{entry}",
        "branch": branch,
        "baseCommit": fork,
        "claimedAt": "2026-03-10T11:40:00.000Z" if standing else f"2026-03-10T{entry:02d}:00:00.000Z",
        "expiresAt": "2026-03-10T12:10:00.000Z" if standing else f"2026-03-10T{entry:02d}:30:00.000Z",
        "locks": [],
        "planRevision": 7,
        "nonce": f"{number:08x}{entry:08x}",
        "epoch": entry + 1,
    }
    if not standing:
        fields["outcome"] = "abandoned"
    return json.dumps(fields)


def claims(size: Size, fork: str) -> Iterator[tuple[str, str]]:
    """Ref and blob of each claim: two old ones of the finished task and its standing one, the rest elsewhere."""
    yield f"refs/swarm/task-claims/{TASK}", claim_text(0, fork, 20, BRANCH)
    for entry in range(2):
        yield log_ref(0, entry), claim_text(0, fork, entry, "agent/earlier")
    others = size.tasks - 1
    for count in range(size.log - 2):
        number, entry = count % others + 1, count // others
        yield log_ref(number, entry), claim_text(number, fork, entry, f"agent/work-{number}")


def log_ref(number: int, entry: int) -> str:
    """A log ref; a task's entries are an hour apart, from midnight on, and end before its standing claim begins."""
    return f"refs/swarm/claim-log/{task_id(number)}/20260310T{entry:02d}2000000Z"


def git(repository: Path, *args: str, stdin: str | None = None) -> str:
    """Run git in a repository and return what it prints."""
    done = subprocess.run(
        ["git", *args],
        cwd=repository,
        env=os.environ | QUIET,
        input=stdin,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return done.stdout.strip()


def import_stream(repository: Path, parts: Iterator[str], *options: str) -> None:
    """Feed `git fast-import` piece by piece."""
    command = ["git", "-c", "fastimport.unpackLimit=0", "fast-import", "--quiet", *options]
    process = subprocess.Popen(
        command, cwd=repository, env=os.environ | QUIET, stdin=subprocess.PIPE, text=True
    )
    assert process.stdin
    with process.stdin as stream:
        stream.writelines(parts)
    if process.wait():
        raise SystemExit("git fast-import failed")


def write_claims(repository: Path, size: Size) -> None:
    """Write every claim's blob and the refs that stand at them."""
    fork = git(repository, "merge-base", "main", BRANCH)
    names: list[str] = []

    def blobs() -> Iterator[str]:
        for ref, text in claims(size, fork):
            names.append(ref)
            yield f"blob\nmark :{len(names)}\ndata {len(text)}\n{text}\n"

    marks = repository / "marks"
    import_stream(repository, blobs(), f"--export-marks={marks}")
    found = dict(line[1:].split(" ") for line in marks.read_text().splitlines())
    marks.unlink()
    lines = [f"{found[str(number)]} {ref}\n" for number, ref in enumerate(names, 1)]
    lines += [
        line + "\n"
        for line in git(repository, "for-each-ref", "--format=%(objectname) %(refname)").splitlines()
    ]
    lines.sort(key=lambda line: line.split()[1])
    (repository / "packed-refs").write_text(
        "# pack-refs with: peeled fully-peeled sorted \n" + "".join(lines)
    )
    git(repository, "pack-refs", "--all")


def make(size: Size, repository: Path) -> None:
    """Make one bare repository of that size."""
    repository.mkdir(parents=True)
    git(repository, "init", "--quiet", "--bare", "--initial-branch=main")
    import_stream(repository, history(size))
    write_claims(repository, size)


def make_all(here: Path) -> None:
    """Make every repository below a folder, in the place of whatever earlier runs left beside it."""
    shutil.rmtree(here.parent, ignore_errors=True)
    for size in SIZES:
        print(f"making the repository {size.name}", flush=True)
        make(size, here / size.name)
    clone = here / "small-checkout"
    git(here, "clone", "--quiet", "--branch", BRANCH, "--", str(here / "small"), str(clone))
    git(clone, "fetch", "--quiet", "origin", "refs/swarm/*:refs/swarm/*", "main:main")
    git(clone, "remote", "remove", "origin")
    (here / "whole").touch()


def made(folder: Path) -> dict[str, Path]:
    """Every repository, made anew unless it is there from an earlier run of this very source.

    `small-checkout` is a clone of `small` with the head branch checked out. What makes a process
    large stays out of the one that asks: a child's peak memory is never less than its parent's.
    """
    here = folder / hashlib.sha256(Path(__file__).read_bytes()).hexdigest()[:16]
    if not (here / "whole").exists():
        subprocess.run([sys.executable, __file__, str(here)], check=True)
    return {name: here / name for name in (*(size.name for size in SIZES), "small-checkout")}


if __name__ == "__main__":
    make_all(Path(sys.argv[1]))
