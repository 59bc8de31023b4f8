"""The JSON report of CONTRACT 4, version 1. `report/schema.py` says the same in JSON Schema.

It is a document of its own and no dump of the model: what stands here is what others rely on.
Output is ASCII, so that it is the same whatever the stream's encoding, and no byte of a path or
a claim reaches a terminal as it is.
"""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

from gatekeeper.report.base import NO_RULES, Rules, in_order
from gatekeeper.report.escape import json_text, whole
from gatekeeper.text import shown

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime
    from typing import TextIO

    from gatekeeper.model import Claim, ClaimView, Finding, Tip, Verdict

VERSION = 1
"""Of the document's format."""

DEEPEST = 32
"""Levels of a claim's unknown fields that are shown."""


def write(verdict: Verdict, stream: TextIO, rules: Rules = NO_RULES) -> None:  # noqa: ARG001
    """Write the document, one key and one finding a line."""
    stream.write("{\n")
    rest = dict(document(verdict))
    for at, (key, value) in enumerate(rest.items()):
        end = "\n" if at == len(rest) - 1 else ",\n"
        stream.write(f" {json.dumps(key)}: {_lines(value) if key == 'findings' else _dumped(value)}{end}")
    stream.write("}\n")


def document(verdict: Verdict) -> dict[str, Any]:
    """The report as JSON values. Only `check` has a lane, commits, a task and a claim."""
    findings = [_finding(finding) for finding in in_order(verdict)]
    head: dict[str, Any] = {"version": VERSION, "command": verdict.command, "verdict": verdict.outcome.value}
    if verdict.command != "check":
        return head | {"findings": findings}
    task = verdict.task
    return head | {
        "lane": verdict.lane.value,
        "base": _tip(verdict.base),
        "head": _tip(verdict.head),
        "merged_tree": verdict.merged_tree,
        "task": {"id": whole(task.id), "path": shown(task.path), "title": whole(task.title)}
        if task
        else None,
        "claim": _claim(verdict.claim) if verdict.claim else None,
        "findings": findings,
        "changed_paths": verdict.changed_paths,
    }


def _finding(finding: Finding) -> dict[str, Any]:
    """One finding; absent path, line and help are null."""
    return {
        "code": finding.code,
        "name": finding.name,
        "severity": finding.severity.value,
        "message": whole(finding.message),
        "path": None if finding.path is None else shown(finding.path),
        "line": finding.line,
        "help": None if finding.help is None else whole(finding.help),
    }


def _tip(tip: Tip | None) -> dict[str, Any] | None:
    """A ref and its commit."""
    return None if tip is None else {"ref": whole(tip.ref), "commit": tip.commit}


def _claim(view: ClaimView) -> dict[str, Any]:
    """The blob as it was read; its `ref` and `state` are ours, whatever the blob says there."""
    fields = {**_eight(view.claim), **view.claim.fields}
    return {**_plain(fields), "ref": whole(view.claim.ref), "state": view.state}


def _eight(claim: Claim) -> Mapping[str, object]:
    """The fields that every claim has (CONTRACT 3)."""
    return {
        "task": claim.task,
        "agent": claim.agent,
        "branch": claim.branch,
        "baseCommit": claim.base_commit,
        "claimedAt": _stamp(claim.claimed_at),
        "expiresAt": _stamp(claim.expires_at),
        "locks": list(claim.locks),
        "planRevision": claim.plan_revision,
    }


def _stamp(moment: datetime) -> str:
    """ISO 8601 in UTC with milliseconds."""
    return moment.replace(tzinfo=None).isoformat(timespec="milliseconds") + "Z"


def _plain(value: object, depth: int = 0) -> Any:
    """JSON values that every parser takes: no lone surrogates, no NaN, no bottomless nesting."""
    if isinstance(value, str):
        return whole(value)
    if value is None or isinstance(value, int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if depth == DEEPEST:
        return "…"
    if isinstance(value, dict):
        return {whole(str(key)): _plain(item, depth + 1) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item, depth + 1) for item in value]
    return whole(str(value))


def _dumped(value: object) -> str:
    """A value on one line."""
    return json_text(json.dumps(value, allow_nan=False))


def _lines(values: list[dict[str, Any]]) -> str:
    """A list with one value a line."""
    return "[\n  " + ",\n  ".join(map(_dumped, values)) + "\n ]" if values else "[]"
