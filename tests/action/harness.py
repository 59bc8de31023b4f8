"""A forge on loopback: a bare repository with a board, served over HTTP, and the action run against it as a process."""

from __future__ import annotations

import copy
import io
import json
import os
import re
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gatekeeper.action.run import main

if TYPE_CHECKING:
    from collections.abc import Callable

    from action.server import GitServer

COMMAND = [sys.executable, "-m", "gatekeeper", "action"]
EVENTS = Path(__file__).parent / "events"
TASK = "T-20260814-abcdef01"
NOW = "2026-08-20T12:00:00Z"
BRANCH = "agent/retry"
START = 1_787_225_400  # 2026-08-20T11:30:00Z
ENV = {
    "PATH": os.environ["PATH"],
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
    "LC_ALL": "C.UTF-8",
}
TASK_FILE = f"""---
id: {TASK}
title: Retry failed payments
status: STATE
classification: feature
authority:
  paths: [src/payments/**]
---
# Retry failed payments

## Acceptance criteria
- [ ] Three attempts, then an error
"""
QUEUED, DONE = (f".agents/tasks/{state}/{TASK}.md" for state in ("queued", "done"))
BOARD: dict[str, str | None] = {
    "README.md": "# Sample\n",
    "src/payments/api.py": "def pay(): ...\n",
    "src/auth/login.py": "def login(): ...\n",
    QUEUED: TASK_FILE.replace("STATE", "queued"),
}
FINISHED: dict[str, str | None] = {
    QUEUED: None,
    DONE: TASK_FILE.replace("STATE", "done"),
    "src/payments/api.py": "def pay(): return 3\n",
}


def git(folder: Path, *args: str, stdin: bytes = b"") -> str:
    done = subprocess.run(["git", *args], cwd=folder, env=ENV, input=stdin, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout.decode().strip()


@dataclass
class Sample:
    """A bare repository that commits are written into without a working tree."""

    folder: Path
    object_format: str = "sha1"
    clock: int = START

    def __post_init__(self) -> None:
        self.folder.mkdir(parents=True)
        git(self.folder, "init", "--quiet", "--bare", f"--object-format={self.object_format}", "-b", "main")
        for name in ("uploadpack.allowFilter", "uploadpack.allowAnySHA1InWant"):
            git(self.folder, "config", name, "true")

    def commit(self, branch: str, files: dict[str, str | None], *parents: str) -> str:
        """A commit on top of `parents` (the first gives the tree), at which `branch` then stands."""
        self.clock += 60
        ref = branch if branch.startswith("refs/") else f"refs/heads/{branch}"
        head = f"commit {ref}\ncommitter made <made@example.com> {self.clock} +0000\ndata 4\nmade\n"
        head += "".join(f"{'merge' if n else 'from'} {p}\n" for n, p in enumerate(parents))
        stream = head.encode("utf-8", "surrogateescape")
        for path, text in files.items():
            name = b'"' + b"".join(b"\\%03o" % byte for byte in os.fsencode(path)) + b'"'
            if text is None:
                stream += b"D " + name + b"\n"
            else:
                data = text.encode()
                stream += b"M 100644 inline " + name + b"\ndata %d\n" % len(data) + data + b"\n"
        git(self.folder, "fast-import", "--quiet", "--force", stdin=stream)
        return git(self.folder, "rev-parse", ref)

    def claim(self, branch: str, base: str, **fields: object) -> str:
        """A live claim on the task."""
        blob = {
            "task": TASK,
            "agent": "a1",
            "branch": branch,
            "baseCommit": base,
            "claimedAt": "2026-08-20T11:31:00.000Z",
            "expiresAt": "2026-08-20T12:10:00.000Z",
            "locks": [],
            "planRevision": None,
        } | fields
        oid = git(self.folder, "hash-object", "-w", "--stdin", stdin=json.dumps(blob).encode())
        git(self.folder, "update-ref", f"refs/swarm/task-claims/{TASK}", oid)
        return oid


@dataclass
class Result:
    """What the action said and wrote."""

    status: int
    stdout: str
    stderr: str
    outputs: dict[str, str]
    summary: str
    report: dict[str, Any]
    folder: Path

    @property
    def codes(self) -> list[str]:
        return sorted({f["code"] for f in self.report["findings"] if f["severity"] == "error"})

    @property
    def everything(self) -> str:
        return "\n".join(
            [self.stdout, self.stderr, self.summary, *self.outputs.values(), json.dumps(self.report)]
        )


def commands(text: str) -> list[str]:
    """The commands that the runner finds in a step's log (actions/runner, ActionCommand.cs)."""
    found = [
        line.lstrip()[2:].split("::")[0]
        for line in re.split(r"\r\n|\r|\n", text)
        if line.lstrip().startswith("::")
    ]
    return found + re.findall(r"##\[[^\]]*\]", text)


def parse_outputs(text: str) -> dict[str, str]:
    """An outputs file as the runner reads it."""
    found: dict[str, str] = {}
    lines = iter(re.split(r"\r\n|\n", text))
    for line in lines:
        if "<<" in line and "=" not in line.split("<<")[0]:
            name, _, mark = line.partition("<<")
            value: list[str] = []
            for inner in lines:
                if inner == mark:
                    break
                value.append(inner)
            found[name] = "\n".join(value)
        elif line:
            name, _, value_ = line.partition("=")
            found[name] = value_
    return found


@dataclass
class Action:
    """Runs the action against a sample repository, in an empty folder, with nothing but the runner's environment."""

    tmp: Path
    sample: Sample
    server: GitServer
    name: str = "owner/app"
    runs: int = 0
    api: str = ""
    events: dict[str, Any] = field(default_factory=dict)
    inside: bool = False
    prepare: Callable[[Path], object] = lambda folder: folder

    def run(self, event: object, name: str = "pull_request_target", **env: str | None) -> Result:
        """Run it. `env` adds to the environment, or takes away what is None; `base_ref` means `INPUT_BASE-REF`."""
        self.runs += 1
        folder = self.tmp / f"run{self.runs}"
        (folder / "ws").mkdir(parents=True)
        self.prepare(folder)
        (folder / "home").mkdir()
        (folder / "tmp").mkdir()
        path = folder / "event.json"
        path.write_bytes(
            event if isinstance(event, bytes) else json.dumps(event).encode("utf-8", "surrogatepass")
        )
        environ: dict[str, str | None] = ENV | {
            "HOME": str(folder / "home"),
            "TMPDIR": str(folder / "tmp"),
            "GITHUB_ACTIONS": "true",
            "GITHUB_EVENT_NAME": name,
            "GITHUB_EVENT_PATH": str(path),
            "GITHUB_WORKSPACE": str(folder / "ws"),
            "GITHUB_SERVER_URL": self.server.url,
            "GITHUB_API_URL": self.api,
            "GITHUB_REPOSITORY": self.name,
            "GITHUB_OUTPUT": str(folder / "outputs"),
            "GITHUB_STEP_SUMMARY": str(folder / "summary"),
            "INPUT_COMMAND": "check",
            "INPUT_TOKEN": "",
            "INPUT_NOW": NOW,
            "GATEKEEPER_TRACEBACK": "1",
        }
        environ |= {k if k.isupper() else f"INPUT_{k.upper().replace('_', '-')}": v for k, v in env.items()}
        given = {key: value for key, value in environ.items() if value is not None}
        status, stdout, stderr = _inside(given) if self.inside else _process(given, folder / "ws")
        assert "Traceback" not in stderr, stderr
        assert list((folder / "tmp").iterdir()) == []
        report = folder / "ws" / "gatekeeper-report.json"
        return Result(
            status,
            stdout,
            stderr,
            parse_outputs(_text(folder / "outputs")),
            _text(folder / "summary"),
            json.loads(_text(report) or "{}"),
            folder,
        )

    def event(
        self, name: str, *, base: str = "main", branch: str = BRANCH, head: str | None = None
    ) -> dict[str, Any]:
        """One of GitHub's examples about this repository's branches."""
        made = copy.deepcopy(self.events[name])
        pull = made["pull_request"]
        pull["base"] |= {"ref": base, "sha": "1" * 40}  # the base of back then: nobody may go by it
        pull["head"] |= {
            "ref": branch,
            "sha": head or git(self.sample.folder, "rev-parse", f"refs/heads/{branch}"),
        }
        for side in (pull["base"], pull["head"]):
            side["repo"] |= {"full_name": self.name, "default_branch": base}
        made["repository"] |= {"full_name": self.name, "default_branch": base}
        if "after" in made:
            made["after"] = pull["head"]["sha"]
        return made


def _process(environ: dict[str, str], cwd: Path) -> tuple[int, str, str]:
    done = subprocess.run(COMMAND, cwd=cwd, env=environ, capture_output=True, check=False, timeout=60)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def _inside(environ: dict[str, str]) -> tuple[int, str, str]:
    """The same without a process of its own, for the many ways of ending before anything is fetched."""
    stdout, stderr = io.StringIO(), io.StringIO()
    return main(environ, stdout, stderr), stdout.getvalue(), stderr.getvalue()


def _text(path: Path) -> str:
    return path.read_text() if path.is_file() else ""
