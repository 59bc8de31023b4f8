"""The demonstration: six pull requests, each judged by the real check, in a repository of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from gatekeeper import cli
from gatekeeper import demo as sample

if TYPE_CHECKING:
    from pathlib import Path


def demo(*args: str, cwd: Path, **env: str) -> subprocess.CompletedProcess[str]:
    """Run the command as a process, with these variables beside the PATH and nothing else."""
    command = [sys.executable, "-m", "gatekeeper", "demo", *args]
    kept = {name: os.environ[name] for name in os.environ if name == "PATH" or name.startswith("COVERAGE")}
    return subprocess.run(command, cwd=cwd, env=kept | env, capture_output=True, text=True, check=False)


def test_one_passes_and_five_are_refused(tmp_path: Path) -> None:
    done = demo(cwd=tmp_path, TMPDIR=str(tmp_path))
    assert done.returncode == 0, done.stdout + done.stderr
    assert "1 passed, 5 refused: all 6 as they must." in done.stdout
    assert done.stdout.count("   PASS  ") == 1
    assert done.stdout.count("   $ gatekeeper check --base main ") == len(sample.STORIES) == 6
    for story in sample.STORIES:
        assert story.title in done.stdout
        assert all(code in done.stdout for code in story.must_find)
    assert done.stderr == ""
    assert list(tmp_path.iterdir()) == [], "nothing is left behind"


def test_plain_when_piped_and_narrow_enough_for_a_log(tmp_path: Path) -> None:
    done = demo(cwd=tmp_path)
    assert "\x1b" not in done.stdout
    assert max(len(line) for line in done.stdout.splitlines()) <= 92
    assert done.stdout.isascii()


def test_whatever_surrounds_it(tmp_path: Path) -> None:
    """No home, a git folder that is none, settings that break git, a job's variables: all six as ever."""
    broken = tmp_path / "gitconfig"
    broken.write_text("[commit]\n\tgpgSign = true\n[core]\n\thooksPath = /nowhere\n[init\n")
    env = {
        "HOME": "/nowhere",
        "GIT_DIR": "/nowhere",
        "GIT_INDEX_FILE": "/nowhere",
        "GIT_CONFIG_GLOBAL": str(broken),
    }
    done = demo(cwd=tmp_path, **env, GITHUB_ACTIONS="true", GITHUB_EVENT_PATH="/nowhere", LC_ALL="C")
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_repository_that_is_kept_says_the_same(tmp_path: Path) -> None:
    kept = tmp_path / "new" / "shop"
    done = demo("--keep", str(kept), cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert f"The repository is kept in {kept}\n" in done.stdout
    status = subprocess.run(["git", "status", "--porcelain"], cwd=kept, capture_output=True, check=True)
    assert status.stdout == b""
    for story in sample.STORIES:
        which = ["--base", "main", "--head", story.branch, "--branch", story.branch]
        command = [sys.executable, "-m", "gatekeeper", "check", *which]
        again = subprocess.run(command, cwd=kept, capture_output=True, text=True, check=False)
        assert again.returncode == (1 if story.must_find else 0), again.stdout
        assert all(code in again.stdout for code in story.must_find)


def test_a_folder_that_holds_something_is_not_written_to(tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("mine")
    done = demo("--keep", str(tmp_path), cwd=tmp_path)
    assert done.returncode == 2
    assert "is not empty" in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]


@pytest.mark.parametrize("name", ["mine/new", "mine", "x" * 300])
def test_a_folder_that_can_not_be(tmp_path: Path, name: str) -> None:
    (tmp_path / "mine").write_text("mine")
    done = demo("--keep", str(tmp_path / name), cwd=tmp_path)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    assert "--keep" in done.stderr
    assert "fault of gatekeeper's own" not in done.stderr


def test_a_gate_that_lets_one_through_is_seen(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The demonstration fails where a verdict is not what it must be: it asks the real check."""
    honest = replace(sample.STORIES[0], must_find=frozenset({"GK141"}))
    monkeypatch.setattr(sample, "STORIES", (honest, *sample.STORIES[1:]))
    assert cli.run(["demo"]) == 1
    assert "1 of 6 did not come out as they must." in capsys.readouterr().out


@pytest.mark.parametrize("number", range(1, len(sample.STORIES)))
def test_each_story_is_refused_for_its_own_reason_alone(number: int) -> None:
    """The five moves that the board's own story tells of, in its order."""
    wanted = [{"GK103"}, {"GK111"}, {"GK112"}, {"GK131", "GK141"}, {"GK141"}]
    assert sample.STORIES[number].must_find == wanted[number - 1]


def test_without_git_it_says_so(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "gatekeeper", "demo"],
        cwd=tmp_path,
        env={"PATH": "/nowhere"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert "the git program is not on the PATH" in done.stderr
