"""Admission: every reason against a claim, each told with what to do, and nothing else refused."""

from __future__ import annotations

from datetime import date

import pytest

from gatekeeper.boards import LAYOUTS
from gatekeeper.claims.admission import Base, Claimant, denied, kind, over_cap
from gatekeeper.model import Authority, Defect, Task
from gatekeeper.plan import Manifest, Milestone, Plan
from gatekeeper.policy import DEFAULT

DAY = date(2026, 8, 20)
ID, OTHER, WHOLE = "T-20260814-00000001", "T-20260814-00000002", "T-20260814-0000000f"
TASK = Task(path=b"x", state="queued", id=ID, authority=Authority(("src/**",)))
MILESTONE = Milestone("m1", "active", (ID, OTHER), WHOLE, 3)
BASE = Base("main", DEFAULT, LAYOUTS[0], Plan("approved", 1), Manifest(1, (MILESTONE,)), None, {ID: "queued"})
ME = Claimant("ann", "agent/x")


def why(task: Task | None = TASK, base: Base = BASE, claimant: Claimant = ME, **more: bool) -> str:
    found = denied(ID, task, base, claimant, DAY, in_review=more.get("in_review", False))
    assert found is None or found.help
    return found.why if found else ""


def planned(status: str = "active", tasks: tuple[str, ...] = (ID,), whole: str | None = None) -> Base:
    return BASE._replace(manifest=Manifest(1, (Milestone("m1", status, tasks, whole, 3),)))


def test_an_honest_claim_is_admitted() -> None:
    assert why() == ""
    assert why(base=BASE._replace(plan=None, manifest=None)) == ""
    assert why(base=BASE._replace(manifest=None)) == ""
    assert why(base=planned("integrating", (), ID)) == ""
    assert why(TASK._replace(review_by=DAY, assignee="any")) == ""
    assert why(TASK._replace(defects=(Defect("GK205", "a field that is none"),))) == ""


@pytest.mark.parametrize(
    ("said", "found"),
    [
        ("detached", why(claimant=ME._replace(branch=None))),
        ("base branch", why(claimant=ME._replace(branch="main"))),
        (
            "is not in .agents/tasks/queued/ on main (it is in blocked/)",
            why(None, BASE._replace(states={ID: "blocked"})),
        ),
        ("is not in .agents/tasks/queued/ on main:", why(None, BASE._replace(states={}))),
        ("does not hold: no date", why(TASK._replace(defects=(Defect("GK204", "no date"),)))),
        ("no authority", why(TASK._replace(authority=None))),
        ("can't be read: oops", why(base=BASE._replace(plan_problem="oops"))),
        ("not approved", why(base=BASE._replace(plan=Plan("draft", 1)))),
        ("plan revision 1, and the plan is at 2", why(base=BASE._replace(plan=Plan("approved", 2)))),
        ("backlog", why(base=planned(tasks=(OTHER,)))),
        ("is planned", why(base=planned("planned"))),
        ("is integrating", why(base=planned("integrating"))),
        (OTHER, why(TASK._replace(depends_on=(OTHER,)))),
        ("2026-08-19", why(TASK._replace(review_by=date(2026, 8, 19)))),
        ("assigned to 'bob'", why(TASK._replace(assignee="bob"))),
        ("in review", why(in_review=True)),
    ],
)
def test_each_reason_is_told(said: str, found: str) -> None:
    assert said in found


def test_what_waits_is_free_once_it_is_done_and_what_is_in_review_once_that_is_said() -> None:
    waits = TASK._replace(depends_on=(OTHER,))
    assert why(waits, BASE._replace(states={ID: "queued", OTHER: "done"})) == ""
    assert why(claimant=ME._replace(again=True), in_review=True) == ""


def test_caps_count_other_tasks_of_the_same_kind() -> None:
    policy = DEFAULT._replace(caps=DEFAULT.caps._replace(implementation=2, integration=1))
    base = BASE._replace(policy=policy)
    assert kind(WHOLE, base.manifest) == "integration"
    assert kind(ID, None) == "implementation"
    assert over_cap(ID, base, [OTHER, WHOLE]) is None
    assert over_cap(ID, base, [OTHER, ID, WHOLE]) is None, "one's own claim is none beside it"
    full = over_cap(ID, base, [OTHER, "T-20260814-00000003"])
    assert full is not None
    assert "2 implementation tasks" in full.why
    assert over_cap(WHOLE, base, ["T-20260814-00000004"]) is None
    none = base._replace(policy=DEFAULT._replace(caps=DEFAULT.caps._replace(implementation=0)))
    assert over_cap(ID, none, [f"T-20260814-0000001{n}" for n in range(9)]) is None
