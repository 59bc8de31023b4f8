"""GK151 to GK154: admission, asked again of base as it is now."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gatekeeper.claims.admission import admits
from gatekeeper.model import Lane, Severity, Task
from gatekeeper.rules.base import Found, Rule
from gatekeeper.text import quoted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gatekeeper.snapshot import Snapshot


def _task(facts: Snapshot) -> Task | None:
    """Base's copy of the task that an implementation finishes."""
    return facts.authority_task if facts.lane is Lane.IMPLEMENTATION else None


def dependency_unfinished(facts: Snapshot) -> Iterator[Found]:
    """Every task that the finished one depends on is done on base.

    Why: work on top of what is not there yet is guesswork.

    Fails: `depends_on: [T-20260814-abcdef01]`, which is still queued.

    Mend: wait until that task's pull request is merged, then run the check again.
    """
    task = _task(facts)
    for name in task.depends_on if task else ():
        state = facts.dependencies.get(name, "")
        if task and state != "done":
            where = f"is in {state}/" if state else "is on no board"
            yield Found(
                f"{quoted(task.id)} depends on {quoted(name)}, which {where} on base",
                path=task.path,
                line=task.line("depends_on"),
                help="Merge that task first, then run the check again.",
            )


def plan_unapproved(facts: Snapshot) -> Iterator[Found]:
    """Where base has a plan, it is approved.

    Why: a draft is what people still talk about.

    Fails: base's `.agents/plan.md` says `status: draft`.

    Mend: an operator approves the plan in a planning pull request.
    """
    if _task(facts) and facts.plan is not None and facts.plan.status != "approved":
        yield Found(
            f"base's plan has the status {quoted(facts.plan.status)}, and no work is taken until it is approved",
            path=facts.layout.plan,
            help="Have an operator set `status: approved` on base.",
        )


def milestone_inactive(facts: Snapshot) -> Iterator[Found]:
    """Where base has a plan with a manifest, an active milestone lists the task (its integration task: integrating too).

    Why: the order of milestones is the plan; the backlog is what nobody has planned yet.

    Fails: no milestone lists the task, or the one that does is `planned`.

    Mend: an operator lists the task, or activates its milestone, in a planning pull request.
    """
    task, manifest = _task(facts), facts.manifest
    if task is None or facts.plan is None or manifest is None:
        return
    listing = [m for m in manifest.milestones if task.id in m.tasks or task.id == m.integration_task]
    if any(admits(milestone, task.id) for milestone in listing):
        return
    names = ", ".join(f"{quoted(m.id)} is {m.status}" for m in listing)
    why = f"its milestone {names}" if listing else "no milestone lists it (it is in the backlog)"
    yield Found(
        f"{quoted(task.id)} can't be worked on now: {why}",
        path=facts.layout.manifest,
        line=listing[0].line if listing else None,
        help="Have an operator list the task in an active milestone on base.",
    )


def review_overdue(facts: Snapshot) -> Iterator[Found]:
    """The task's `review_by` is not past; on that day itself it still holds.

    Why: what nobody has looked at since may not be wanted any more.

    Fails: `review_by: 2026-08-19`, and it is the 20th.

    Mend: an operator reviews the task and sets a later date on base.
    """
    task = _task(facts)
    if task and task.review_by is not None and facts.question.now.date() > task.review_by:
        yield Found(
            f"{quoted(task.id)} was to be reviewed by {task.review_by.isoformat()}, and that day is past",
            path=task.path,
            line=task.line("review_by"),
            help="Have an operator review the task and set a later review_by on base.",
        )


RULES = (
    Rule("GK151", "dependency-unfinished", dependency_unfinished),
    Rule("GK152", "plan-unapproved", plan_unapproved),
    Rule("GK153", "milestone-inactive", milestone_inactive, Severity.ERROR, adjustable=True),
    Rule("GK154", "review-overdue", review_overdue, Severity.ERROR, adjustable=True),
)
