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
