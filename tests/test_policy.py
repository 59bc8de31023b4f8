"""The policy file: what is read, what is refused and how that is told, and the schema beside it."""

from __future__ import annotations

import json
from datetime import date
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from gatekeeper.errors import PolicyInvalid
from gatekeeper.policy import (
    DEFAULT,
    LATER,
    Audit,
    Caps,
    Lease,
    Maintenance,
    Policy,
    Triage,
    json_schema,
    parse_policy,
    rows,
)

ADJUSTABLE = frozenset({"GK114", "GK134", "GK205"})
KNOWN = ADJUSTABLE | {"GK111", "GK147"}
VALIDATOR = Draft202012Validator(json_schema())


def parse(text: str | bytes) -> Policy:
    return parse_policy(text if isinstance(text, bytes) else text.encode(), ADJUSTABLE, KNOWN)


def refused(text: str | bytes) -> PolicyInvalid:
    with pytest.raises(PolicyInvalid) as caught:
        parse(text)
    error = caught.value
    assert error.message.startswith(f".github/gatekeeper.yml:{error.line}: ")
    for told in (error.message, error.hint):
        assert told
        assert told.isprintable()
    return error


def test_version_alone_is_the_default_policy() -> None:
    assert parse("version: 1\n") == Policy() == DEFAULT
    assert DEFAULT.operators is None
    assert (DEFAULT.maintenance, DEFAULT.projects, DEFAULT.severity) == ((), {}, {})


def test_every_key() -> None:
    text = """\
# a comment
version: 1
enforce: false
layout: swarm
classifications: [feature, chore]
operators: [octocat, "@org/team", 'a[bot]']
evidence: required
protected: []
always_allowed: [".agents/proposals/*.md", '.agents/tasks/queued/*.md']
maintenance:
  - {authors: ["dependabot[bot]"], paths: ["requirements*.txt"]}
  - authors: ["@operators", '@org/team']
    paths: ["**", ".github/**"]
caps: {implementation: 0, planning: 7}
lease: {minutes: 120}
retention_days: 1
audit: {since: 2026-08-14}
comment: true
triage:
  label: "sort me"
  classifier: command
  set_label: true
  command: [./classify, --fast]
  env: [TOKEN, _x1]
  timeout: 60
signatures: required
projects: {site: apps/site/, "the api": api}
severity: {GK134: warning, GK205: off, GK114: error}
"""
    assert parse(text) == Policy(
        enforce=False,
        classifications=("feature", "chore"),
        operators=("octocat", "@org/team", "a[bot]"),
        evidence="required",
        protected=(),
        always_allowed=(".agents/proposals/*.md", ".agents/tasks/queued/*.md"),
        maintenance=(
            Maintenance(("dependabot[bot]",), ("requirements*.txt",)),
            Maintenance(("@operators", "@org/team"), ("**", ".github/**")),
        ),
        caps=Caps(implementation=0, planning=7),
        lease=Lease(120),
        retention_days=1,
        audit=Audit(date(2026, 8, 14)),
        comment=True,
        triage=Triage("sort me", "command", True, ("./classify", "--fast"), ("TOKEN", "_x1"), 60),
        signatures="required",
        projects={"site": "apps/site/", "the api": "api"},
        severity={"GK134": "warning", "GK205": "off", "GK114": "error"},
    )


@pytest.mark.parametrize(
    "text", ["audit: {since: null}", "audit: {since: ~}", "audit: {since: }", "audit: {}"]
)
def test_null_where_null_is_a_value(text: str) -> None:
    assert parse(f"version: 1\n{text}\n") == DEFAULT


@pytest.mark.parametrize("data", [b"\xef\xbb\xbfversion: 1\r\n", b"---\nversion: 1\n", b"{version: 1}"])
def test_ways_to_write_a_file(data: bytes) -> None:
    assert parse(data) == DEFAULT


@pytest.mark.parametrize("data", [b"", b"\n\n", b"# only\n  # comments\n", b"\xef\xbb\xbf"])
def test_a_file_that_says_nothing_is_refused(data: bytes) -> None:
    error = refused(data)
    assert "says nothing" in error.message
    assert "version: 1" in error.hint


@pytest.mark.parametrize(
    ("text", "line", "message", "hint"),
    [
        ("protcted: []", 2, "the policy has an unknown key, 'protcted'", "did you mean protected?"),
        ("caps:\n  planing: 1", 3, "caps has an unknown key, 'planing'", "did you mean planning?"),
        ("lease:\n  hours: 1", 3, "lease has an unknown key, 'hours'", "the keys here are minutes"),
        (
            "maintenance:\n- {authors: [a], paths: [b], x: 1}",
            3,
            "maintenance has an unknown key, 'x'",
            "authors, paths",
        ),
        ("maintenance:\n- authors: [a]", 3, "maintenance.paths is missing", "add paths"),
        ("maintenance: {authors: [a], paths: [b]}", 2, "maintenance takes a list", "write a list"),
        ("maintenance:\n- {authors: [], paths: [b]}", 3, "not an empty list", "at least one"),
        ("maintenance:\n- {authors: [octo cat], paths: [b]}", 3, "takes a login", "@operators"),
        ("maintenance:\n- {authors: ['@octocat'], paths: [b]}", 3, "not '@octocat'", "@org/team"),
        (
            "maintenance:\n- {authors: [a], paths: [/b]}",
            3,
            "maintenance.paths holds '/b'",
            "write a path pattern",
        ),
        ("operators: ['@operators']", 2, "operators takes a login or @org/team", ""),
        ("operators: []", 2, "operators takes a list of logins", "at least one"),
        ("operators:", 2, "not nothing", "write a list"),
        ("operators: octocat", 2, "not 'octocat'", "write a list"),
        ("operators: [123]", 2, "not '123'", "put it in quotes"),
        ("enforce: yes", 2, "enforce takes true or false, not 'yes'", "without quotes"),
        ("enforce: 'true'", 2, "enforce takes true or false", "without quotes"),
        ("enforce: True", 2, "enforce takes true or false", "lower case"),
        ("comment: [true]", 2, "comment takes true or false, not a list", ""),
        ("layout: inbox", 2, "layout is inbox, which this version", "write swarm"),
        ("layout: swram", 2, "layout takes swarm, not 'swram'", "did you mean swarm?"),
        ("evidence: must", 2, "evidence takes optional or required", ""),
        ("signatures: true", 2, "signatures takes optional or required", ""),
        ("classifications: []", 2, "classifications takes a list of words, at least one", ""),
        ("classifications: ['']", 2, "classifications takes a word", ""),
        ("classifications: [' ']", 2, "classifications takes a word", ""),
        ("classifications: [no, yes, true]", 2, "not 'true'", "put it in quotes"),
        ("classifications: [[feature]]", 2, "takes a word, not a list", ""),
        ("protected: ['']", 2, "protected holds ''", "write a path pattern"),
        ("protected:\n- ok\n- a/../b", 4, "protected holds 'a/../b'", ""),
        ("always_allowed: ['!x']", 2, "always_allowed holds '!x'", ""),
        ("caps: {planning: -1}", 2, "caps.planning takes a whole number from 0", "not '-1'"),
        ("caps: {planning: 1.0}", 2, "caps.planning takes a whole number", ""),
        ("caps: {planning: 01}", 2, "caps.planning takes a whole number", ""),
        ("caps: {planning: 0x1}", 2, "caps.planning takes a whole number", ""),
        ("caps: {planning: '1'}", 2, "caps.planning takes a whole number", "without quotes"),
        ("caps: {planning: 99999999999999999999}", 2, "caps.planning takes a whole number", ""),
        ("caps: 3", 2, "caps takes a mapping, not '3'", ""),
        ("lease: {minutes: 0}", 2, "lease.minutes takes a whole number from 1 to 120", ""),
        ("lease: {minutes: 121}", 2, "lease.minutes takes a whole number from 1 to 120", ""),
        ("retention_days: 0", 2, "retention_days takes a whole number from 1", ""),
        ("audit: {since: 2026-02-30}", 2, "audit.since takes a date", "calendar"),
        ("audit: {since: 2026-2-3}", 2, "audit.since takes a date", ""),
        ("audit: {since: yesterday}", 2, "audit.since takes a date", ""),
        ("triage: {classifier: command}", 2, "there is no triage.command", "add triage.command"),
        ("triage: {classifier: claud}", 2, "triage.classifier takes one of", "did you mean claude?"),
        ("triage: {command: []}", 2, "triage.command takes", ""),
        ("triage: {command: rm -rf}", 2, "triage.command takes a list", ""),
        ("triage: {env: [A-B]}", 2, "triage.env takes a variable's name", ""),
        ("triage: {timeout: 0}", 2, "triage.timeout takes a whole number", ""),
        ("triage: {label: ''}", 2, "triage.label takes a label's name", ""),
        ("projects: {site: ../x}", 2, "projects.site takes a folder", ""),
        ("projects: {site: /x}", 2, "projects.site takes a folder", ""),
        ("projects: {site: 'a//b'}", 2, "projects.site takes a folder", ""),
        ("projects: {site: '*'}", 2, "projects.site takes a folder", ""),
        ("projects: [site]", 2, "projects takes a mapping", ""),
        ("severity: {GK111: warning}", 2, "may not set GK111", "GK114, GK134, GK205"),
        ("severity: {GK147: off}", 2, "may not set GK147", ""),
        ("severity: {GK143: off}", 2, "'GK143', which is no code", "did you mean GK134?"),
        ("severity: {claim-expired: off}", 2, "severity takes codes", ""),
        ("severity:\n  GK134: of", 3, "severity.GK134 takes one of error", "did you mean off?"),
        ("severity: {GK134: false}", 2, "not 'false'", ""),
        ("version: 1", 2, "stands twice", ""),
        ("enforce: &x true", 2, "anchor", ""),
        ("- 1", 2, "can't be read", ""),
    ],
)
def test_what_is_refused_and_how_it_is_told(text: str, line: int, message: str, hint: str) -> None:
    error = refused(f"version: 1\n{text}\n")
    assert message in error.message
    assert hint in error.hint or hint in error.message
    assert error.line == line


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"enforce: true\n", "version is missing"),
        (b"version: 2\n", "version takes the number 1, not '2'"),
        (b"version: '1'\n", "version takes the number 1"),
        (b"version: 1.0\n", "version takes the number 1"),
        (b"- version: 1\n", "not a mapping"),
        (b"version: 1\nenforce: \xff\n", "UTF-8"),
        (b"version: 1\n" + b"#" * (1 << 20), "larger"),
        (b"version: 1\nlayout: " + b"[" * 50_000, ""),
        (b"version: 1\n\x1b: 1\n", ""),
        (b"\x00", ""),
    ],
)
def test_files_that_are_refused(data: bytes, message: str) -> None:
    assert message in refused(data).message


@pytest.mark.parametrize("layout", LATER)
def test_layouts_to_come_are_named(layout: str) -> None:
    assert "does not support" in refused(f"version: 1\nlayout: {layout}\n").message


@given(st.binary(max_size=200))
@example(b"version: 1\n? {a: b}\n: x\n")
@example(b"version: 1\nprotected: !!python/object:os.system [x]\n")
@example(b"a: &a [*a]\n")
def test_no_bytes_do_anything_but_be_refused(data: bytes) -> None:
    try:
        policy = parse(data)
    except PolicyInvalid:
        refused(data)
    else:
        assert policy.version == 1


@given(st.text(max_size=80))
def test_a_hostile_value_is_told_on_one_line(text: str) -> None:
    document = json.dumps({"version": 1, "layout": text, text or "x": 1})
    if text not in ("swarm", "version", "layout"):
        assert len(refused(document).message) < 400


def _documents() -> st.SearchStrategy[dict[str, Any]]:
    """Policies as JSON values: each key's value is near to being right, or anything."""
    texts = st.sampled_from(
        ["a", "off", "true", "", " ", "a b", " a", "a\n", "12", "é", "a//b", "x\\", "~", "1.5"]
    )
    scalars = texts | st.integers(-1, 200) | st.booleans() | st.none() | st.sampled_from([1.5, 2.0])
    anything = scalars | st.lists(scalars, max_size=2)

    def some(*values: Any, least: int = 0) -> st.SearchStrategy[Any]:
        one = st.sampled_from(values) | st.sampled_from(values) | texts
        return st.lists(one, min_size=least, max_size=3) | anything

    def table(**parts: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
        return st.fixed_dictionaries({}, optional=parts) | anything

    numbers = st.integers(-1, 200) | anything
    patterns = some(
        "**", "src/*.py", ".github/**", "a/[b]", "x/", ".hidden", "../x", "/x", "a/./b", "a/..", ":y", "a\\*"
    )
    people = some("octocat", "o[bot]", "@o/t", "@operators", "@x")
    words = st.sampled_from(["optional", "required", "swarm", "inbox", "error", "off"]) | texts
    entry = st.fixed_dictionaries({"authors": people, "paths": patterns})
    entries: dict[str, st.SearchStrategy[Any]] = {
        "enforce": st.booleans() | anything,
        "layout": words,
        "classifications": some("feature", "two words"),
        "operators": people,
        "evidence": words,
        "protected": patterns,
        "always_allowed": patterns,
        "maintenance": st.lists(entry, max_size=2) | anything,
        "caps": table(planning=numbers, amendment=numbers),
        "lease": table(minutes=numbers),
        "retention_days": numbers,
        "audit": table(since=st.sampled_from(["2026-08-14", "2026-8-14", "0000-00-00"]) | anything),
        "comment": st.booleans() | anything,
        "triage": table(
            label=texts | st.just("x" * 100),
            classifier=st.sampled_from(["builtin", "command", "codex"]) | anything,
            command=some("./x", "--fast", "a b"),
            env=some("TOKEN", "_x", "1X"),
            timeout=numbers,
        ),
        "signatures": words,
        "projects": st.dictionaries(
            texts, st.sampled_from(["a/", "a/b", "../a", "a*", "."]) | anything, max_size=2
        ),
        "severity": st.dictionaries(
            st.sampled_from(["GK134", "GK114", "GK999"]), words | anything, max_size=2
        ),
        "unknown": anything,
    }
    some_keys = st.lists(st.sampled_from(list(entries)), max_size=2, unique=True)
    chosen = some_keys.flatmap(lambda keys: st.fixed_dictionaries({key: entries[key] for key in keys}))
    return st.tuples(st.sampled_from([1, 1, 1, 2, "1"]), chosen).map(
        lambda pair: {"version": pair[0]} | pair[1]
    )


@settings(max_examples=400)
@given(_documents())
@example({"version": 1, "audit": {"since": None}, "severity": {"GK134": "off"}, "triage": {"timeout": 5}})
def test_the_schema_takes_what_the_parser_takes(document: dict[str, Any]) -> None:
    try:
        parse(json.dumps(document))
    except PolicyInvalid:
        return
    VALIDATOR.validate(document)


@pytest.mark.parametrize(
    "document",
    [
        {},
        {"version": 2},
        {"version": 1, "protcted": []},
        {"version": 1, "enforce": "yes"},
        {"version": 1, "layout": "inbox"},
        {"version": 1, "classifications": []},
        {"version": 1, "operators": ["@operators"]},
        {"version": 1, "operators": None},
        {"version": 1, "protected": ["/x"]},
        {"version": 1, "protected": [""]},
        {"version": 1, "protected": ["a/../b"]},
        {"version": 1, "maintenance": [{"authors": ["a"]}]},
        {"version": 1, "maintenance": [{"authors": ["@octocat"], "paths": ["a"]}]},
        {"version": 1, "caps": {"planning": -1}},
        {"version": 1, "lease": {"minutes": 121}},
        {"version": 1, "audit": {"since": "soon"}},
        {"version": 1, "triage": {"classifier": "command"}},
        {"version": 1, "triage": {"classifier": "command", "command": None}},
        {"version": 1, "triage": {"env": ["A B"]}},
        {"version": 1, "projects": {"site": "../x"}},
        {"version": 1, "projects": {"": "x"}},
        {"version": 1, "severity": {"claim-expired": "off"}},
        {"version": 1, "severity": {"GK134": "of"}},
        {"version": 1, "classifications": ["a\nb"]},
    ],
)
def test_the_schema_and_the_parser_refuse(document: dict[str, Any]) -> None:
    assert not VALIDATOR.is_valid(document)
    refused(json.dumps(document))


def test_the_schema_is_one_and_its_defaults_are_the_policys() -> None:
    schema = json_schema()
    Draft202012Validator.check_schema(schema)
    defaults = {name: part["default"] for name, part in schema["properties"].items() if "default" in part}
    assert set(schema["properties"]) == set(Policy._fields)
    VALIDATOR.validate(defaults | {"version": 1})
    assert parse(json.dumps(defaults | {"version": 1})) == DEFAULT
    assert set(schema["properties"]) - set(defaults) == {"version", "operators"}


def test_the_docs_list_every_setting_once() -> None:
    listed = rows()
    names = [row.name for row in listed]
    assert len(set(names)) == len(names)
    assert {"version", "caps", "caps.integration", "triage.env", "severity"} <= set(names)
    assert all(row.doc.endswith(".") and row.takes for row in listed)
    assert {row.name: row.default for row in listed}["lease.minutes"] == 30
    assert [row.name for row in listed if row.required] == ["version"]


def test_a_policy_is_a_value() -> None:
    assert DEFAULT._replace(enforce=False) != DEFAULT
    with pytest.raises(AttributeError):
        DEFAULT.enforce = False  # type: ignore[misc]
