"""The guard asks no remote, and still knows the base that `claim` has just heard of."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

TASK = """---
id: {id}
title: Write it
status: queued
classification: docs
authority: {{paths: [docs/]}}
---
# Write it
"""
NOW = "2026-08-20T12:00:00Z"


def git(cwd: Path, *args: str) -> None:
    who = ["-c", "user.name=t", "-c", "user.email=t@example.com"]
    subprocess.run(["git", *who, *args], cwd=cwd, check=True, capture_output=True)


def gatekeeper(cwd: Path, *args: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "gatekeeper", "--now", NOW, *args]
    return subprocess.run(command, cwd=cwd, check=False, capture_output=True, text=True)


def queue(origin: Path, task: str) -> None:
    folder = origin / ".agents/tasks/queued"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{task}.md").write_text(TASK.format(id=task))
    git(origin, "add", "-A")
    git(origin, "commit", "-q", "-m", task)


def test_a_task_queued_after_the_last_pull_is_claimed_and_guarded(tmp_path: Path) -> None:
    origin, clone = tmp_path / "origin", tmp_path / "clone"
    git(tmp_path, "init", "-q", "-b", "main", "origin")
    queue(origin, "T-20260814-00000001")
    git(tmp_path, "clone", "-q", "origin", "clone")
    git(clone, "switch", "-q", "-c", "agent/x")
    git(clone, "branch", "-q", "-D", "main")  # a clone need not have a branch of base's name
    queue(origin, "T-20260814-00000002")
    claimed = gatekeeper(clone, "claim", "T-20260814-00000002", "--agent", "x")
    assert claimed.returncode == 0, claimed.stderr
    assert gatekeeper(clone, "guard", "docs/a.md").returncode == 0
    refused = gatekeeper(clone, "guard", "src/a.py")
    assert refused.returncode == 1
    assert "src/a.py" in refused.stderr


def test_a_claim_from_the_base_branch_is_refused_whatever_base_is_called(tmp_path: Path) -> None:
    origin, clone = tmp_path / "origin", tmp_path / "clone"
    git(tmp_path, "init", "-q", "-b", "release/1", "origin")
    queue(origin, "T-20260814-00000001")
    git(tmp_path, "clone", "-q", "origin", "clone")
    for more in ([], ["--local"]):
        refused = gatekeeper(clone, "claim", "T-20260814-00000001", "--agent", "x", *more)
        assert refused.returncode == 1
        assert "'release/1' is the base branch" in refused.stderr
