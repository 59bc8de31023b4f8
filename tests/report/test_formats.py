"""What all formats have in common, and the text and GitHub formats."""

from __future__ import annotations

import io
import re

import pytest
from hypothesis import given, settings

from gatekeeper.model import Outcome, Severity, Verdict
from gatekeeper.report import FORMATS, github, render, text
from report.verdicts import LINTED, PASSED, RULES, UNDECIDED, failed, finding, verdicts

ANSI = re.compile(r"\x1b\[[0-9;]*m")


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("verdict", [PASSED, UNDECIDED, LINTED, failed(finding())], ids=["p", "e", "l", "f"])
def test_every_format_renders_every_verdict(form: str, verdict: Verdict) -> None:
    report = render(verdict, form, RULES)
    assert report.endswith("\n")
    assert verdict.outcome.value in report
    assert all(f.code in report for f in verdict.findings)
    assert report == render(verdict, form, RULES)


def test_an_unknown_format_is_refused() -> None:
    with pytest.raises(KeyError):
        render(PASSED, "yaml")


@settings(max_examples=60)
@given(verdicts())
def test_every_format_is_utf8_without_control_characters(verdict: Verdict) -> None:
    for form in FORMATS:
        report = render(verdict, form)
        report.encode("utf-8")
        assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]", report)


@settings(max_examples=60)
@given(verdicts())
def test_no_line_of_a_log_is_a_command_but_ours(verdict: Verdict) -> None:
    for form in FORMATS:
        lines = render(verdict, form).splitlines()
        ours = [line for line in lines if re.match(r"\s*::", line)]
        assert len(ours) == (len(verdict.findings) if form == "github" else 0)
        assert all(re.match(r"::(error|warning|notice) (file=[^:]*|title=GK)", line) for line in ours)
        assert not any("##[" in line for line in lines)


@settings(max_examples=60)
@given(verdicts())
def test_no_line_of_the_text_begins_with_text_from_outside(verdict: Verdict) -> None:
    ours = re.compile(
        r"$|(pass|fail|error): |next: |  (lane|task|claim|base|head|changed)? +|(error|warning|notice) GK|  "
    )
    for line in render(verdict, "text").split("\n"):
        assert ours.match(line), line


def test_text_says_the_verdict_then_what_to_do() -> None:
    lines = render(failed(finding(), finding("GK114", Severity.WARNING, path=None)), "text").splitlines()
    assert lines[0] == "fail: this may not merge (1 error, 1 warning)"
    assert lines[1] == "next: move it to a task of its own"
    assert "  task     T-20260814-abcdef01 Retry failed payments" in lines
    assert "  claim    live, of a on agent/retry, until 2026-08-20T12:10:00Z" in lines
    assert "  base     main at aaaaaaaaaaaa" in lines
    assert "  src/auth/login.py: it is outside the authority" in lines
    assert "  it is outside the authority" in lines


@pytest.mark.parametrize(
    ("verdict", "first"),
    [
        (PASSED, "pass: this may merge (no findings)"),
        (UNDECIDED, "error: whether this may merge could not be decided (1 error)"),
        (LINTED, "fail: the board does not hold (1 error)"),
        (
            Verdict(Outcome.FAIL, (finding(),) * 2, enforced=False),
            "fail: this may not merge (2 errors); not enforced, so nothing is blocked",
        ),
        (Verdict(Outcome.PASS, (), command="audit"), "pass: the history holds (no findings)"),
    ],
)
def test_the_headline(verdict: Verdict, first: str) -> None:
    assert render(verdict, "text").splitlines()[0] == first
    assert render(verdict, "github").splitlines()[-1] == first


def test_text_cuts_many_findings_of_one_code() -> None:
    many = failed(*(finding(path=b"src/%03d.py" % n) for n in range(120)), finding("GK142"))
    report = render(many, "text")
    assert "error GK141 path-out-of-scope (120)" in report
    assert "src/049.py" in report
    assert "src/050.py" not in report
    assert "and 70 more" in report
    assert report.count("help: ") == 2, "the same help is said once"


def test_text_says_each_help_where_they_differ() -> None:
    report = render(
        failed(finding(help_="one"), finding(path=b"z", help_="two"), finding(path=b"y", help_=None)), "text"
    )
    assert re.search(r"login.py: .*\n    help: one\n  y: .*\n  z: .*\n    help: two\n", report)


def test_text_is_coloured_only_where_asked() -> None:
    for verdict in (PASSED, UNDECIDED, failed(finding(), finding("GK147", Severity.NOTICE))):
        plain, coloured = render(verdict, "text"), io.StringIO()
        text.write(verdict, coloured, colour=True)
        assert "\x1b" not in plain
        assert coloured.getvalue() != plain
        assert ANSI.sub("", coloured.getvalue()) == plain


def test_an_annotation() -> None:
    assert github.annotation(finding(line=3)) == (
        "::error file=src/auth/login.py,line=3,title=GK141 path-out-of-scope::"
        "it is outside the authority%0Amove it to a task of its own"
    )
    assert github.annotation(finding("GK114", Severity.WARNING, path=None, line=4, help_=None)) == (
        "::warning title=GK114 claim-expired::it is outside the authority"
    )


def test_a_newline_in_a_path_forges_nothing() -> None:
    report = render(failed(finding(path=b"src/x\n::error::forged\x1b\xff")), "github")
    assert r"file=src/x%0A%3A%3Aerror%3A%3Aforged\x1b\xff," in report
    assert "\n::error::forged" not in report


def test_findings_past_ten_of_a_kind_are_plain_lines() -> None:
    errors = [finding(path=b"%02d" % n) for n in range(13)]
    warnings = [finding("GK114", Severity.WARNING, path=b"%02d" % n) for n in range(11)]
    lines = render(failed(*errors, *warnings), "github").splitlines()
    assert sum(line.startswith("::error ") for line in lines) == 10
    assert sum(line.startswith("::warning ") for line in lines) == 10
    assert "error GK141 path-out-of-scope: 12: it is outside the authority" in lines
    assert lines[-2].startswith("4 findings more than GitHub shows")
    assert lines[-1].startswith("fail: ")


@pytest.mark.parametrize("form", ["text", "github", "markdown"])
def test_a_long_text_is_cut(form: str) -> None:
    report = render(
        failed(finding(message="x" * 1_000_000, help_="y" * 1_000_000), title="z" * 1_000_000), form
    )
    assert len(report) < 20_000
