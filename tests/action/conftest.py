"""Fixtures: a server on loopback, repositories below it, and the action to run against them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from action.harness import BOARD, BRANCH, EVENTS, FINISHED, Action, Sample, git
from action.server import ApiServer, GitServer, serving

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path


@pytest.fixture(scope="session")
def events() -> dict[str, Any]:
    return {path.stem: json.loads(path.read_text()) for path in EVENTS.glob("*.json")}


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[GitServer]:
    made = GitServer(tmp_path_factory.mktemp("forge"))
    with serving(made):
        yield made


@pytest.fixture
def api() -> Iterator[ApiServer]:
    made = ApiServer()
    with serving(made):
        yield made


@pytest.fixture
def make(tmp_path: Path, server: GitServer, events: dict[str, Any]) -> Iterator[Callable[..., Action]]:
    """Makes a repository with a board on main, known to the server under a name of its own."""
    server.token = ""

    def made(**options: str) -> Action:
        name = f"owner/app{len(list(server.root.glob('owner/*')))}"
        sample = Sample(server.root / name, **options)
        sample.commit("main", BOARD)
        return Action(tmp_path, sample, server, name, events=events)

    yield made
    server.token = ""


@pytest.fixture
def honest(make: Callable[..., Action]) -> Action:
    """A branch that finishes its task, claimed, inside its authority."""
    action = make()
    main = git(action.sample.folder, "rev-parse", "main")
    action.sample.commit(BRANCH, FINISHED, main)
    action.sample.claim(BRANCH, main)
    return action
