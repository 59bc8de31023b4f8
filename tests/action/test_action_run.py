"""The action run as a process, over HTTP, with GitHub's own events."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from conftest import BRANCH, TASK, Action, commands, git

PULLS = ["opened", "synchronize", "reopened", "ready_for_review"]


@pytest.mark.parametrize("what", PULLS)
def test_an_honest_pull_request_passes(honest: Action, what: str) -> None:
    result = honest.run(honest.event(f"pull_request.{what}"))
    assert (result.status, result.report["verdict"], result.codes) == (0, "pass", []), result.everything
    assert result.outputs | {"report": ""} == {
        "verdict": "pass",
        "lane": "implementation",
        "task-id": TASK,
        "agent": "a1",
        "report": "",
    }
    assert json.loads(Path(result.outputs["report"]).read_text()) == result.report
    assert result.report["base"] == {"ref": "main", "commit": git(honest.sample.folder, "rev-parse", "main")}
    assert result.report["head"]["ref"] == BRANCH
    assert "pass" in result.summary
    assert commands(result.stdout + result.stderr) == []
