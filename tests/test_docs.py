"""The generated pages are what the code would write, and every rule is documented in full."""

from __future__ import annotations

from pathlib import Path

import pytest

from gatekeeper import docs, rules

PROJECT = Path(__file__).parent.parent


@pytest.mark.parametrize("name", sorted(docs.files()))
def test_a_generated_page_is_not_stale(name: str) -> None:
    stands = (PROJECT / "docs" / name).read_text(encoding="utf-8")
    assert stands == docs.files()[name], "run: make docs"


@pytest.mark.parametrize("rule", rules.ALL, ids=lambda rule: rule.code)
def test_a_rule_says_what_why_what_fails_and_how_to_mend_it(rule: rules.Rule) -> None:
    doc = rule.doc
    assert doc.summary.endswith(".")
    for part in (doc.why, doc.fails, doc.mend):
        assert len(part) > 15, rule.code


def test_codes_and_names_are_each_used_once() -> None:
    assert len({rule.code for rule in rules.ALL}) == len(rules.ALL)
    names = [rule.name for rule in rules.ALL]
    assert {name for name in names if names.count(name) > 1} == {"review-overdue"}, (
        "GK154 and GK261, at two places"
    )


def test_only_rules_with_a_degree_mark_and_warnings_may_be_adjusted() -> None:
    marked = {"GK114", "GK121", "GK134", "GK135", "GK145", "GK153", "GK154"}
    warnings = {rule.code for rule in rules.ALL if rule.severity.value == "warning"}
    assert rules.Codes.adjustable == marked | warnings
