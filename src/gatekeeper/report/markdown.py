"""The report in Markdown: a job's summary, a comment on the pull request.

The first line is the verdict and what to do next, for many readers see no more. GitHub drops a
summary of more than 1,024 KiB whole, so rows are left out where the bytes run out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gatekeeper.model import Outcome
from gatekeeper.report.base import NO_RULES, Rules, count, headline, in_order, next_step, place, short
from gatekeeper.report.escape import code_span, markdown_text
from gatekeeper.text import shown

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import TextIO

    from gatekeeper.model import Finding, Tip, Verdict

LIMIT = 1_000_000
"""Bytes of a whole report, below GitHub's limit for a step's summary."""

NAME = 200
"""Characters of a title, a ref or a name that are shown."""

SENTENCE = 500
"""Characters of a message or a help that are shown."""

_MARKS = {Outcome.PASS: "✅", Outcome.FAIL: "❌", Outcome.ERROR: "⚠️"}
_HEAD = "\n| | Rule | Where | What | How to mend it |\n| - | - | - | - | - |\n"
_TAIL = 120
"""Bytes kept free for the line that says how many rows were left out."""


def write(verdict: Verdict, stream: TextIO, rules: Rules = NO_RULES, *, limit: int = LIMIT) -> None:
    """Write the report in at most `limit` bytes of UTF-8 (or its first line, if that is longer).

    Where there is too much, the last rows are left out and a line says how many.
    """
    first = _first(verdict)
    stream.write(first)
    room = limit - len(first.encode()) - _TAIL
    facts = "".join(["\n", *_facts(verdict)]) if verdict.command == "check" else ""
    if (size := len(facts.encode())) <= room:
        stream.write(facts)
        room -= size
    stream.writelines(_table(verdict, rules, room))


def _first(verdict: Verdict) -> str:
    """The verdict, and what to do next."""
    step = next_step(verdict)
    then = f" Next: {markdown_text(step, SENTENCE)}" if step else ""
    return f"{_MARKS[verdict.outcome]} **gatekeeper: {headline(verdict)}.**{then}\n"


def _facts(verdict: Verdict) -> Iterator[str]:
    """What the verdict is about, as a list."""
    if task := verdict.task:
        title = f" {code_span(task.title, NAME)}" if task.title else ""
        yield f"- Task {code_span(task.id, NAME)}{title} in {code_span(shown(task.path), NAME)}\n"
    if view := verdict.claim:
        holder = f"{code_span(view.claim.agent, NAME)} on {code_span(view.claim.branch, NAME)}"
        yield f"- Claim: {view.state}, of {holder}, until `{view.claim.expires_at:%Y-%m-%d %H:%M} UTC`\n"
    yield f"- Lane: {verdict.lane.value}; {count(verdict.changed_paths, 'changed path')}\n"
    yield f"- Base: {_tip(verdict.base)}; head: {_tip(verdict.head)}\n"


def _tip(tip: Tip | None) -> str:
    """A ref and where it stood."""
    return "unknown" if tip is None else f"{code_span(tip.ref, NAME)} at `{short(tip.commit)}`"


def _table(verdict: Verdict, rules: Rules, room: int) -> Iterator[str]:
    """The findings as a table, as many rows as there is room for, and how many more there are."""
    findings = in_order(verdict)
    room -= len(_HEAD.encode())
    for at, finding in enumerate(findings):
        row = _row(finding, rules)
        room -= len(row.encode())
        if room < 0:
            yield f"\n{count(len(findings) - at, 'more finding')}: the JSON report lists them all.\n"
            return
        yield row if at else _HEAD + row


def _row(finding: Finding, rules: Rules) -> str:
    """One finding."""
    rule = rules.get(finding.code)
    code = f"[{finding.code}]({rule.url})" if rule and rule.url else finding.code
    where = place(finding)
    cells = (
        finding.severity.value,
        f"{code} {finding.name}",
        code_span(where, NAME) if where else "",
        markdown_text(finding.message, SENTENCE),
        markdown_text(finding.help, SENTENCE) if finding.help else "",
    )
    return "| " + " | ".join(cells) + " |\n"
