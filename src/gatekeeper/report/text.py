"""The report for people and agents at a terminal: the verdict first, then what to do about it."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

from gatekeeper.model import Outcome, Severity
from gatekeeper.report.base import NO_RULES, Rules, headline, in_order, next_step, place, short
from gatekeeper.report.escape import cut, log_text
from gatekeeper.text import shown

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import TextIO

    from gatekeeper.model import Finding, Tip, Verdict

MOST = 50
"""Findings of one code that are shown; the JSON report has them all."""

_COLOURS = {
    Outcome.PASS.value: "green",
    Outcome.FAIL.value: "red",
    Severity.ERROR.value: "red",
    Severity.WARNING.value: "yellow",
    Severity.NOTICE.value: "blue",
}


def write(verdict: Verdict, stream: TextIO, rules: Rules = NO_RULES, *, colour: bool = False) -> None:  # noqa: ARG001
    """Write the report; in colours only where the caller knows that they are wanted."""
    stream.writelines(line + "\n" for line in lines(verdict, colour=colour))


def lines(verdict: Verdict, *, colour: bool = False) -> Iterator[str]:
    """The report's lines. Nothing from outside can forge one, or steer a terminal or a CI log."""
    first = headline(verdict)
    yield _styled(first, verdict.outcome.value, colour=colour)
    if step := next_step(verdict):
        yield f"next: {_safe(step)}"
    if verdict.command == "check":
        yield ""
        yield from (f"  {name:<8} {value}" for name, value in _facts(verdict))
    for _, group in groupby(in_order(verdict), key=lambda f: (f.severity, f.code, f.name)):
        yield ""
        yield from _group(list(group), colour=colour)


def _facts(verdict: Verdict) -> Iterator[tuple[str, str]]:
    """What the verdict is about, as names and values."""
    yield "lane", verdict.lane.value
    if task := verdict.task:
        yield "task", _safe(f"{task.id} {task.title}".rstrip())
        yield "", _safe(shown(task.path))
    if view := verdict.claim:
        yield (
            "claim",
            _safe(f"{view.state}, of {view.claim.agent} on {view.claim.branch}, until {_until(verdict)}"),
        )
    yield "base", _tip(verdict.base)
    yield "head", _tip(verdict.head)
    yield "changed", f"{verdict.changed_paths} path{'' if verdict.changed_paths == 1 else 's'}"


def _until(verdict: Verdict) -> str:
    """When the claim ends, to the second."""
    return f"{verdict.claim.claim.expires_at:%Y-%m-%dT%H:%M:%SZ}" if verdict.claim else ""


def _tip(tip: Tip | None) -> str:
    """A ref and where it stood."""
    return "unknown" if tip is None else f"{_safe(tip.ref)} at {short(tip.commit)}"


def _group(findings: list[Finding], *, colour: bool) -> Iterator[str]:
    """The findings of one code: at most `MOST`, and their help once where all have the same."""
    first = findings[0]
    title = f"{_styled(first.severity.value, first.severity.value, colour=colour)} {first.code} {first.name}"
    yield title if len(findings) == 1 else f"{title} ({len(findings)})"
    seen = findings[:MOST]
    same = {finding.help for finding in seen} == {first.help}
    for finding in seen:
        where = place(finding)
        yield "  " + (_safe(where, finding.message) if where else _safe(finding.message))
        if not same:
            yield from _help([finding])
    if len(findings) > MOST:
        yield f"  and {len(findings) - MOST} more (--format json lists them all)"
    if same:
        yield from _help([first])


def _help(findings: Iterable[Finding]) -> Iterator[str]:
    """How to mend it, indented under what is to be mended."""
    return (f"    help: {_safe(finding.help)}" for finding in findings if finding.help)


def _safe(*texts: str) -> str:
    """Texts from outside, on one line of bearable length that is no command for a log either."""
    return log_text(": ".join(map(cut, texts)))


def _styled(text: str, kind: str, *, colour: bool) -> str:
    """Text in the colour of its kind."""
    if not colour:
        return text
    import click  # noqa: PLC0415  # most reports have no colours

    return click.style(text, fg=_COLOURS.get(kind, "magenta"), bold=True)
