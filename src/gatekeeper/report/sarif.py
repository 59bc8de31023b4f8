r"""SARIF 2.1.0, for code scanning and other tools that collect results.

Source: the OASIS standard, and what GitHub's code scanning reads of it. Code scanning wants a
location of every result, so a finding without a path is placed at the first line of the task's
file, or of the policy where no task is known: `properties.placed` marks it. A message is plain
text in SARIF, but `[text](target)` in it becomes a link: `](` becomes `]\x28`.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from gatekeeper import __version__
from gatekeeper.model import Outcome, Severity
from gatekeeper.report.base import NO_RULES, RuleInfo, Rules, in_order
from gatekeeper.report.escape import cut, json_text, one_line

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import TextIO

    from gatekeeper.model import Finding, Verdict

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
ROOT = "%SRCROOT%"
"""What the locations are relative to: the root of the repository."""

FALLBACK = b".github/gatekeeper.yml"
"""Where findings are placed that have no path, in a report that has no task."""

MOST = 25_000
"""Results of one run that GitHub takes; errors come first, so that what is left out weighs least."""

LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.NOTICE: "note"}


def write(verdict: Verdict, stream: TextIO, rules: Rules = NO_RULES) -> None:
    """Write the log as ASCII, so that it is the same whatever the stream's encoding."""
    stream.write(json_text(json.dumps(document(verdict, rules), allow_nan=False)) + "\n")


def document(verdict: Verdict, rules: Rules = NO_RULES) -> dict[str, Any]:
    """The log as JSON values: one run, whose rules are those that found something."""
    findings = in_order(verdict)
    shown = findings[:MOST]
    used = _used(shown, rules)
    driver = {
        "name": "gatekeeper",
        "version": __version__,
        "semanticVersion": __version__,
        "rules": [_rule(rule) for rule in used],
    }
    run = {
        "tool": {"driver": driver},
        "automationDetails": {"id": f"gatekeeper/{verdict.command}/"},
        "invocations": [{"executionSuccessful": verdict.outcome is not Outcome.ERROR}],
        "originalUriBaseIds": {ROOT: {"description": {"text": "The root of the repository."}}},
        "results": _results(shown, used, verdict.task.path if verdict.task else FALLBACK),
        "properties": {"verdict": verdict.outcome.value, "leftOut": len(findings) - len(shown)},
    }
    return {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}


def _used(findings: Iterable[Finding], rules: Rules) -> list[RuleInfo]:
    """The rules of these findings, by code; one that `rules` lacks is known by name alone."""
    found = {f.code: rules.get(f.code) or RuleInfo(f.code, f.name, f.name, "", f.severity) for f in findings}
    return [found[code] for code in sorted(found)]


def _rule(rule: RuleInfo) -> dict[str, Any]:
    """A rule's metadata."""
    described: dict[str, Any] = {
        "id": rule.code,
        "name": rule.name,
        "shortDescription": {"text": rule.summary},
        "defaultConfiguration": {"level": LEVELS[rule.severity]},
    }
    if rule.help:
        described["help"] = {"text": rule.help, "markdown": rule.help}
    if rule.url:
        described["helpUri"] = rule.url
    return described


def _results(findings: Iterable[Finding], rules: list[RuleInfo], fallback: bytes) -> list[dict[str, Any]]:
    """The findings as results, each with a fingerprint of its own."""
    index = {rule.code: at for at, rule in enumerate(rules)}
    seen: dict[tuple[str, bytes | None], int] = {}
    results = []
    for finding in findings:
        which = (finding.code, finding.path)
        seen[which] = seen.get(which, 0) + 1
        results.append(_result(finding, index[finding.code], fallback, seen[which]))
    return results


def _result(finding: Finding, index: int, fallback: bytes, number: int) -> dict[str, Any]:
    """One finding, the `number`th of its code at its path."""
    texts = (finding.message, finding.help) if finding.help else (finding.message,)
    result: dict[str, Any] = {
        "ruleId": finding.code,
        "ruleIndex": index,
        "level": LEVELS[finding.severity],
        "message": {"text": "\n".join(map(_plain, texts))},
        "locations": [_location(finding.path or fallback, finding.line or 1)],
        "partialFingerprints": {"primaryLocationLineHash": _fingerprint(finding, number)},
    }
    return result if finding.path else result | {"properties": {"placed": True}}


def _location(path: bytes, line: int) -> dict[str, Any]:
    """A path as a relative URI: every byte that is not plain in one is percent-encoded."""
    from urllib.parse import quote_from_bytes  # noqa: PLC0415  # this format alone needs it

    artifact = {"uri": quote_from_bytes(path, safe="/"), "uriBaseId": ROOT}
    return {"physicalLocation": {"artifactLocation": artifact, "region": {"startLine": line}}}


def _fingerprint(finding: Finding, number: int) -> str:
    """The same for the same finding in another run: code, path and number, no line and no message."""
    from hashlib import sha256  # noqa: PLC0415  # this format alone needs it

    told = finding.code.encode() + b"\0" + (finding.path or b"")
    return f"{sha256(told).hexdigest()[:16]}:{number}"


def _plain(text: str) -> str:
    """A sentence for a SARIF message."""
    return one_line(cut(text)).replace("](", r"]\x28")
