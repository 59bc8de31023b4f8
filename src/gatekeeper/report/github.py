"""Annotations: workflow commands for an Actions log.

GitHub shows ten annotations of a kind a step and drops the others, so the first ten findings of
each severity are commands and the rest are plain lines of the log.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gatekeeper.model import Severity
from gatekeeper.report.base import NO_RULES, Rules, count, headline, in_order, place
from gatekeeper.report.escape import command_data, command_property, cut, log_text, no_log_command, one_line
from gatekeeper.text import shown

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import TextIO

    from gatekeeper.model import Finding, Verdict

MOST = 10
"""Annotations of one kind a step that GitHub shows (actions/runner, ExecutionContext.cs)."""

KINDS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.NOTICE: "notice"}


def write(verdict: Verdict, stream: TextIO, rules: Rules = NO_RULES) -> None:  # noqa: ARG001
    """Write annotations, then one line with the verdict."""
    stream.writelines(line + "\n" for line in lines(verdict))


def lines(verdict: Verdict) -> Iterator[str]:
    """The lines of the log. Only our own begin with `::`, and none holds `##[`."""
    findings = in_order(verdict)
    more = 0
    for severity in Severity:
        group = [finding for finding in findings if finding.severity is severity]
        yield from map(annotation, group[:MOST])
        yield from map(_plain, group[MOST:])
        more += len(group[MOST:])
    if more:
        yield f"{count(more, 'finding')} more than GitHub shows as annotations: the lines that begin with a severity"
    yield headline(verdict)


def annotation(finding: Finding) -> str:
    """One finding as a workflow command; the help is the annotation's second line."""
    properties: dict[str, str] = {}
    if finding.path:
        properties["file"] = _file(finding.path)
        if finding.line is not None:
            properties["line"] = str(finding.line)
    properties["title"] = f"{finding.code} {finding.name}"
    texts = [finding.message, finding.help] if finding.help else [finding.message]
    message = "\n".join(log_text(cut(text)) for text in texts)
    return command(KINDS[finding.severity], properties, message)


def command(name: str, properties: Mapping[str, str], message: str) -> str:
    """A workflow command as GitHub's toolkit writes it; properties without a value are left out."""
    given = ",".join(f"{key}={command_property(value)}" for key, value in properties.items() if value)
    return f"::{name}{' ' if properties else ''}{given}::{command_data(message)}"


def _file(path: bytes) -> str:
    """A path as the runner wants it: as it is, but for what could steer a terminal."""
    return no_log_command(one_line(shown(path), keep="\r\n"))


def _plain(finding: Finding) -> str:
    """One finding as a line that is no command."""
    where = place(finding)
    text = f"{finding.code} {finding.name}: {f'{where}: ' if where else ''}{finding.message}"
    return log_text(f"{finding.severity.value} {cut(text)}")
