"""GK301 to GK321: the plan, its manifest, proposals and decisions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gatekeeper.model import Severity
from gatekeeper.rules.base import Found, Rule
from gatekeeper.text import quoted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gatekeeper.boards.board import Board


def plan_invalid(board: Board) -> Iterator[Found]:
    """The plan and the manifest can be read, and every value in them is of its kind.

    Why: what may be worked on, and in which order, is read from them.

    Fails: `.agents/plan.md` says `status: maybe`.

    Mend: `status: draft` or `approved`, `revision:` a whole number; the message names the line.
    """
    parts = ((board.plan_path, board.plan_defects), (board.manifest_path, board.manifest_defects))
    for path, defects in parts:
        for defect in defects:
            yield Found(defect.message, path=path, line=defect.line, help=defect.help)


def manifest_revision_differs(board: Board) -> Iterator[Found]:
    """The manifest's `plan_revision` is the plan's `revision`.

    Why: a plan that was changed without its manifest orders work that it no longer describes.

    Fails: the plan is at revision 2, the manifest at 1.

    Mend: bump both in one planning change.
    """
    plan, manifest = board.plan, board.manifest
    if plan is not None and manifest is not None and plan.revision != manifest.plan_revision:
        yield Found(
            f"the manifest is for plan revision {manifest.plan_revision}, and the plan is at {plan.revision}",
            path=board.manifest_path,
            line=manifest.line,
            help=f"Set `plan_revision: {plan.revision}` once the milestones are what the plan says.",
        )


def manifest_task_unknown(board: Board) -> Iterator[Found]:
    """Every task that a milestone lists is on the board, unless the milestone is done.

    Why: a list that names what does not exist plans nothing. (A finished milestone's tasks may be pruned.)

    Fails: `tasks: [T-20260814-0000dead]`.

    Mend: list tasks that are there.
    """
    for milestone in board.manifest.milestones if board.manifest else ():
        named = [*milestone.tasks, *([milestone.integration_task] if milestone.integration_task else [])]
        for name in dict.fromkeys(named):
            if milestone.status != "done" and name not in board.places:
                yield Found(
                    f"milestone {quoted(milestone.id)} lists {quoted(name)}, which is on no board",
                    path=board.manifest_path,
                    line=milestone.line,
                    help="List a task of this board, or take it out.",
                )


def integration_task_missing(board: Board) -> Iterator[Found]:
    """A milestone that is past `planned` reserves an integration task.

    Why: somebody has to see whether the parts are a whole, and that takes a task of its own.

    Fails: (a warning) a milestone with `status: active` and no `integration_task`.

    Mend: write the task that integrates the milestone, and name it in `integration_task`.
    """
    for milestone in board.manifest.milestones if board.manifest else ():
        if milestone.status != "planned" and not milestone.integration_task:
            yield Found(
                f"milestone {quoted(milestone.id)} is {milestone.status}, and reserves no integration task",
                path=board.manifest_path,
                line=milestone.line,
                help="Write a task that integrates it, and name that in `integration_task`.",
            )


def milestone_done_early(board: Board) -> Iterator[Found]:
    """A milestone is done only once its integration task is.

    Why: merged leaves are not yet a whole.

    Fails: `status: done`, and the integration task is still queued.

    Mend: set `integrating`, and finish the integration task.
    """
    for milestone in board.manifest.milestones if board.manifest else ():
        name = milestone.integration_task
        state = board.state_of(name) if name else None
        if milestone.status == "done" and name and state not in (None, "done"):
            yield Found(
                f"milestone {quoted(milestone.id)} is called done, and its integration task {quoted(name)} is {state}",
                path=board.manifest_path,
                line=milestone.line,
                help="Set `status: integrating` until the integration task is done.",
            )


def proposal_invalid(board: Board) -> Iterator[Found]:
    """A proposal's header says against which revision it is, how severe, and whether it is open.

    Why: proposals are folded in order of severity; one that can't be read is never folded.

    Fails: `severity: huge`.

    Mend: `base_plan_revision:` a number, `severity:` local, ordering, scope or endgoal, `status: open`.
    """
    for file in board.proposals:
        for defect in file.defects:
            yield Found(defect.message, path=file.path, line=defect.line, help=defect.help)


def proposal_stale(board: Board) -> Iterator[Found]:
    """An open proposal was written against the plan's revision as it is.

    Why: what it wants changed may have changed already.

    Fails: (a warning) the plan is at revision 2, and an open proposal says `base_plan_revision: 1`.

    Mend: look whether it still stands; then set the revision, or its status to `folded` or `rejected`.
    """
    for file in board.proposals:
        proposal, plan = file.proposal, board.plan
        stale = (
            proposal and plan and proposal.status == "open" and proposal.base_plan_revision < plan.revision
        )
        if stale and proposal and plan:
            yield Found(
                f"the proposal is against plan revision {proposal.base_plan_revision}, and the plan is at {plan.revision}",
                path=file.path,
                line=proposal.line,
                help=f"Look whether it still stands, then set `base_plan_revision: {plan.revision}`, or close it.",
            )


def decision_without_alternatives(board: Board) -> Iterator[Found]:
    """A decision record names, under a heading of that name, the alternatives that it rejected.

    Why: a decision without what it was decided against is an announcement.

    Fails: `## Alternatives` with nothing under it.

    Mend: write what else was possible, and why it was not taken.
    """
    if not board.decisions:
        return
    from gatekeeper.markdown import UnreadableError, has_text_under  # noqa: PLC0415 -- only boards with decisions

    for record in board.decisions:
        try:
            named = has_text_under(record.text, ("alternatives", "rejected alternatives"))
        except UnreadableError:
            named = False
        if not named:
            yield Found(
                "the record names no alternative that was rejected",
                path=record.path,
                help="Add a heading `Alternatives` or `Rejected alternatives`, with text under it.",
            )


RULES: tuple[Rule[Board], ...] = (
    Rule("GK301", "plan-invalid", plan_invalid, one_file=True),
    Rule("GK302", "manifest-revision-differs", manifest_revision_differs, one_file=True),
    Rule("GK303", "manifest-task-unknown", manifest_task_unknown),
    Rule("GK304", "integration-task-missing", integration_task_missing, Severity.WARNING, adjustable=True),
    Rule("GK305", "milestone-done-early", milestone_done_early),
    Rule("GK311", "proposal-invalid", proposal_invalid, one_file=True),
    Rule("GK312", "proposal-stale", proposal_stale, Severity.WARNING, adjustable=True),
    Rule("GK321", "decision-without-alternatives", decision_without_alternatives),
)
