"""`guard`: may this branch write these paths now? As a command, over what is staged, and as a coding agent's hook."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from swarming import CLAIMS, Swarm, environment, git, task_id

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


def hooked(swarm: Swarm, now: str = T20) -> None:
    """Install the hooks with a `gatekeeper` beside them that knows what time it is."""
    bin_folder = swarm.root / "bin"
    bin_folder.mkdir()
    script = bin_folder / "gatekeeper"
    script.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m gatekeeper --now {now} "$@"\n')
    script.chmod(0o755)
    assert swarm.run(swarm.agents[0], "hooks", "install").status == 0


def commit(swarm: Swarm, *args: str, agent: int = 0) -> subprocess.CompletedProcess[str]:
    env = environment()
    env["PATH"] = f"{swarm.root / 'bin'}:{env['PATH']}"
    command = ["git", "commit", "-q", "-m", "work", *args]
    where = swarm.agents[agent].path
    return subprocess.run(
        command, cwd=where, env=env, capture_output=True, text=True, check=False, timeout=60
    )


def test_a_partial_commit_is_judged_by_what_it_commits(swarm: Swarm) -> None:
    hooked(swarm)
    a = swarm.agents[0]
    (a.path / "src" / "1").mkdir(parents=True)
    (a.path / "src" / "1" / "a.py").write_text("x")
    (a.path / "README.md").write_text("out of scope")
    git(a.path, "add", "--all")
    whole = commit(swarm)
    assert whole.returncode == 1
    assert "'README.md' is outside the authority" in whole.stderr
    part = commit(swarm, "--", "src/1/a.py")
    assert part.returncode == 0, part.stderr
    assert git(a.path, "show", "--name-only", "--format=") == "src/1/a.py"
    other = commit(swarm, "--", "README.md")
    assert other.returncode == 1


def test_planning_files_alone_are_committed_with_a_notice(swarm: Swarm) -> None:
    hooked(swarm)
    b = swarm.agents[1]
    (b.path / ".agents" / "plan.md").write_text("---\nstatus: draft\nrevision: 1\n---\n")
    git(b.path, "add", "--all")
    done = commit(swarm, agent=1)
    assert done.returncode == 0, done.stderr
    assert "planning files alone" in done.stdout + done.stderr


# -- a coding agent's hook -----------------------------------------------------------------------


def call(tool: str, **inputs: Any) -> str:
    return json.dumps({"hook_event_name": "PreToolUse", "tool_name": tool, "tool_input": inputs})


def hook(swarm: Swarm, text: str, agent: int = 0, now: str = T20) -> Ran:
    from running import Ran  # noqa: PLC0415 -- a name for what comes back

    command = [sys.executable, "-m", "gatekeeper", "--now", now, "guard", "--hook", "claude"]
    where = swarm.agents[agent].path
    done = subprocess.run(
        command,
        cwd=where,
        env=environment(),
        input=text,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert "Traceback" not in done.stderr
    return Ran(done.returncode, done.stdout, done.stderr)


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


def test_the_hook_of_a_branch_without_a_claim_refuses(swarm: Swarm) -> None:
    ran = hook(swarm, call("Write", file_path="src/2/a.py"), agent=1)
    assert ran.status == 2
    assert "gatekeeper claim --next" in ran.err


def test_a_link_is_judged_by_where_it_leads(swarm: Swarm) -> None:
    a = swarm.agents[0]
    (a.path / "src" / "1").mkdir(parents=True)
    (a.path / "src" / "1" / "out").symlink_to(a.path / "README.md")
    assert hook(swarm, call("Write", file_path="src/1/out")).status == 2


# -- installing hooks ---------------------------------------------------------------------------


def test_hooks_are_written_executable_and_again(swarm: Swarm) -> None:
    for _ in range(2):
        ran = swarm.run(swarm.agents[1], "hooks", "install")  # from a linked worktree
        assert ran.status == 0, ran.err
    folder = swarm.clones[0] / ".git" / "hooks"
    assert {path.name for path in folder.iterdir()} == {"pre-commit", "pre-push"}
    assert all(path.stat().st_mode & 0o111 for path in folder.iterdir())


@pytest.mark.parametrize("foreign", ["pre-commit", "pre-push"])
def test_a_hook_that_is_not_ours_is_never_overwritten(swarm: Swarm, foreign: str) -> None:
    folder = swarm.clones[0] / ".git" / "hooks"
    folder.mkdir()
    (folder / foreign).write_text("#!/bin/sh\n")
    ran = swarm.run(swarm.agents[0], "hooks", "install")
    assert ran.status == 1
    assert foreign in ran.err
    assert (folder / foreign).read_text() == "#!/bin/sh\n"
    assert [path.name for path in folder.iterdir()] == [foreign]  # nothing at all


def test_a_link_in_a_hook_s_place_is_not_ours(swarm: Swarm) -> None:
    folder = swarm.clones[0] / ".git" / "hooks"
    folder.mkdir()
    (folder / "pre-commit").symlink_to("nowhere")
    assert swarm.run(swarm.agents[0], "hooks", "install").status == 1


def test_hooks_go_where_git_looks_for_them(swarm: Swarm) -> None:
    a = swarm.agents[0]
    git(a.clone, "config", "core.hooksPath", "our hooks")
    assert swarm.run(a, "hooks", "install").status == 0
    assert {path.name for path in (a.path / "our hooks").iterdir()} == {"pre-commit", "pre-push"}


def test_outside_a_repository_there_are_no_hooks(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "gatekeeper", "hooks", "install"]
    env = environment(GIT_CEILING_DIRECTORIES=str(tmp_path.parent))
    done = subprocess.run(
        command, cwd=tmp_path, env=env, capture_output=True, text=True, check=False, timeout=60
    )
    assert done.returncode == 2
    assert list(tmp_path.iterdir()) == []
