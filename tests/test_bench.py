"""The benchmark measures what it says: its repositories hold an honest pull request, and its script runs."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from types import ModuleType

BENCH = Path(__file__).resolve().parent.parent / "bench"


def module(name: str) -> ModuleType:
    """One of the benchmark's files, as `python bench/run.py` sees it."""
    spec = importlib.util.spec_from_file_location(name, BENCH / f"{name}.py")
    assert spec
    assert spec.loader
    made = importlib.util.module_from_spec(spec)
    sys.modules[name] = made  # dataclasses look their module up
    spec.loader.exec_module(made)
    return made


@pytest.fixture(scope="module")
def repositories() -> ModuleType:
    """What makes the repositories."""
    return module("repositories")


@pytest.fixture(scope="module")
def tiny(repositories: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository as the benchmark makes it, with little in it."""
    path = tmp_path_factory.mktemp("bench") / "tiny"
    repositories.make(repositories.Size("tiny", tasks=12, files=30, changed=7, log=40, commits=3), path)
    return path


def test_it_is_as_large_as_it_says(tiny: Path) -> None:
    def count(*args: str) -> int:
        return len(
            subprocess.run(["git", *args], cwd=tiny, capture_output=True, check=True).stdout.splitlines()
        )

    assert count("ls-tree", "-r", "--name-only", "main", ".agents/tasks/") == 12
    assert count("ls-tree", "-r", "--name-only", "main", "src/") == 30
    assert count("for-each-ref", "refs/swarm/claim-log/") == 40
    assert count("fsck", "--strict") == 0


def test_the_pull_request_passes_and_the_script_runs(
    tiny: Path, repositories: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "repositories", repositories)
    run = module("run")
    commands = run.commands("tiny")
    check = [sys.executable, "-m", "gatekeeper", *commands["check"][1:]]
    done = subprocess.run(check, cwd=tiny, env=run.environment(), capture_output=True, check=False)
    report = json.loads(done.stdout)
    assert (report["verdict"], report["changed_paths"]) == ("pass", 7 + 2)
    assert report["claim"]["state"] == "live"
    seconds, memory = run.once(commands["bare"], tiny, os.environ)
    assert seconds > 0
    assert memory > 1


@pytest.fixture
def lint(repositories: ModuleType, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The benchmark of lint, and what it imports."""
    monkeypatch.setitem(sys.modules, "repositories", repositories)
    for name in ("run", "lintboards"):
        monkeypatch.setitem(sys.modules, name, module(name))
    return module("lint")


def test_lint_finds_what_is_planted_and_nothing_else(
    lint: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    boards = sys.modules["lintboards"]
    monkeypatch.setattr(lint, "GATEKEEPER", [sys.executable, "-m", "gatekeeper", *lint.GATEKEEPER[1:]])
    monkeypatch.setattr(lint, "installed", lambda: False)
    boards.make(tmp_path / "410", 410)
    board = boards.opened(tmp_path, 410)
    assert len(board.planted) == 11 + 9
    assert {plant.kind for plant in board.planted} == {None, *range(len(boards.BROKEN))}
    link_checks = lint.tools()
    assert lint.judged(board, link_checks) == {lint.OURS: lint.Score(11, 11, 0, ())}
    timed = lint.measure([board], link_checks, 1)
    assert set(timed) == {(410, "lint"), (410, lint.OURS)}
    with pytest.raises(SystemExit):
        lint.judged(board._replace(planted=board.planted[1:]), link_checks)


def test_what_other_link_checks_print_is_read(lint: ModuleType) -> None:
    """As remark-cli 12.0.1 and markdown-link-check 3.15.0 print it."""
    remark = (
        "a/b.md\n"
        "23:10-23:36 warning Cannot find file `../gone-1.md`; did you mean `x.md` missing-file remark-validate-links\n"
        "  3:1-3:2   warning Cannot find heading for `#nowhere-1`                missing-heading remark-validate-links\n"
        "\nc d.md\n1:2-1:3 warning Cannot find file `x`\n\n\u26a0 3 warnings\n"
    )
    assert [(path, message[:40]) for path, message in lint.remark(remark)] == [
        ("a/b.md", "23:10-23:36 warning Cannot find file `.."),
        ("a/b.md", "3:1-3:2   warning Cannot find heading fo"),
        ("c d.md", "1:2-1:3 warning Cannot find file `x`"),
    ]
    dead = (
        "\n  ERROR: 2 dead links found in a b.md !\n  [\u2716] ../gone%201.md \u2192 Status: 400\n"
        "  [\u2716] #x \u2192 Status: 404\n\n  ERROR: 1 dead link found in c.md !\n  [\u2716] y \u2192 Status: 400\n"
    )
    assert list(lint.markdown_link_check(dead)) == [
        ("a b.md", "../gone 1.md"),
        ("a b.md", "#x"),
        ("c.md", "y"),
    ]
