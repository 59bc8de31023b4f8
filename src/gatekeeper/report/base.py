"""What every format of a report shares: rules' metadata, the headline, places, the next step.

Nothing here is escaped for a format yet, but for `headline` and `tally`, which hold words of
our own alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, NamedTuple, Protocol

from gatekeeper.model import Outcome, Severity
from gatekeeper.text import shown

if TYPE_CHECKING:
    from typing import TextIO

    from gatekeeper.model import Finding, Verdict


class RuleInfo(NamedTuple):
    """What a report says of a rule beside its findings.

    `summary` is one sentence, `help` Markdown (why, an example, how to mend it), `severity` the
    default one, `url` the address of the rule's docs where there is one. All of it is our own
    text and goes into reports unescaped.
    """

    code: str
    name: str
    summary: str
    help: str
    severity: Severity
    url: str | None = None


Rules = Mapping[str, RuleInfo]
"""Rules by code. A format does without what is not there."""

NO_RULES: Rules = {}


class Writer(Protocol):
    """One format: writes a verdict to a stream of text, ending in a newline."""

    def __call__(self, verdict: Verdict, stream: TextIO, rules: Rules = NO_RULES) -> None:
        """Write the whole report."""


_SENTENCES = {
    "check": {
        Outcome.PASS: "this may merge",
        Outcome.FAIL: "this may not merge",
        Outcome.ERROR: "whether this may merge could not be decided",
    },
    "lint": {
        Outcome.PASS: "the board holds",
        Outcome.FAIL: "the board does not hold",
        Outcome.ERROR: "the board could not be judged",
    },
    "audit": {
        Outcome.PASS: "the history holds",
        Outcome.FAIL: "the history does not hold",
        Outcome.ERROR: "the history could not be judged",
    },
}
"""What a verdict means to whoever asked, by command."""


def headline(verdict: Verdict) -> str:
    """The verdict as one sentence: `fail: this may not merge (2 errors, 1 warning)`."""
    sentence = _SENTENCES.get(verdict.command, _SENTENCES["check"])[verdict.outcome]
    aside = (
        ""
        if verdict.enforced or verdict.outcome is not Outcome.FAIL
        else "; not enforced, so nothing is blocked"
    )
    return f"{verdict.outcome.value}: {sentence} ({tally(verdict.findings)}){aside}"


def count(number: int, noun: str) -> str:
    """`1 error`, `2 errors`."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def tally(findings: Iterable[Finding]) -> str:
    """`2 errors, 1 warning`, or `no findings`."""
    severities = [finding.severity for finding in findings]
    parts = [count(n, severity.value) for severity in Severity if (n := severities.count(severity))]
    return ", ".join(parts) or "no findings"


def in_order(verdict: Verdict) -> list[Finding]:
    r"""The findings by severity, code, path as shown (`\xff` and not the byte) and line (CONTRACT 4)."""
    return sorted(
        verdict.findings,
        key=lambda f: (f.severity.rank, f.code, "" if f.path is None else shown(f.path), f.line or 0),
    )


def place(finding: Finding) -> str | None:
    """`path:line`, as far as the finding has them."""
    if finding.path is None:
        return None
    path = shown(finding.path)
    return path if finding.line is None else f"{path}:{finding.line}"


def next_step(verdict: Verdict) -> str | None:
    """What to do first: the help of the first error that has one."""
    return next((f.help for f in in_order(verdict) if f.severity is Severity.ERROR and f.help), None)


def short(commit: str | None) -> str:
    """A commit's name as people read it."""
    return commit[:12] if commit else "unknown"
