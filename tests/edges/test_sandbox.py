"""Repositories made from data: what was asked for is there, and nothing of the user's is in it."""

from __future__ import annotations

import os
import subprocess
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest

from gatekeeper.edges.sandbox import NewCommit, Sandbox
from gatekeeper.errors import RepositoryUnreadable

if TYPE_CHECKING:
    from pathlib import Path

WHEN = datetime(2026, 3, 10, 12, tzinfo=UTC)


def git(folder: Path, *args: str) -> str:
    """What git prints in the folder."""
    done = subprocess.run(["git", *args], cwd=folder, capture_output=True, text=True, check=True)
    return done.stdout.strip()


@pytest.fixture
def sandbox(tmp_path: Path) -> Sandbox:
    """Two branches: the second adds one file and drops another."""
    made = Sandbox(tmp_path, os.environ)
    first = NewCommit("main", None, "Olga", WHEN, "First", {"a": "one\n", "b/c": "nö\n"})
    made.commit([first, NewCommit("agent/x", "main", "Bob", WHEN, "Second\n\nMore.", {"a": None, "d": ""})])
    return made


def test_branches_hold_what_was_asked_for(sandbox: Sandbox, tmp_path: Path) -> None:
    assert git(tmp_path, "ls-tree", "-r", "--name-only", "main").split() == ["a", "b/c"]
    assert git(tmp_path, "ls-tree", "-r", "--name-only", "agent/x").split() == ["b/c", "d"]
    assert git(tmp_path, "cat-file", "blob", "main:b/c") == "nö"
    assert sandbox.tip("agent/x") == git(tmp_path, "rev-parse", "agent/x")
    assert git(tmp_path, "rev-parse", "agent/x^") == sandbox.tip("main")
    assert (
        git(tmp_path, "log", "-1", "--format=%an %cn %ci %B", "agent/x")
        == "Bob Bob 2026-03-10 12:00:00 +0000 Second\n\nMore."
    )
    assert git(tmp_path, "fsck", "--strict") == ""


def test_a_checkout_is_clean(sandbox: Sandbox, tmp_path: Path) -> None:
    sandbox.check_out("agent/x")
    assert (tmp_path / "b" / "c").read_text() == "nö\n"
    assert git(tmp_path, "status", "--porcelain", "--branch") == "## agent/x"


def test_refs_stand_at_one_blob(sandbox: Sandbox, tmp_path: Path) -> None:
    sandbox.point(["refs/swarm/one", "refs/swarm/two"], b"\0bytes\n")
    assert len(set(git(tmp_path, "for-each-ref", "--format=%(objectname)", "refs/swarm").split())) == 1
    with pytest.raises(RepositoryUnreadable, match="git update-ref failed"):
        sandbox.point(["refs/swarm/one"], b"other\n")


def test_the_users_settings_have_no_say(tmp_path: Path) -> None:
    config = tmp_path / "config"
    config.write_text(
        "[init]\n\ttemplateDir = /nowhere\n\tdefaultBranch = odd\n[commit]\n\tgpgSign = true\n[nonsense\n"
    )
    environ = dict(os.environ) | {"GIT_CONFIG_GLOBAL": str(config), "GIT_DIR": "/nowhere", "HOME": "/nowhere"}
    folder = tmp_path / "repo"
    folder.mkdir()
    Sandbox(folder, environ).commit([NewCommit("main", None, "Olga", WHEN, "First", {"a": "one\n"})])
    assert git(folder, "symbolic-ref", "HEAD") == "refs/heads/main"
