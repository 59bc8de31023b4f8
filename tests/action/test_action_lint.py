"""The action's `lint`: the board of the commit that a push, a schedule or a call by hand is about."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from action.harness import BOARD, QUEUED, TASK_FILE, Action, Result, git

if TYPE_CHECKING:
    from collections.abc import Callable

LINKING = TASK_FILE.replace("STATE", "queued") + "\nSee [the guide](/docs/guide.md#steps).\n"


def lint(action: Action, name: str = "push", **env: str | None) -> Result:
    return action.run({"ref": "refs/heads/main"}, name, command="lint", **env)


def pushed(action: Action, files: dict[str, str | None]) -> str:
    return action.sample.commit("main", files, git(action.sample.folder, "rev-parse", "main"))


@pytest.mark.parametrize("name", ["push", "schedule", "workflow_dispatch"])
def test_a_board_that_holds(make: Callable[..., Action], name: str) -> None:
    action = make()
    result = lint(action, name, GITHUB_SHA=git(action.sample.folder, "rev-parse", "main"))
    assert result.status == 0, result.everything
    assert (result.report["command"], result.report["verdict"]) == ("lint", "pass")
    assert (result.outputs["verdict"], result.outputs["lane"], result.outputs["task-id"]) == ("pass", "", "")
    assert "the board holds" in result.summary


def test_links_are_looked_up_in_the_commit_that_was_pushed(make: Callable[..., Action]) -> None:
    action = make()
    broken = pushed(action, {QUEUED: LINKING, "docs/guide.md": "# Guide\n"})
    mended = pushed(action, {"docs/guide.md": "# Guide\n\n## Steps\n"})
    result = lint(action, GITHUB_SHA=broken)
    assert (result.status, result.codes) == (1, ["GK242"]), result.everything
    assert f"::error file={QUEUED}" in result.stdout
    assert lint(action, GITHUB_SHA=mended).status == 0


def test_how_long_ago_a_task_ended_is_told_by_all_of_history(make: Callable[..., Action]) -> None:
    action = make()
    ended = QUEUED.replace("queued", "done").replace("20260814-abcdef01", "20260101-abcdef01")
    text = TASK_FILE.replace("STATE", "done").replace("20260814-abcdef01", "20260101-abcdef01")
    pushed(action, {ended: text})
    commit = pushed(action, {"README.md": "# Later\n"})
    result = lint(action, GITHUB_SHA=commit, now="2026-10-20T12:00:00Z")
    assert result.status == 0, result.everything
    assert {f["code"] for f in result.report["findings"]} == {"GK262"}


@pytest.mark.parametrize("commit", [None, "", "main", "1" * 40])
def test_what_can_not_be_had_is_an_error(make: Callable[..., Action], commit: str | None) -> None:
    action = make()
    assert BOARD
    result = lint(action, GITHUB_SHA=commit)
    assert (result.status, result.report["verdict"], result.report["command"]) == (2, "error", "lint")
