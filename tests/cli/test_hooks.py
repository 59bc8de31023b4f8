"""`hooks install` and the hooks that it writes, run by git itself under today's clock."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from swarming import Swarm, environment, git, real_git, task_id

if TYPE_CHECKING:
    from pathlib import Path

ONE = task_id(1)
HOOKS = {"pre-commit", "pre-push"}


@pytest.fixture
def swarm(tmp_path: Path) -> Swarm:
    """One clone, two agents, nobody holds anything."""
    return Swarm(tmp_path, {1: [], 2: []}, worktrees=2)


@pytest.fixture
def held(swarm: Swarm) -> Swarm:
    """The hooks are installed, and the first agent holds task 1, whose authority is src/1/**."""
    assert swarm.run(swarm.agents[0], "claim", ONE).status == 0
    assert swarm.run(swarm.agents[0], "hooks", "install").status == 0
    return swarm


def run(where: Path, *args: str, **env: str) -> subprocess.CompletedProcess[str]:
    """Run git, hooks and all."""
    return subprocess.run(
        [real_git(), *args],
        cwd=where,
        env=environment(**env),
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


def write(where: Path, name: str, text: str = "x") -> None:
    (where / name).parent.mkdir(parents=True, exist_ok=True)
    (where / name).write_text(text)
    git(where, "add", "--all")


def commit(swarm: Swarm, *args: str, agent: int = 0) -> subprocess.CompletedProcess[str]:
    return run(swarm.agents[agent].path, "commit", "-q", "-m", "work", *args)


# -- before a commit -----------------------------------------------------------------------


def test_a_partial_commit_is_judged_by_what_it_commits(held: Swarm) -> None:
    a = held.agents[0]
    write(a.path, "src/1/a.py")
    write(a.path, "README.md", "out of scope")
    whole = commit(held)
    assert whole.returncode == 1
    assert "'README.md' is outside the authority" in whole.stderr
    part = commit(held, "--", "src/1/a.py")
    assert part.returncode == 0, part.stderr
    assert git(a.path, "show", "--name-only", "--format=") == "src/1/a.py"
    other = commit(held, "--", "README.md")
    assert other.returncode == 1


def test_planning_files_alone_are_committed_with_a_notice(held: Swarm) -> None:
    for number, agent in enumerate(held.agents):
        write(agent.path, ".agents/plan.md", "---\nstatus: draft\nrevision: 1\n---\n")
        done = commit(held, agent=number)
        assert done.returncode == 0, done.stderr
        assert "planning files alone" in done.stdout + done.stderr


def test_an_amend_where_a_rebase_stops_is_the_branch_s(held: Swarm) -> None:
    a = held.agents[0]
    write(a.path, "src/1/a.py")
    assert commit(held).returncode == 0
    run(a.path, "-c", "sequence.editor=sed -i 1s/pick/edit/", "rebase", "-q", "-i", "HEAD~1")
    write(a.path, "src/1/a.py", "y")
    assert commit(held, "--amend").returncode == 0
    write(a.path, "README.md", "out of scope")
    assert commit(held, "--amend").returncode == 1


# -- whose code runs -----------------------------------------------------------------------

PWNED = "import pathlib\npathlib.Path('pwned').touch()\nraise SystemExit(0)\n"


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("click.py", ""),
        ("click.py", "."),
        ("json.py", "{here}"),
        ("gatekeeper/__init__.py", ""),
        ("gatekeeper/__main__.py", ":"),
    ],
)
def test_no_module_of_the_working_tree_runs_in_a_hook(held: Swarm, name: str, found: str) -> None:
    a = held.agents[0]
    if name.endswith("__main__.py"):
        write(a.path, "gatekeeper/__init__.py", "")
    write(a.path, name, PWNED)
    alien = {"PYTHONPATH": found.format(here=a.path)} if found else {}
    done = run(a.path, "commit", "-q", "-m", "x", PATH="/usr/bin:/bin", **alien)
    assert not (a.path / "pwned").exists()
    assert done.returncode == 1
    assert f"'{name}' is outside the authority" in done.stderr


def test_where_python_finds_gatekeeper_today_is_kept_but_for_the_working_tree(
    swarm: Swarm, tmp_path: Path
) -> None:
    a = swarm.agents[0]
    theirs = os.environ.get("PYTHONPATH", "")
    places = ["src", "", str(a.path / "src"), str(tmp_path), *filter(None, theirs.split(":"))]
    assert swarm.run(a, "hooks", "install", PYTHONPATH=":".join(places)).status == 0
    text = (a.clone / ".git" / "hooks" / "pre-commit").read_text()
    kept = re.search("^PYTHONPATH=(.*) PYTHONSAFEPATH=1$", text, re.MULTILINE)
    assert kept
    assert kept[1].strip("'").split(":") == places[3:]


def gone(swarm: Swarm) -> None:
    """Let the gatekeeper that wrote the hooks be taken away."""
    for name in HOOKS:
        path = swarm.clones[0] / ".git" / "hooks" / name
        path.write_text(
            re.sub("^set -- /.*$", "set -- /nowhere/gatekeeper", path.read_text(), flags=re.MULTILINE)
        )


def test_a_gatekeeper_that_is_gone_is_looked_for_on_the_path_and_never_in_the_working_tree(
    held: Swarm,
) -> None:
    a = held.agents[0]
    gone(held)
    write(a.path, "bin/gatekeeper", "#!/bin/sh\ntouch pwned\n")
    (a.path / "bin" / "gatekeeper").chmod(0o755)
    for path in ("/usr/bin:/bin", "bin:/usr/bin:/bin"):
        done = run(a.path, "commit", "-q", "-m", "x", PATH=path)
        assert done.returncode == 1
        assert "run `gatekeeper hooks install` again" in done.stderr
        assert not (a.path / "pwned").exists()
    elsewhere = held.root / "bin"
    elsewhere.mkdir()
    (elsewhere / "gatekeeper").write_text('#!/bin/sh\necho "found: $*" >&2\n')
    (elsewhere / "gatekeeper").chmod(0o755)
    done = run(a.path, "commit", "-q", "-m", "x", PATH=f"{elsewhere}:/usr/bin:/bin")
    assert (done.returncode, done.stderr) == (0, "found: guard --staged\n")


def test_the_command_that_installed_them_is_what_runs(swarm: Swarm) -> None:
    command = swarm.root / "with blank" / "gatekeeper"
    command.parent.mkdir()
    command.write_text(f"#!{sys.executable}\nfrom gatekeeper.__main__ import main\nmain()\n")
    command.chmod(0o755)
    where = swarm.agents[0].path
    subprocess.run(
        [command, "hooks", "install"], cwd=where, env=environment(), check=True, capture_output=True
    )
    assert f"set -- '{command}'\n" in (swarm.clones[0] / ".git" / "hooks" / "pre-push").read_text()
    write(where, "README.md", "x")
    assert "holds no claim" in commit(swarm).stderr


# -- before a push -------------------------------------------------------------------------


@pytest.fixture
def pushing(tmp_path: Path) -> Swarm:
    """A clone of a remote with its hooks; the first agent holds task 1 and has begun."""
    swarm = Swarm(tmp_path, {1: [], 2: []}, clones=1, worktrees=2)
    a = swarm.agents[0]
    assert swarm.run(a, "claim", ONE).status == 0
    assert swarm.run(a, "hooks", "install").status == 0
    write(a.path, "src/1/a.py")
    assert commit(swarm).returncode == 0
    return swarm


def push(swarm: Swarm, *args: str, agent: int = 0) -> subprocess.CompletedProcess[str]:
    return run(swarm.agents[agent].path, "push", "-q", "origin", *args)


def test_what_is_pushed_is_judged_branch_by_branch(pushing: Swarm) -> None:
    a, b = pushing.agents
    for refs in (
        ["HEAD"],
        [a.branch],
        ["HEAD:refs/heads/other"],
        ["HEAD^{/work}:refs/heads/other"],
        [b.branch, a.branch],
    ):
        done = push(pushing, *refs, agent=1 if a.branch in refs else 0)
        assert done.returncode != 0, refs
        assert "GK101" in done.stdout + done.stderr
    assert git(pushing.authority, "for-each-ref", "refs/heads", "--format=%(refname)") == "refs/heads/main"
    assert pushing.run(a, "done", ONE).status == 0
    assert commit(pushing).returncode == 0
    assert push(pushing, f"{a.branch}:refs/heads/other").returncode != 0, "the claim is for another branch"
    done = push(pushing, a.branch, agent=1)
    assert done.returncode == 0, done.stderr
    assert git(pushing.authority, "rev-parse", a.branch) == git(a.path, "rev-parse", "HEAD")


def test_tags_and_deletions_are_no_work_to_judge(pushing: Swarm) -> None:
    a = pushing.agents[0]
    assert push(pushing, "--no-verify", "HEAD:refs/heads/old").returncode == 0
    git(a.path, "tag", "v1")
    for refs in (["v1"], ["--delete", "old"], ["HEAD:refs/notes/x"]):
        done = push(pushing, *refs)
        assert done.returncode == 0, done.stderr
    assert push(pushing, "--delete", "v1").returncode == 0
    mixed = push(pushing, "HEAD:refs/tags/v2", "HEAD")
    assert mixed.returncode != 0
    assert "refs/tags/v2" not in git(pushing.authority, "for-each-ref")


# -- installing ----------------------------------------------------------------------------


def test_a_folder_of_hooks_that_all_repositories_share_is_left_alone(swarm: Swarm, tmp_path: Path) -> None:
    a = swarm.agents[0]
    shared = tmp_path / "shared hooks"
    settings = tmp_path / "gitconfig"
    settings.write_text(f'[core]\n\thooksPath = "{shared}"\n')
    ran = swarm.run(a, "hooks", "install", GIT_CONFIG_GLOBAL=str(settings))
    assert ran.status == 1
    assert "core.hooksPath is a global setting" in ran.err
    assert not shared.exists()
    mend = re.search("git config core.hooksPath (.*)$", ran.err, re.MULTILINE)
    assert mend
    git(a.path, "config", "core.hooksPath", mend[1])
    assert swarm.run(a, "hooks", "install", GIT_CONFIG_GLOBAL=str(settings)).status == 0
    assert {path.name for path in (a.clone / ".git" / "hooks").iterdir()} == HOOKS


def test_hooks_that_are_turned_off_are_not_turned_on(swarm: Swarm) -> None:
    git(swarm.clones[0], "config", "core.hooksPath", os.devnull)
    ran = swarm.run(swarm.agents[0], "hooks", "install")
    assert ran.status == 1
    assert "core.hooksPath is /dev/null" in ran.err
    assert "git config --unset core.hooksPath" in ran.err


def test_hooks_are_written_executable_and_again(swarm: Swarm) -> None:
    for _ in range(2):
        ran = swarm.run(swarm.agents[1], "hooks", "install")  # from a linked worktree
        assert ran.status == 0, ran.err
    folder = swarm.clones[0] / ".git" / "hooks"
    assert {path.name for path in folder.iterdir()} == HOOKS
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
    assert {path.name for path in (a.path / "our hooks").iterdir()} == HOOKS


def test_outside_a_repository_there_are_no_hooks(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "gatekeeper", "hooks", "install"]
    env = environment(GIT_CEILING_DIRECTORIES=str(tmp_path.parent))
    done = subprocess.run(
        command, cwd=tmp_path, env=env, capture_output=True, text=True, check=False, timeout=60
    )
    assert done.returncode == 2
    assert list(tmp_path.iterdir()) == []
