"""`guard`: may this branch write these paths now? As a command, over what is staged, and as a coding agent's hook.

How git's own hooks are written and what they do is in test_hooks.py.
"""

from __future__ import annotations

import io
import json
import subprocess
import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

import pytest

from gatekeeper.cli import guard
from swarming import CLAIMS, Swarm, environment, git, task_id, task_text

if TYPE_CHECKING:
    from pathlib import Path

    from running import Ran

T0, T20, T31 = "2026-03-10T08:00:00Z", "2026-03-10T08:20:00Z", "2026-03-10T08:31:00Z"
ONE = task_id(1)
OWN = f".agents/tasks/queued/{ONE}.md"


@pytest.fixture
def swarm(tmp_path: Path) -> Swarm:
    """One clone, two agents; the first holds task 1, whose authority is src/1/**."""
    swarm = Swarm(tmp_path, {1: [], 2: []}, worktrees=2)
    assert swarm.call(swarm.agents[0], "claim", ONE, now=T0).status == 0
    return swarm


@pytest.mark.parametrize(
    ("paths", "status"),
    [
        ([], 0),
        (["src/1/a.py"], 0),
        (["src/1/deep/er/a.py", OWN], 0),
        ([f".agents/tasks/done/{ONE}.md"], 0),
        ([".agents/proposals/idea.md"], 0),
        (["src/2/a.py"], 1),
        (["src/1/a.py", "README.md"], 1),
        ([f".agents/tasks/queued/{task_id(2)}.md"], 1),
        ([".github/gatekeeper.yml"], 1),
        ([".github/workflows/ci.yml"], 1),
        (["src/1/../2/a.py"], 1),
        (["../outside"], 1),
        (["src/1"], 1),
        (["/etc/passwd"], 1),
    ],
)
def test_paths_are_held_against_the_authority(swarm: Swarm, paths: list[str], status: int) -> None:
    ran = swarm.run(swarm.agents[0], "guard", *paths, now=T20)
    assert ran.status == status, ran
    if status:
        assert ONE in ran.err
        assert ran.out == ""


@pytest.fixture
def wide(tmp_path: Path) -> Swarm:
    """One clone whose task 1 may touch everything, held by the first agent."""
    swarm = Swarm(tmp_path, {1: []}, worktrees=2)
    clone = swarm.clones[0]
    (clone / OWN).write_text(task_text(1).replace("src/1/**", '"**"'))
    git(clone, "commit", "--quiet", "--all", "-m", "wide")
    assert swarm.call(swarm.agents[0], "claim", ONE, now=T0).status == 0
    return swarm


@pytest.mark.parametrize(
    ("path", "allowed"),
    [
        ("src/new.py", True),
        ("src/../README.md", True),
        (".gitignore", True),
        ("/etc/passwd", False),
        ("../outside", False),
        ("../../clone0/README.md", False),
        ("{clone}/.git/hooks/pre-commit", False),
        (".git", False),
        (".git/config", False),
        (".GIT/config", False),
        ("vendor/.git/config", False),
        (".git./config", False),
        (".", False),
        ("src/..", False),
        ("{here}", False),
        ("", False),
        ("~/.bashrc", None),  # a shell has expanded it for the command; a tool does so itself
        (" /etc/passwd", None),
        ("out", False),
        ("sneaky/x", False),
        ("inside/x", True),
    ],
)
def test_no_pattern_opens_git_s_folder_or_the_world(wide: Swarm, path: str, allowed: bool | None) -> None:
    a = wide.agents[0]
    (a.path / "src").mkdir()
    (a.path / "out").symlink_to(wide.root / "elsewhere")
    (a.path / "sneaky").symlink_to(wide.root)
    (a.path / "inside").symlink_to("src")
    filled = path.format(here=a.path, clone=a.clone)
    if allowed is not None:
        assert wide.call(a, "guard", filled, now=T20).status == (0 if allowed else 1)
    assert hook(wide, call("Write", file_path=filled)).status == (0 if allowed else 2)


def test_git_s_folder_is_known_by_where_it_is_as_well(wide: Swarm) -> None:
    clone = wide.clones[0]
    (clone / ".git").rename(clone / "meta")
    (clone / ".git").write_text("gitdir: meta\n")
    git(clone, "worktree", "repair", str(wide.agents[0].path), str(wide.agents[1].path))
    git(clone, "branch", "--move", "agent/clone0-0", "agent/elsewhere")
    git(clone, "switch", "--quiet", "--create", "agent/clone0-0")
    for path, status in {"src/x": 0, "meta/config": 1, "meta/hooks/pre-commit": 1}.items():
        ran = wide.call(replace(wide.agents[0], path=clone), "guard", path, now=T20)
        assert ran.status == status, ran
    below = replace(wide.agents[0], path=clone / "meta")
    assert wide.call(below, "guard", "config", now=T20).status == 1


@pytest.mark.parametrize("path", ["src/1/link/../secret.py", "{}/src/1/link/../secret.py", "src/1/link/x"])
def test_two_dots_behind_a_link_go_where_the_system_goes(swarm: Swarm, path: str) -> None:
    a = swarm.agents[0]
    (a.path / "src" / "1").mkdir(parents=True)
    (a.path / "src" / "2" / "deep").mkdir(parents=True)
    (a.path / "src" / "1" / "link").symlink_to("../2/deep")
    (a.path / "src" / "2" / "secret.py").write_text("x")
    filled = path.format(a.path)
    ran = swarm.call(a, "guard", filled, now=T20)
    assert ran.status == 1
    assert "src/2/" in ran.err
    assert hook(swarm, call("Write", file_path=filled)).status == 2


def test_two_dots_count_as_text_as_well(swarm: Swarm) -> None:
    """A tool may take them out of the path before it opens it: then `src/2/link/../x` is `src/2/x`."""
    a = swarm.agents[0]
    (a.path / "src" / "1" / "deep").mkdir(parents=True)
    (a.path / "src" / "2").mkdir(parents=True)
    (a.path / "src" / "2" / "link").symlink_to("../1/deep")
    assert swarm.call(a, "guard", "src/2/link/../x", now=T20).status == 1
    assert swarm.call(a, "guard", "src/2/link/x", now=T20).status == 0


def test_what_was_changed_against_the_rules_can_be_undone(swarm: Swarm) -> None:
    a = swarm.agents[0]
    (a.path / "README.md").write_text("rewritten\n")
    (a.path / "elsewhere.md").write_text("x\n")
    git(a.path, "add", "--all")
    assert swarm.call(a, "guard", "--staged", now=T20).status == 1
    git(a.path, "commit", "--quiet", "--no-verify", "--message", "outside of the task")
    git(a.path, "rm", "--quiet", "elsewhere.md")
    git(a.path, "restore", "--staged", "--worktree", "--source=main", "README.md")
    assert swarm.call(a, "guard", "--staged", now=T20).status == 0


def test_it_writes_nothing_and_asks_nobody(swarm: Swarm) -> None:
    before = swarm.refs()
    assert swarm.call(swarm.agents[0], "guard", str(swarm.agents[0].path / "src/1/x"), now=T20).status == 0
    assert swarm.refs() == before


def test_without_a_claim_nothing_may_be_written_but_planning_files(swarm: Swarm) -> None:
    b = swarm.agents[1]
    refused = swarm.run(b, "guard", "src/2/a.py", now=T20)
    assert refused.status == 1
    assert "holds no claim" in refused.err
    assert swarm.run(b, "guard", now=T20).status == 1
    planning = swarm.run(b, "guard", ".agents/plan.md", ".github/gatekeeper.yml", now=T20)
    assert planning.status == 0
    assert "planning files alone" in planning.out
    assert swarm.run(b, "guard", ".agents/plan.md", "README.md", now=T20).status == 1


def test_a_task_that_goes_to_done_is_no_planning(swarm: Swarm) -> None:
    b = swarm.agents[1]
    assert swarm.call(b, "guard", f".agents/tasks/queued/{task_id(2)}.md", now=T20).status == 0
    refused = swarm.call(b, "guard", f".agents/tasks/done/{task_id(2)}.md", now=T20)
    assert refused.status == 1
    assert "holds no claim" in refused.err
    assert swarm.call(b, "guard", ".agents/.git/config", now=T20).status == 1


def test_past_the_lease_nothing_may_be_written(swarm: Swarm) -> None:
    assert swarm.run(swarm.agents[0], "guard", "src/1/a", now="2026-03-10T08:30:00Z").status == 0
    late = swarm.run(swarm.agents[0], "guard", "src/1/a", now=T31)
    assert late.status == 1
    assert "gatekeeper renew" in late.err


def test_a_plan_that_moved_stops_the_work(swarm: Swarm) -> None:
    clone = swarm.clones[0]
    (clone / ".agents" / "plan.md").write_text("---\nstatus: approved\nrevision: 3\n---\n# Plan\n")
    git(clone, "add", "--all")
    git(clone, "commit", "--quiet", "-m", "plan")
    ran = swarm.run(swarm.agents[0], "guard", "src/1/a", now=T20)
    assert ran.status == 1
    assert "plan revision" in ran.err


def test_a_claim_that_can_not_be_read_lets_nothing_through(swarm: Swarm) -> None:
    oid = git(swarm.authority, "hash-object", "-w", "--stdin", stdin="{")
    git(swarm.authority, "update-ref", CLAIMS + ONE, oid)
    assert swarm.run(swarm.agents[0], "guard", "src/1/a", now=T20).status == 1


# -- what is staged ------------------------------------------------------------------------


def test_what_is_staged_is_asked_and_nothing_else(swarm: Swarm) -> None:
    a = swarm.agents[0]
    (a.path / "src" / "1").mkdir(parents=True)
    (a.path / "src" / "1" / "ünï\nx.py").write_text("x")
    (a.path / "README.md").write_text("changed, and not staged")
    git(a.path, "add", "src")
    assert swarm.run(a, "guard", "--staged", now=T20).status == 0
    git(a.path, "add", "README.md")
    ran = swarm.run(a, "guard", "--staged", now=T20)
    assert ran.status == 1
    assert "README.md" in ran.err


def test_a_rename_is_two_paths(swarm: Swarm) -> None:
    a = swarm.agents[0]
    (a.path / "src" / "1").mkdir(parents=True)
    git(a.path, "mv", "README.md", "src/1/README.md")
    assert swarm.run(a, "guard", "--staged", now=T20).status == 1


@pytest.mark.parametrize("now", [T20, T31], ids=["live", "expired"])
def test_a_commit_of_planning_files_alone_passes_beside_a_claim(swarm: Swarm, now: str) -> None:
    a = swarm.agents[0]
    (a.path / ".agents" / "plan.md").write_text("---\nstatus: draft\nrevision: 1\n---\n")
    git(a.path, "add", "--all")
    ran = swarm.call(a, "guard", "--staged", now=now)
    assert ran.status == 0, ran.err
    assert "planning files alone" in ran.out
    assert swarm.call(a, "guard", ".agents/plan.md", now=now).status == 1, "a task's work it is not"
    (a.path / "README.md").write_text("changed")
    git(a.path, "add", "--all")
    assert swarm.call(a, "guard", "--staged", now=now).status == 1


def test_a_commit_that_ends_the_task_needs_the_claim(swarm: Swarm) -> None:
    a = swarm.agents[0]
    assert swarm.call(a, "done", ONE).status == 0
    assert swarm.call(a, "guard", "--staged", now=T20).status == 0
    late = swarm.call(a, "guard", "--staged", now=T31)
    assert late.status == 1
    assert "gatekeeper renew" in late.err


def test_while_a_branch_is_rebased_it_is_that_branch(swarm: Swarm) -> None:
    a = swarm.agents[0]
    (a.path / "src" / "1").mkdir(parents=True)
    (a.path / "src" / "1" / "a.py").write_text("x")
    git(a.path, "add", "--all")
    git(a.path, "commit", "--quiet", "-m", "work")
    git(a.path, "-c", "sequence.editor=sed -i 1s/pick/edit/", "rebase", "--quiet", "--interactive", "main~0")
    assert git(a.path, "branch", "--show-current") == ""
    (a.path / "src" / "1" / "a.py").write_text("y")
    git(a.path, "add", "--all")
    assert swarm.call(a, "guard", "--staged", now=T20).status == 0
    assert swarm.call(a, "renew", now=T20).status == 0, "a heartbeat goes on"
    git(a.path, "rebase", "--abort")
    git(a.path, "switch", "--quiet", "--detach")
    assert "a detached HEAD holds no claim" in swarm.call(a, "guard", "--staged", now=T20).err


# -- a coding agent's hook -----------------------------------------------------------------------


def call(tool: str, **inputs: Any) -> str:
    return json.dumps({"hook_event_name": "PreToolUse", "tool_name": tool, "tool_input": inputs})


def hook(swarm: Swarm, text: str, agent: int = 0, now: str = T20) -> Ran:
    with patch("sys.stdin", io.TextIOWrapper(io.BytesIO(text.encode()))):
        return swarm.call(swarm.agents[agent], "guard", "--hook", "claude", now=now)


@pytest.mark.parametrize(
    ("tool", "inputs", "status"),
    [
        ("Write", {"file_path": "src/1/a.py", "content": "x"}, 0),
        ("Edit", {"file_path": "{}/src/1/a.py"}, 0),
        ("MultiEdit", {"file_path": "{}/src/2/a.py", "edits": []}, 2),
        ("Write", {"file_path": "{}/README.md"}, 2),
        ("NotebookEdit", {"notebook_path": "{}/src/1/n.ipynb"}, 0),
        ("NotebookEdit", {"notebook_path": "{}/n.ipynb"}, 2),
        ("Write", {"file_path": "{}/../elsewhere"}, 2),
        ("Write", {"file_path": "a\0b"}, 2),
        ("Write", {"file_path": "src/2/a\n::error::x"}, 2),
        ("Write", {}, 2),
        ("Write", {"file_path": ["src/1/a.py"]}, 2),
        ("Write", {"file_path": None}, 2),
        ("Write", {"file_path": ""}, 2),
        ("Write", {"file_path": "src/1/big", "content": "x" * 5_000_000}, 0),
        ("Write", {"content": "x" * 5_000_000, "file_path": "README.md"}, 2),
        ("Read", {"file_path": "{}/README.md"}, 0),
        ("Bash", {"command": "ls"}, 0),
    ],
)
def test_the_hook_refuses_by_exit_2_and_a_reason(
    swarm: Swarm, tool: str, inputs: dict[str, Any], status: int
) -> None:
    where = str(swarm.agents[0].path)
    filled = {k: v.replace("{}", where) if isinstance(v, str) else v for k, v in inputs.items()}
    ran = hook(swarm, call(tool, **filled))
    assert ran.status == status, ran
    assert bool(ran.err.strip()) == (status == 2)
    assert "\n::error" not in ran.err


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", "null", "7", '{"tool_name": ["Write"]}', "[" * 50_000,
     '{"tool_name": "Write", "tool_input": []}', '{"tool_name": "Write", "tool_input": {"file_path": "\\ud800"}}'],
)  # fmt: skip
def test_what_is_no_tool_call_allows_nothing(swarm: Swarm, text: str) -> None:
    ran = hook(swarm, text)
    assert ran.status == 2
    assert ran.err.strip()


def test_a_tool_call_without_an_end_is_not_read_to_its_end(
    swarm: Swarm, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(guard, "MAX_CALL", 1 << 20)
    text = call("Write", file_path="src/1/a.py", content="x" * (1 << 20))
    ran = hook(swarm, text)
    assert ran.status == 2
    assert "more than 1 MiB" in ran.err


def test_the_hook_of_a_branch_without_a_claim_refuses(swarm: Swarm) -> None:
    ran = hook(swarm, call("Write", file_path="src/2/a.py"), agent=1)
    assert ran.status == 2
    assert "gatekeeper claim --next" in ran.err


def test_the_hook_is_a_process_of_its_own(swarm: Swarm) -> None:
    for path, status in {"src/1/a.py": 0, "README.md": 2}.items():
        done = subprocess.run(
            [sys.executable, "-m", "gatekeeper", "--now", T20, "guard", "--hook", "claude"],
            cwd=swarm.agents[0].path,
            env=environment(),
            input=call("Write", file_path=path),
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
        assert done.returncode == status, done
        assert bool(done.stderr) == bool(status)


def test_a_link_is_judged_by_where_it_leads(swarm: Swarm) -> None:
    a = swarm.agents[0]
    (a.path / "src" / "1").mkdir(parents=True)
    (a.path / "src" / "1" / "out").symlink_to(a.path / "README.md")
    assert hook(swarm, call("Write", file_path="src/1/out")).status == 2
