"""The Markdown report: its first line, its size, and nothing alive in it but what is ours."""

from __future__ import annotations

import io
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from gatekeeper.model import Severity, Verdict
from gatekeeper.report import markdown, render
from report.verdicts import PASSED, RULES, UNDECIDED, failed, finding, verdicts

GFM = MarkdownIt("gfm-like", {"linkify": False, "html": True})
OURS = {"text", "code_inline", "strong_open", "strong_close"}
BLOCKS = {"paragraph", "bullet_list", "list_item", "table", "thead", "tbody", "tr", "th", "td"}


def written(verdict: Verdict, limit: int) -> str:
    stream = io.StringIO()
    markdown.write(verdict, stream, RULES, limit=limit)
    return stream.getvalue()


def test_the_first_line_says_it_all() -> None:
    first = render(failed(finding()), "markdown").splitlines()[0]
    assert (
        first == "❌ **gatekeeper: fail: this may not merge (1 error).** Next: move it to a task of its own"
    )
    assert render(PASSED, "markdown").startswith("✅ **gatekeeper: pass: this may merge (no findings).**\n")
    assert render(UNDECIDED, "markdown").startswith("⚠️ **gatekeeper: error: ")


def test_the_facts_and_the_table() -> None:
    report = render(
        failed(finding(line=3), finding("GK114", Severity.WARNING, path=None, help_=None)), "markdown", RULES
    )
    row = (
        "| error | [GK141](https://example.com/rules#gk141) path-out-of-scope | `src/auth/login.py:3` "
        "| it is outside the authority | move it to a task of its own |"
    )
    for line in (
        row,
        "- Task `T-20260814-abcdef01` `Retry failed payments` in `.agents/tasks/done/T-20260814-abcdef01.md`",
        "- Claim: live, of `a` on `agent/retry`, until `2026-08-20 12:10 UTC`",
        "- Lane: implementation; 3 changed paths",
        "- Base: `main` at `aaaaaaaaaaaa`; head: `agent/retry` at `cccccccccccc`",
        "| warning | GK114 claim-expired |  | it is outside the authority |  |",
    ):
        assert line in report.splitlines()


def test_lint_has_no_facts() -> None:
    report = render(Verdict(failed(finding()).outcome, (finding(),), command="lint"), "markdown")
    assert "Lane" not in report
    assert "the board does not hold" in report


@settings(max_examples=80, deadline=None)
@given(verdicts())
def test_hostile_text_is_only_ever_text_or_code(verdict: Verdict) -> None:
    tokens = GFM.parse(render(verdict, "markdown"))
    inline = [token for block in tokens for token in block.children or ()]
    assert {token.type for token in inline} <= OURS
    assert {re.sub("_(open|close)$", "", token.type) for token in tokens} <= BLOCKS | {"inline"}
    for token in inline:
        if token.type == "text":
            assert not re.search(r"[@#<>\[\]*_~$\\|]|://|www\.\w", token.content), token.content
    rows = sum(token.type == "tr_open" for token in tokens)
    assert rows == (len(verdict.findings) + 1 if verdict.findings else 0)


@settings(max_examples=40, deadline=None)
@given(verdicts(), st.integers(3_000, 20_000))
def test_a_report_is_never_longer_than_its_limit(verdict: Verdict, limit: int) -> None:
    wide = failed(*verdict.findings, *(finding(path="ü".encode() * n) for n in range(30)))
    assert len(written(wide, limit).encode()) <= limit


@pytest.mark.parametrize("limit", [2_000, 10_000, 60_000])
def test_rows_are_cut_whole_and_counted(limit: int) -> None:
    report = written(failed(*(finding(path=b"src/%05d.py" % n) for n in range(5000))), limit)
    rows = [line for line in report.splitlines() if line.startswith("| error ")]
    assert all(line.endswith(" |") for line in rows)
    more = re.search(r"^(\d+) more findings: ", report, re.MULTILINE)
    assert more is not None
    assert len(rows) + int(more[1]) == 5000
    assert limit - 400 < len(report.encode()) <= limit


def test_githubs_limit_is_kept_by_default() -> None:
    many = failed(*(finding(path=b"%06d" % n, message="x" * 400) for n in range(5000)))
    assert len(render(many, "markdown").encode()) <= markdown.LIMIT < 1024 * 1024


def test_the_first_line_stands_whatever_the_limit() -> None:
    assert written(failed(finding()), 10).startswith("❌ **gatekeeper: fail")
