"""The planning lane in CI: tasks that ended long ago may go, and how long ago is looked up as far back as it takes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from action.harness import DONE, TASK, TASK_FILE, git

if TYPE_CHECKING:
    from collections.abc import Callable

    from action.harness import Action

DAY = 86_400


@pytest.mark.parametrize(("days", "codes"), [(31, []), (29, ["GK226"])])
def test_a_task_that_ended_is_gone(make: Callable[..., Action], days: int, codes: list[str]) -> None:
    action = make()
    sample = action.sample
    sample.clock -= days * DAY + 7200
    gone = DONE.replace("abcdef01", "abcdef09")
    text = TASK_FILE.replace("STATE", "done").replace(TASK, "T-20260814-abcdef09")
    main = sample.commit("main", {gone: text}, git(sample.folder, "rev-parse", "main"))
    sample.clock += days * DAY
    for number in range(5):
        main = sample.commit("main", {"README.md": f"{number}\n"}, main)
    sample.commit("plan", {gone: None}, main)
    action.inside = True
    event = action.event("pull_request.synchronize", branch="plan")

    result = action.run(event, operators="Codertocat")
    assert (result.outputs["lane"], result.codes) == ("planning", codes), result.everything
