"""The JSON report is the contract's document, and its schema says so."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from hypothesis import given, settings
from jsonschema import Draft202012Validator

from gatekeeper.model import Outcome, Severity, Verdict
from gatekeeper.report import render
from gatekeeper.report.schema import json_schema
from report.verdicts import LINTED, PASSED, TASK, UNDECIDED, claim, failed, finding, verdicts

CHECK_KEYS = [
    "version",
    "command",
    "verdict",
    "lane",
    "base",
    "head",
    "merged_tree",
    "task",
    "claim",
    "findings",
    "changed_paths",
]
VALIDATOR = Draft202012Validator(json_schema())


def told(verdict: Verdict) -> Any:
    document = json.loads(render(verdict, "json"))
    VALIDATOR.validate(document)
    return document


def test_the_whole_document() -> None:
    document = told(failed(finding(line=3), view=claim(nonce="n")))
    assert list(document) == CHECK_KEYS
    assert document == {
        "version": 1,
        "command": "check",
        "verdict": "fail",
        "lane": "implementation",
        "base": {"ref": "main", "commit": "a" * 40},
        "head": {"ref": "agent/retry", "commit": "c" * 40},
        "merged_tree": "d" * 40,
        "task": {"id": TASK, "path": f".agents/tasks/done/{TASK}.md", "title": "Retry failed payments"},
        "claim": {
            "task": TASK,
            "agent": "a",
            "branch": "agent/retry",
            "baseCommit": "a" * 40,
            "claimedAt": "2026-08-20T11:40:00.000Z",
            "expiresAt": "2026-08-20T12:10:00.000Z",
            "locks": ["schema"],
            "planRevision": 1,
            "nonce": "n",
            "ref": f"refs/swarm/task-claims/{TASK}",
            "state": "live",
        },
        "findings": [
            {
                "code": "GK141",
                "name": "path-out-of-scope",
                "severity": "error",
                "message": "it is outside the authority",
                "path": "src/auth/login.py",
                "line": 3,
                "help": "move it to a task of its own",
            }
        ],
        "changed_paths": 3,
    }


@pytest.mark.parametrize("verdict", [PASSED, UNDECIDED], ids=["passed", "undecided"])
def test_what_is_not_known_is_null(verdict: Verdict) -> None:
    document = told(verdict)
    assert list(document) == CHECK_KEYS
    assert (document["task"], document["claim"]) == (None, None)


@pytest.mark.parametrize("command", ["lint", "audit"])
def test_other_commands_have_four_keys(command: str) -> None:
    document = told(Verdict(Outcome.FAIL, LINTED.findings, command=command))
    assert list(document) == ["version", "command", "verdict", "findings"]


def test_a_claim_cannot_say_where_it_stands() -> None:
    view = claim(ref="refs/heads/main", state="live forever", agent="b")
    document = told(failed(finding(), view=view))
    assert (document["claim"]["ref"], document["claim"]["state"]) == (view.ref, "live")
    assert document["claim"]["agent"] == "b", "the blob is given as it was read"


def test_a_path_is_as_it_is_but_for_bytes_that_are_no_text() -> None:
    document = told(failed(finding(path=b"a\nb\xff\xed\xa0\x80\xc3\xbc")))
    assert document["findings"][0]["path"] == "a\nb\\xff\\xed\\xa0\\x80ü"


def test_findings_are_sorted_as_they_are_shown() -> None:
    made = [
        finding("GK147", Severity.NOTICE, path=None),
        finding("GK142", path=b"b"),
        finding("GK141", path=b"\xff"),
        finding("GK141", path=b"b", line=10),
        finding("GK141", path=b"b", line=9),
        finding("GK141", path="ü".encode()),
        finding("GK114", Severity.WARNING, path=None),
        finding("GK141", path=None),
    ]
    rank = {"error": 0, "warning": 1, "notice": 2}
    findings = told(failed(*made))["findings"]
    keys = [(rank[f["severity"]], f["code"], f["path"] or "", f["line"] or 0) for f in findings]
    assert keys == sorted(keys)
    assert len(keys) == len(made)


def test_hostile_values_of_a_claim_are_still_json() -> None:
    deep: Any = "x"
    for _ in range(5000):
        deep = [deep]
    text = render(
        failed(view=claim(a="\udc80", b=[float("nan"), {"\ud800": float("-inf")}], c=deep, d=1 << 80)), "json"
    )
    told_claim = json.loads(text, parse_constant=pytest.fail)["claim"]
    assert told_claim["a"] == "\\udc80"
    assert told_claim["b"] == ["nan", {"\\ud800": "-inf"}]
    assert told_claim["d"] == 1 << 80
    assert not re.search(r"\\u[dD][89a-fA-F]", text.replace("\\\\", "")), "no half of a surrogate pair"


@settings(max_examples=80)
@given(verdicts())
def test_every_report_is_ascii_and_valid(verdict: Verdict) -> None:
    text = render(verdict, "json")
    assert text.isascii()
    document = json.loads(text)
    VALIDATOR.validate(document)
    json.dumps(document, ensure_ascii=False).encode("utf-8")
    assert len(document["findings"]) == len(verdict.findings)


def test_the_schema_refuses_what_is_no_report() -> None:
    good = told(failed(finding()))
    for spoil in (
        {"version": 2},
        {"verdict": "maybe"},
        {"lane": "fast"},
        {"findings": [{}]},
        {"changed_paths": -1},
        {"base": {"ref": "main"}},
        {"task": {"id": 1}},
        {"claim": {**good["claim"], "state": "dead"}},
        {"command": "merge"},
    ):
        assert not VALIDATOR.is_valid(good | spoil), spoil
    for key in CHECK_KEYS:
        assert not VALIDATOR.is_valid({k: v for k, v in good.items() if k != key}), key
