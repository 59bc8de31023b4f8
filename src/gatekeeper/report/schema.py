"""The JSON Schema (draft 2020-12) of the JSON report, version 1 (CONTRACT 4).

Enumerations come from the model, so that a new lane or severity cannot be forgotten here.
Readers should ignore keys that they do not know: later versions of the program may add some
within version 1, but never take one away or change what it means.
"""

from __future__ import annotations

from typing import Any

from gatekeeper.model import Lane, Outcome, Severity
from gatekeeper.report.json import VERSION

Schema = dict[str, Any]

_COMMANDS = ("check", "lint", "audit")
_CLAIM_STATES = ("live", "expired", "released")
_OBJECT_NAME = r"^([0-9a-f]{40}|[0-9a-f]{64})$"


def json_schema() -> Schema:
    """The schema of the whole document."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "A report of gatekeeper (--format json), version 1",
        "type": "object",
        "properties": {
            "version": {"description": "The version of this format.", "const": VERSION},
            "command": {"description": "The command that reports.", "enum": list(_COMMANDS)},
            "verdict": {
                "description": "pass: it holds (exit 0). fail: it does not (exit 1). "
                "error: it could not be decided (exit 2), which is never a pass.",
                "enum": [outcome.value for outcome in Outcome],
            },
            **_check_only(),
            "findings": {
                "description": "Sorted by severity, code, path and line.",
                "type": "array",
                "items": _finding(),
            },
        },
        "required": ["version", "command", "verdict", "findings"],
        "if": {"properties": {"command": {"const": "check"}}},
        "then": {"required": list(_check_only())},
    }


def _check_only() -> Schema:
    """The keys that only the reports of `check` have."""
    return {
        "lane": {
            "description": "What kind of change it was judged as.",
            "enum": [lane.value for lane in Lane],
        },
        "base": _tip("The base branch's ref and commit; null where it could not be found."),
        "head": _tip("The head's ref and commit; null where it could not be found."),
        "merged_tree": _maybe(
            {"type": "string", "pattern": _OBJECT_NAME},
            "The tree that merging would give; null where head does not merge into base.",
        ),
        "task": _task(),
        "claim": _claim(),
        "changed_paths": {
            "description": "How many paths merging would change.",
            "type": "integer",
            "minimum": 0,
        },
    }


def _finding() -> Schema:
    """One finding."""
    return _object(
        {
            "code": {"description": "The rule.", "type": "string", "pattern": "^GK[0-9]{3}$"},
            "name": {"description": "The rule's name.", "type": "string", "pattern": "^[a-z][a-z-]+$"},
            "severity": {
                "description": "Errors alone turn the verdict.",
                "enum": [severity.value for severity in Severity],
            },
            "message": {"description": "What is wrong.", "type": "string", "minLength": 1},
            "path": _text_or_null(r"Where, from the root; bytes that are no UTF-8 are shown as \xNN."),
            "line": _maybe({"type": "integer", "minimum": 1}, "The line in it, from 1."),
            "help": _text_or_null("How to mend it."),
        }
    )


def _tip(description: str) -> Schema:
    """A ref and its commit."""
    commit = _maybe({"type": "string", "pattern": _OBJECT_NAME}, "Null where the ref does not resolve.")
    return _maybe(_object({"ref": {"type": "string"}, "commit": commit}), description)


def _task() -> Schema:
    """The task that the verdict is about."""
    texts = {"id": "Its id.", "path": "Its file in the merged tree.", "title": "Its title, on base."}
    parts = {name: {"description": doc, "type": "string"} for name, doc in texts.items()}
    return _maybe(_object(parts), "The task that it finishes, hands back or puts back, if it is one.")


def _claim() -> Schema:
    """The claim that the verdict rests on: the eight fields of its blob, any others, and two more."""
    texts = ("task", "agent", "branch", "baseCommit", "claimedAt", "expiresAt")
    parts: Schema = {name: {"type": "string"} for name in texts}
    parts["locks"] = {"type": "array", "items": {"type": "string"}}
    parts["planRevision"] = {"type": ["integer", "null"]}
    parts["ref"] = {"description": "Where it was found.", "type": "string"}
    parts["state"] = {"description": "Its state when it was judged.", "enum": list(_CLAIM_STATES)}
    return _maybe(_object(parts), "The claim's blob, as it was read, with its ref and its state.")


def _object(properties: Schema) -> Schema:
    """An object that has all of these."""
    return {"type": "object", "properties": properties, "required": list(properties)}


def _maybe(schema: Schema, description: str) -> Schema:
    """That, or null."""
    return {"description": description, "anyOf": [schema, {"type": "null"}]}


def _text_or_null(description: str) -> Schema:
    """A text, or null."""
    return {"description": description, "type": ["string", "null"]}
