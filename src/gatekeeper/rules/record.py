"""GK131 to GK135: what the task's file says after the merge, against the copy on base."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gatekeeper.asktext import plainly_kept
from gatekeeper.model import Lane, Severity, Task
from gatekeeper.rules.base import Found, Rule
from gatekeeper.text import listed, quoted, shown

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gatekeeper.snapshot import Snapshot

FREE = ("status", "failure", "reason", "authority")
"""Header fields that GK133 leaves alone: the first three may change, `authority` is GK131's."""


def _copies(facts: Snapshot) -> tuple[Task, Task] | None:
    """The subject's copy on base and after the merge, where both can be read."""
    subject = facts.subject
    if subject is None or subject.before is None:
        return None
    before, after = subject.before.task, subject.after.task
    return (before, after) if before.readable and after.readable else None


def authority_changed(facts: Snapshot) -> Iterator[Found]:
    """The task's authority block means the same after the merge as on base (lists as sets, absent as empty).

    Why: an agent that can widen its own authority has none.

    Fails: the branch adds `src/auth/**` to `authority.paths`, and edits `src/auth/login.py`.

    Mend: restore the block as base has it; if the task needs more, ask an operator to change it on base first.
    """
    copies = _copies(facts)
    if copies is None or copies[0].authority is copies[1].authority is None:
        return
    before, after = copies
    if (
        after.authority is None
        or before.authority is None
        or not before.authority.means_same(after.authority)
    ):
        yield Found(
            f"the authority of {quoted(before.id)} is not what it is on base: {_difference(before, after)}",
            path=after.path,
            line=after.line("authority"),
            help="Restore the authority block as it is on base, or have an operator change it there first.",
        )


def _difference(before: Task, after: Task) -> str:
    if before.authority is None or after.authority is None:
        return "the block is gone or can't be read"
    said = []
    for name in ("paths", "forbid"):
        old, new = set(getattr(before.authority, name)), set(getattr(after.authority, name))
        said += [f"{name} gains {listed([quoted(p) for p in sorted(new - old)])}"] * bool(new - old)
        said += [f"{name} loses {listed([quoted(p) for p in sorted(old - new)])}"] * bool(old - new)
    keys = dict(before.authority.other).items() ^ dict(after.authority.other).items()
    said += [f"{quoted(key)} differs" for key in sorted({key for key, _ in keys})]
    return "; ".join(said)


def authority_missing(facts: Snapshot) -> Iterator[Found]:
    """Base's copy of the task can be read, and where work is judged by it, it has an authority block.

    Why: a task that allows nothing in particular would allow everything, and one that can't be read, any rewriting.

    Fails: the task was queued without `authority:`.

    Mend: an operator adds the block on base, in a planning pull request.
    """
    subject = facts.subject
    if subject is None or subject.before is None:
        return
    task = subject.before.task
    if not task.readable or (task.authority is None and facts.lane is Lane.IMPLEMENTATION):
        why = "can't be read" if not task.readable else "has no authority block"
        yield Found(
            f"base's copy of {quoted(task.id)} {why}, so nothing says what may change",
            path=task.path,
            line=task.line("authority"),
            help="Have an operator mend the task on base, in a planning pull request.",
        )


def field_changed(facts: Snapshot) -> Iterator[Found]:
    """No header field but `status`, `failure` and `reason` changes on the way, nor does the file's name.

    Why: id, locks, dependencies and title are what others planned by.

    Fails: the branch drops `locks: [schema]` from the header.

    Mend: restore the fields and the name as base has them.
    """
    copies = _copies(facts)
    if copies is None:
        return
    before, after = copies
    old_name, new_name = (task.path.rpartition(b"/")[2] for task in copies)
    if old_name != new_name:
        said = f"the file was called {quoted(shown(old_name))} on base and is {quoted(shown(new_name))} now"
        yield Found(said, path=after.path, help="Keep the file's name when it moves to another folder.")
    for name in sorted({*before.header, *after.header} - set(FREE)):
        if before.header.get(name) != after.header.get(name):
            verb = "gone" if name not in after.header else "changed" if name in before.header else "new"
            yield Found(
                f"the header field {quoted(name)} of {quoted(before.id)} is {verb}: only {_free()} may change",
                path=after.path,
                line=after.line(name),
                help=f"Restore {quoted(name)} as it is on base.",
            )


def _free() -> str:
    return ", ".join(f"`{name}`" for name in FREE[:2]) + f" and `{FREE[2]}`"


def ask_rewritten(facts: Snapshot) -> Iterator[Found]:
    """Every line of the ask that base's copy shows is still shown, in order; adding and ticking boxes is allowed.

    Why: whoever rewords the acceptance criteria decides what done means.

    Fails: `- [ ] Three attempts, then an error` becomes `- [x] One attempt`, or is wrapped in a comment.

    Mend: restore the line; say in a section of its own, or in a proposal, what should be asked instead.
    """
    copies = _copies(facts)
    if copies is None or facts.lane is Lane.REVERT or plainly_kept(copies[0].body, copies[1].body):
        return
    from gatekeeper.markdown import UnreadableError, ask_lost  # noqa: PLC0415 -- not every check reads Markdown

    before, after = copies
    try:
        lost = ask_lost(before.body, after.body)
    except UnreadableError as why:
        yield Found(
            f"the task's text can't be read as Markdown: {why}", path=after.path, line=after.body_line
        )
        return
    if lost is not None:
        yield Found(
            f"the ask of {quoted(before.id)} no longer shows its line {quoted(lost)}",
            path=after.path,
            line=after.body_line,
            help="Restore the line as base has it; adding lines and ticking boxes is allowed.",
        )


def evidence_missing(facts: Snapshot) -> Iterator[Found]:
    """Where the policy asks for it, `## Evidence` holds a fenced block or a link that base's copy does not hold.

    Why: "done" is a claim; the test's output, or where it can be seen, is what a reviewer can check.

    Fails: under `## Evidence` still stands only `<!-- output of the test command -->`.

    Mend: paste the command's output into a fenced block there, or link to the run.
    """
    copies = _copies(facts)
    if copies is None or facts.lane is not Lane.IMPLEMENTATION or facts.policy.evidence != "required":
        return
    from gatekeeper.markdown import UnreadableError, evidence  # noqa: PLC0415

    before, after = copies
    try:
        given = evidence(after.body, before.body)
    except UnreadableError:
        given = False
    if not given:
        yield Found(
            f"under `## Evidence` of {quoted(after.id)} stands neither a new fenced block nor a new link",
            path=after.path,
            line=after.body_line,
            help="Paste the test's output there in a fenced block, or link to where it can be seen.",
        )


RULES = (
    Rule("GK131", "authority-changed", authority_changed),
    Rule("GK132", "authority-missing", authority_missing),
    Rule("GK133", "field-changed", field_changed),
    Rule("GK134", "ask-rewritten", ask_rewritten, Severity.ERROR, adjustable=True),
    Rule("GK135", "evidence-missing", evidence_missing, Severity.ERROR, adjustable=True),
)
