"""GK141 to GK147: every changed path against the task's authority."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gatekeeper import inscope
from gatekeeper.model import Change, Severity
from gatekeeper.rules.base import Found, Rule
from gatekeeper.snapshot import POLICY_PATH, SIGNERS_PATH
from gatekeeper.text import quoted, shown

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gatekeeper.snapshot import Snapshot


def _authority(facts: Snapshot) -> str:
    return quoted(facts.subject.id) if facts.subject else "a task"


def _verb(change: Change) -> str:
    return "added" if change.added else "deleted" if change.deleted else "changed"


def path_out_of_scope(facts: Snapshot) -> Iterator[Found]:
    """Every changed path is inside the authority of the finished task. A rename is two paths.

    Why: the authority is what was approved; everything else was not.

    Fails: the task may change `src/payments/**`, and the branch also edits `src/auth/login.py`.

    Mend: undo the change at that path, or have an operator widen the task's authority on base first.
    """
    for change in facts.judged.get(inscope.OUTSIDE, ()):
        yield Found(
            f"{quoted(shown(change.path))} is {_verb(change)}, and no pattern of {_authority(facts)} holds it",
            path=change.path,
            help="Undo it here, or have an operator add it to authority.paths on base first.",
        )


def path_forbidden(facts: Snapshot) -> Iterator[Found]:
    """No changed path is one that the task's authority forbids. `forbid` wins over everything.

    Why: forbidden paths are somebody else's, or too dangerous for this task.

    Fails: `forbid: [src/payments/legacy/**]`, and the branch edits `src/payments/legacy/old.py`.

    Mend: undo the change at that path.
    """
    for change in facts.judged.get(inscope.FORBIDDEN, ()):
        yield Found(
            f"{quoted(shown(change.path))} is {_verb(change)}, and the authority of {_authority(facts)} forbids it",
            path=change.path,
            help="Undo it in this branch.",
        )


def path_protected(facts: Snapshot) -> Iterator[Found]:
    """A protected path changes only where the authority names that very path with no wildcard.

    Why: workflows, the board and the policy are what the gate stands on. The policy file, the allowed signers, the
    plan and the manifest are in no task's scope at all.

    Fails: a task with `paths: ['**']` edits `.github/workflows/ci.yml`.

    Mend: undo it; or have an operator name the path in the task, or change it in a planning or maintenance change.
    """
    for change in facts.judged.get(inscope.PROTECTED, ()):
        never = change.path in (POLICY_PATH, SIGNERS_PATH) or facts.layout.never_in_scope(change.path)
        own = "an operator changes it in a pull request of its own (lane planning)"
        named = (
            "the authority has to name that very path, or the policy a maintenance entry that spells it out"
        )
        yield Found(
            f"{quoted(shown(change.path))} is {_verb(change)}, and it is protected",
            path=change.path,
            help=f"Undo it here; {own if never else named}.",
        )


def other_task_touched(facts: Snapshot) -> Iterator[Found]:
    """No other task's file is added, edited, moved or deleted by work on this one.

    Why: agents that can write tasks give work to themselves, and take it from others.

    Fails: the branch finishes T-20260814-abcdef01 and edits T-20260814-abcdef02's file.

    Mend: undo it; write a proposal under `.agents/proposals/` instead.
    """
    for change in facts.judged.get(inscope.OTHER_TASK, ()):
        yield Found(
            f"{quoted(shown(change.path))} is another task's file, and it is {_verb(change)}",
            path=change.path,
            help="Undo it here; propose what should be done in a new file under .agents/proposals/.",
        )


def submodule_changed(facts: Snapshot) -> Iterator[Found]:
    """A submodule changes only where the authority names that very path.

    Why: one changed line brings in a whole other repository, which no pattern can look into.

    Fails: the branch adds the submodule `src/payments/vendored` under `src/payments/**`.

    Mend: undo it, or have an operator name the path in the task's authority.
    """
    for change in facts.judged.get(inscope.SUBMODULE, ()):
        yield Found(
            f"the submodule {quoted(shown(change.path))} is {_verb(change)}, and the authority does not name it",
            path=change.path,
            help="Undo it here, or have an operator name that very path in authority.paths on base.",
        )


def symlink_escapes(facts: Snapshot) -> Iterator[Found]:
    """A changed symlink leads to a place inside the authority, followed through the merged tree's own links.

    Why: a link in scope that points out of it makes every tool that follows it work elsewhere.

    Fails: `src/payments/link` points to `../auth/login.py`.

    Mend: point it to a path inside the authority, or leave it out.
    """
    for link in facts.links:
        if not link.inside:
            leads = quoted(shown(link.target or b""))
            why = link.why or f"it leads to {leads}, outside the authority"
            yield Found(
                f"the symlink {quoted(shown(link.path))} escapes: {why}",
                path=link.path,
                help="Point it to a path inside the task's authority, or leave it out.",
            )


def task_proposed(facts: Snapshot) -> Iterator[Found]:
    """A new queued task came with the work, as the policy's `always_allowed` lets it.

    Why: whoever merges should see what the merge puts into the queue.

    Fails: (a notice) the branch adds `.agents/tasks/queued/T-20260819-00000001.md`, and the policy allows that.

    Mend: nothing; look at the task before you merge.
    """
    for spot in facts.proposed:
        title = f": {quoted(spot.task.title)}" if spot.task.title else ""
        yield Found(
            f"a new task comes with this change{title}",
            path=spot.path,
            help="Look at it before you merge: the merge puts it into the queue.",
        )


RULES = (
    Rule("GK141", "path-out-of-scope", path_out_of_scope),
    Rule("GK142", "path-forbidden", path_forbidden),
    Rule("GK143", "path-protected", path_protected),
    Rule("GK144", "other-task-touched", other_task_touched),
    Rule("GK145", "symlink-escapes", symlink_escapes, Severity.ERROR, adjustable=True),
    Rule("GK146", "submodule-changed", submodule_changed),
    Rule("GK147", "task-proposed", task_proposed, Severity.NOTICE),
)
