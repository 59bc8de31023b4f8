"""Whether a task may be claimed now: asked of base alone, by one who is named (CONTRACT 3, admission)."""

from collections.abc import Mapping
from datetime import date
from typing import NamedTuple

from gatekeeper.boards import Layout
from gatekeeper.model import Task
from gatekeeper.plan import Manifest, Milestone, Plan
from gatekeeper.policy import Policy
from gatekeeper.text import listed, quoted


class Base(NamedTuple):
    """What base says: its branch's name, policy and layout, plan and manifest (None where there is none).

    `plan_problem` is why the plan or the manifest can't be read, `states` the folder in which each task that
    is asked about stands (absent: on no board).
    """

    branch: str
    policy: Policy
    layout: Layout
    plan: Plan | None
    manifest: Manifest | None
    plan_problem: str | None
    states: Mapping[str, str]


class Claimant(NamedTuple):
    """Who wants the task: agent, branch (None on a detached head), and whether work in review may be taken up `again`."""

    agent: str
    branch: str | None
    again: bool = False


class Denial(NamedTuple):
    """Why a task can't be claimed, and what to do."""

    why: str
    help: str


def denied(
    task_id: str, task: Task | None, base: Base, claimant: Claimant, today: date, *, in_review: bool
) -> Denial | None:
    """The first reason against a claim on a task, as base has it (`task`: its queued copy); None where it may."""
    if (no_place := placeless(base, claimant)) is not None:
        return no_place
    if task is None:
        state = base.states.get(task_id)
        where = f" (it is in {state}/)" if state else ""
        return Denial(
            f"{task_id} is not in {base.layout.tasks.decode()}queued/ on {base.branch}{where}: "
            "only queued tasks of the base branch are claimable",
            "Claim authority comes from the base branch, not your working tree; gatekeeper status lists what is there.",
        )
    return (
        _unfit(task, base)
        or planless(base)
        or _milestone(task, base)
        or _task(task, base, claimant, today, in_review=in_review)
    )


def placeless(base: Base, claimant: Claimant) -> Denial | None:
    """Why no task at all can be claimed from where the claimant stands."""
    if claimant.branch is None:
        return Denial(
            "HEAD is detached, and a claim is for a branch", "Switch to a branch: git switch -c agent/NAME."
        )
    if claimant.branch == base.branch:
        return Denial(
            f"{quoted(base.branch)} is the base branch, and work is claimed for a branch of its own",
            "Make one: git switch -c agent/NAME.",
        )
    return None


def _unfit(task: Task, base: Base) -> Denial | None:
    bad = next((d for d in task.defects if d.code != "GK205"), None)
    if bad is None and task.authority is not None:
        return None
    why = bad.message if bad else "it has no authority"
    return Denial(
        f"the file of {quoted(task.id)} on {base.branch} does not hold: {why}",
        "Have an operator mend it on base, in a planning pull request.",
    )


def planless(base: Base) -> Denial | None:
    """Why base's plan lets nobody claim anything."""
    if base.plan_problem is not None:
        return Denial(f"base's plan can't be read: {base.plan_problem}", "Have an operator mend it on base.")
    if base.plan is None:
        return None
    if base.plan.status != "approved":
        return Denial(
            f"base's plan is not approved: its status is {quoted(base.plan.status)}",
            "Wait until an operator approves it.",
        )
    if base.manifest is not None and base.manifest.plan_revision != base.plan.revision:
        return Denial(
            f"the manifest is for plan revision {base.manifest.plan_revision}, and the plan is at {base.plan.revision}",
            "Wait until an operator has brought them together.",
        )
    return None


def _milestone(task: Task, base: Base) -> Denial | None:
    if base.plan is None or base.manifest is None:
        return None
    listing = [m for m in base.manifest.milestones if task.id in (*m.tasks, m.integration_task)]
    if any(admits(milestone, task.id) for milestone in listing):
        return None
    names = ", ".join(f"{quoted(m.id)} is {m.status}" for m in listing)
    why = f"its milestone {names}" if listing else "no milestone lists it: it is in the backlog"
    return Denial(
        f"{quoted(task.id)} can't be claimed now: {why}", "Wait for an operator to plan it, or take another."
    )


def admits(milestone: Milestone, task: str) -> bool:
    """Whether a milestone lets a task be worked on now."""
    if milestone.status == "active":
        return task in milestone.tasks or task == milestone.integration_task
    return milestone.status == "integrating" and task == milestone.integration_task


def _task(task: Task, base: Base, claimant: Claimant, today: date, *, in_review: bool) -> Denial | None:
    waits = [name for name in task.depends_on if base.states.get(name) != "done"]
    if waits:
        said = listed([f"{name} ({base.states.get(name) or 'on no board'})" for name in waits])
        return Denial(
            f"{quoted(task.id)} depends on what is not done on {base.branch}: {said}", "Claim that first."
        )
    if task.review_by is not None and today > task.review_by:
        return Denial(
            f"{quoted(task.id)} was to be reviewed by {task.review_by.isoformat()}, and that day is past",
            "Ask an operator to review it and to set a later date.",
        )
    if task.assignee not in (None, "any", claimant.agent):
        return Denial(
            f"{quoted(task.id)} is assigned to {quoted(task.assignee or '')}, not to {quoted(claimant.agent)}",
            "Take another task, or claim as that agent with --agent.",
        )
    if in_review and not claimant.again:
        return Denial(
            f"{quoted(task.id)} is in review: its last claim ended as done, and {base.branch} has not merged it yet",
            "Wait for the merge, or take the work up again with --again.",
        )
    return None


def kind(task_id: str, manifest: Manifest | None) -> str:
    """Which cap a claim on a task counts against: `integration` for a milestone's integration task, else `implementation`."""
    integrates = manifest is not None and any(m.integration_task == task_id for m in manifest.milestones)
    return "integration" if integrates else "implementation"


def over_cap(task_id: str, base: Base, live: list[str]) -> Denial | None:
    """Why the policy's cap on live claims keeps a task from being claimed; `live` are the tasks with a live claim."""
    which = kind(task_id, base.manifest)
    cap = getattr(base.policy.caps, which)
    held = [name for name in live if name != task_id and kind(name, base.manifest) == which]
    if cap and len(held) >= cap:
        return Denial(
            f"{len(held)} {which} tasks are in flight, and the policy's cap is {cap}: {listed(sorted(held))}",
            "Wait until one is released or expires.",
        )
    return None
