"""Plan, manifest and proposals: a value, or at least one defect with its line; never both."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gatekeeper.plan import (
    MOST,
    Manifest,
    Milestone,
    Plan,
    Proposal,
    parse_manifest,
    parse_plan,
    parse_proposal,
)

if TYPE_CHECKING:
    from gatekeeper.model import Defect

PLAN = b".agents/plan.md"
MANIFEST = b".agents/manifest.yml"
PROPOSAL = b".agents/proposals/p.md"


def only(defects: tuple[Defect, ...]) -> Defect:
    assert len(defects) == 1, defects
    return defects[0]


def test_a_plan() -> None:
    data = b"\xef\xbb\xbf---\r\nstatus: approved\r\nrevision: 3\r\nowner: somebody\r\n---\r\n# Plan\r\n"
    assert parse_plan(PLAN, data) == (Plan("approved", 3), ())
    assert parse_plan(PLAN, b"---\nstatus: draft\nrevision: 0\n---\n")[0] == Plan("draft", 0)


@pytest.mark.parametrize(
    ("head", "line", "word"),
    [
        ("status: maybe\nrevision: 1\n", 2, "'maybe'"),
        ("status:\nrevision: 1\n", 2, "empty"),
        ("status: [draft]\nrevision: 1\n", 2, "a list"),
        ("revision: 1\n", 2, "`status` is missing"),
        ("status: draft\n", 2, "`revision` is missing"),
        ("status: draft\nrevision: -1\n", 3, "'-1'"),
        ("status: draft\nrevision: '1'\n", 3, "'1'"),
        ("status: draft\nrevision: 1.0\n", 3, "'1.0'"),
        ("status: draft\nrevision: {a: b}\n", 3, "a mapping"),
        ("status: draft\nrevision: 1\nrevision: 2\n", 4, "twice"),
        ("status: &a draft\nrevision: 1\n", 2, "anchor"),
        ("", 2, "can't be read"),
    ],
)
def test_a_plan_that_is_none(head: str, line: int, word: str) -> None:
    plan, defects = parse_plan(PLAN, f"---\n{head}---\n# Plan\n".encode())
    assert plan is None
    found = only(defects)
    assert (found.code, found.line) == ("GK301", line)
    assert word in found.message
    assert found.help


@pytest.mark.parametrize(
    "data", [b"", b"# Plan\n", b"---\nstatus: draft\n", b"---\n\xff\n---\n", b"x" * (1 << 21)]
)
def test_a_plan_without_front_matter(data: bytes) -> None:
    plan, defects = parse_plan(PLAN, data)
    assert plan is None
    assert only(defects).code == "GK301"
    assert "'plan.md'" in only(defects).message


def test_a_manifest() -> None:
    data = b"""\
plan_revision: 2
title: kept aside
milestones:
  - id: m1
    status: active
    tasks: [T-20260814-abcdef01, "T-20260814-abcdef02"]
    integration_task: T-20260814-abcdef0f
    note: anything
  - {id: 2, status: planned}
"""
    first = Milestone(
        "m1", "active", ("T-20260814-abcdef01", "T-20260814-abcdef02"), "T-20260814-abcdef0f", 4
    )
    second = Milestone("2", "planned", (), None, 9)
    assert parse_manifest(MANIFEST, data) == (Manifest(2, (first, second), 1), ())


@pytest.mark.parametrize("rest", ["", "milestones:\n", "milestones: []\n", "milestones: ~\n"])
def test_a_manifest_may_list_nothing_yet(rest: str) -> None:
    assert parse_manifest(MANIFEST, f"plan_revision: 0\n{rest}".encode()) == (Manifest(0, (), 1), ())


@pytest.mark.parametrize(
    ("text", "line", "word"),
    [
        ("milestones: []\n", 1, "`plan_revision` is missing"),
        ("plan_revision: one\n", 1, "'one'"),
        ("plan_revision: 1\nmilestones: {m1: active}\n", 2, "a mapping"),
        ("plan_revision: 1\nmilestones: m1\n", 2, "'m1'"),
        ("plan_revision: 1\nmilestones:\n  - m1\n", 3, "'m1'"),
        ("plan_revision: 1\nmilestones:\n  - status: done\n", 3, "`id` is missing"),
        ("plan_revision: 1\nmilestones:\n  - id: ''\n    status: done\n", 3, "`id`"),
        ('plan_revision: 1\nmilestones:\n  - id: "a\\nb"\n    status: done\n', 3, "`id`"),
        ("plan_revision: 1\nmilestones:\n  - id: m1\n", 3, "`status` is missing"),
        ("plan_revision: 1\nmilestones:\n  - id: m1\n    status: over\n", 4, "'over'"),
        ("plan_revision: 1\nmilestones:\n  - id: m1\n    status: done\n    tasks: T-1\n", 5, "'T-1'"),
        ("plan_revision: 1\nmilestones:\n  - id: m1\n    status: done\n    tasks: [~]\n", 5, "a list"),
        ("plan_revision: 1\nmilestones:\n  - id: m1\n    status: done\n    tasks: ['']\n", 5, "a list"),
        (
            "plan_revision: 1\nmilestones:\n  - id: m1\n    status: done\n    integration_task: [a]\n",
            5,
            "a list",
        ),
        ("plan_revision: 1\nplan_revision: 1\n", 2, "twice"),
        ("- a\n", 1, "a list"),
        ("plan_revision: *a\n", 1, "alias"),
        ("", 1, "'manifest.yml' can't be read"),
    ],
)
def test_a_manifest_that_is_none(text: str, line: int, word: str) -> None:
    manifest, defects = parse_manifest(MANIFEST, text.encode())
    assert manifest is None
    found = only(defects)
    assert (found.code, found.line) == ("GK301", line)
    assert word in found.message
    assert found.help


def test_the_faults_of_one_file_are_limited() -> None:
    data = b"plan_revision: 1\nmilestones:\n" + b"  - x\n" * 5000
    assert len(parse_manifest(MANIFEST, data)[1]) == MOST


def test_a_proposal() -> None:
    data = b"---\ntitle: Split it\nbase_plan_revision: 1\nseverity: endgoal\nstatus: open\n---\n# P\n"
    assert parse_proposal(PROPOSAL, data) == (Proposal(1, "endgoal", "open", 3), ())


@pytest.mark.parametrize(
    ("head", "line"),
    [
        ("severity: local\nstatus: open\n", 2),
        ("base_plan_revision: 1\nstatus: open\n", 2),
        ("base_plan_revision: 1\nseverity: local\n", 2),
        ("base_plan_revision: x\nseverity: local\nstatus: open\n", 2),
        ("base_plan_revision: 1\nseverity: huge\nstatus: open\n", 3),
        ("base_plan_revision: 1\nseverity: local\nstatus: done\n", 4),
        ("base_plan_revision: 1\nseverity: local\nstatus: open\nstatus: open\n", 5),
    ],
)
def test_a_proposal_that_is_none(head: str, line: int) -> None:
    proposal, defects = parse_proposal(PROPOSAL, f"---\n{head}---\n# P\n".encode())
    assert proposal is None
    assert (only(defects).code, only(defects).line) == ("GK311", line)


def test_every_fault_of_a_header_is_told() -> None:
    defects = parse_proposal(PROPOSAL, b"---\nx: y\n---\n")[1]
    assert [d.code for d in defects] == ["GK311"] * 3


def test_names_of_any_bytes_are_shown_escaped() -> None:
    found = only(parse_proposal(b"a/\xff\n::error::.md", b"")[1])
    assert found.message.isprintable()


@settings(max_examples=150, deadline=None)
@given(st.text(st.sampled_from("pm:-[]{} \n'\"~1a") | st.characters(codec="utf-8"), max_size=60))
def test_any_text_gives_a_value_or_defects(text: str) -> None:
    results = (
        parse_manifest(MANIFEST, f"plan_revision: 1\nmilestones:\n{text}".encode()),
        parse_manifest(MANIFEST, f"plan_revision: 1\nmilestones:\n - id: {text}\n   status: done\n".encode()),
        parse_plan(PLAN, f"---\nstatus: draft\nrevision: {text}\n---\n".encode()),
        parse_proposal(PROPOSAL, f"---\nstatus: {text}\n---\n".encode()),
    )
    for value, defects in results:
        assert (value is None) == bool(defects)
        assert all(d.message.isprintable() and d.line for d in defects)
