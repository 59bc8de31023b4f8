"""Verdicts to report, tame and hostile, and strategies that make more of them."""

from __future__ import annotations

from datetime import UTC, datetime

from hypothesis import strategies as st

from gatekeeper.model import (
    Claim,
    ClaimView,
    Finding,
    Lane,
    Outcome,
    Severity,
    TaskRef,
    Tip,
    Verdict,
)
from gatekeeper.report import RuleInfo

TASK = "T-20260814-abcdef01"
RULES = {
    "GK141": RuleInfo(
        "GK141",
        "path-out-of-scope",
        "A changed path is outside the task's authority.",
        "Move it to a task of its own.",
        Severity.ERROR,
        "https://example.com/rules#gk141",
    )
}

NASTY = (
    "a\nb",
    "\n::error::forged",
    "\r\n##[error]forged",
    " ::add-mask::x",
    "\u00a0::debug::x",
    "x ##[group]y",
    "100%0A::error::x",
    ":",
    "::",
    "##",
    "[error]x",
    "\x1b[31mred\x1b[0m\x07",
    "\x9b31mred",
    "\u202egnp.exe\u202c",
    "a\u2028b\u2029c\x85d\x0be\x0cf",
    "\ufeffbom\u200bzero",
    "<script>alert(1)</script>",
    "<!-- hidden",
    "&lt;b&gt; &#64;octocat",
    "[click](https://evil.example)",
    "![x](https://evil.example/x.png)",
    "[ref]: https://evil.example",
    "<https://evil.example>",
    "https://evil.example www.evil.example a@b.example",
    "@octocat @org/team #12 owner/app#3 GH-7",
    "Fixes #1",
    "0123456789abcdef0123456789abcdef01234567",
    "*a* _b_ **c** __d__ ~~e~~",
    "`code` ``two`` ```three",
    "`a``b`",
    "`",
    "``",
    "| a | b |\\|",
    "\\",
    "a\\",
    "# heading",
    "- item",
    "1. item",
    "> quote",
    "---",
    "    indented",
    "$x$ $`y`$ :tada:",
    "\udc80 lone \ud800",
    "",
    " ",
    "  ",
    "'quoted value' and 'src/a b.py'",
    "日本語 Zürich 😀 👩‍👩‍👧",
    "A" * 3000,
    "`" * 3000,
    "|" * 3000,
    "\x00" * 3000,
)


def claim(**fields: object) -> Claim:
    return Claim(
        task=TASK,
        agent="a",
        branch="agent/retry",
        base_commit="a" * 40,
        claimed_at=datetime(2026, 8, 20, 11, 40, tzinfo=UTC),
        expires_at=datetime(2026, 8, 20, 12, 10, tzinfo=UTC),
        locks=("schema",),
        plan_revision=1,
        ref=f"refs/swarm/task-claims/{TASK}",
        oid="b" * 40,
        standing=True,
        fields=fields,
    )


def finding(
    code: str = "GK141",
    severity: Severity = Severity.ERROR,
    *,
    message: str = "it is outside the authority",
    path: bytes | None = b"src/auth/login.py",
    line: int | None = None,
    help_: str | None = "move it to a task of its own",
) -> Finding:
    name = {"GK141": "path-out-of-scope", "GK114": "claim-expired", "GK147": "task-proposed"}.get(
        code, "a-name"
    )
    return Finding(code, name, severity, message, path, line, help_)


def failed(*findings: Finding, view: Claim | None = None, title: str = "Retry failed payments") -> Verdict:
    return Verdict(
        outcome=Outcome.FAIL if any(f.severity is Severity.ERROR for f in findings) else Outcome.PASS,
        findings=tuple(sorted(findings, key=lambda f: f.order)),
        lane=Lane.IMPLEMENTATION,
        base=Tip("main", "a" * 40),
        head=Tip("agent/retry", "c" * 40),
        merged_tree="d" * 40,
        task=TaskRef(TASK, f".agents/tasks/done/{TASK}.md".encode(), title),
        claim=ClaimView(view or claim(), "live"),
        changed_paths=3,
    )


PASSED = Verdict(Outcome.PASS, (), base=Tip("main", "a" * 40), head=Tip("x", "c" * 40), merged_tree="d" * 64)
UNDECIDED = Verdict(Outcome.ERROR, (finding("GK005", message="no repository", path=None),))
LINTED = Verdict(Outcome.FAIL, (finding("GK202", line=3),), command="lint")

hostile = st.one_of(
    st.sampled_from(NASTY),
    st.text(max_size=60),
    st.text(alphabet="a:#[]()<>!`|\\*_~@&;\n\r %/.'\"-=$\x1b\u202e\u2028", max_size=60),
    st.lists(st.sampled_from(NASTY[:40]), min_size=2, max_size=3).map(" ".join),
)
paths = hostile.map(lambda text: text.encode("utf-8", "surrogatepass")) | st.binary(max_size=20)
findings = st.builds(
    finding,
    code=st.sampled_from(["GK114", "GK141", "GK147"]),
    severity=st.sampled_from(Severity),
    message=hostile.map(lambda text: "about " + text),
    path=st.none() | paths,
    line=st.none() | st.integers(1, 10_000),
    help_=st.none() | hostile,
)


@st.composite
def verdicts(draw: st.DrawFn) -> Verdict:
    """A check's verdict with hostile text wherever text from outside can be."""
    view = claim(extra=draw(hostile), agent=draw(hostile), ref="forged", state="forged")
    made = failed(*draw(st.lists(findings, max_size=4)), view=view, title=draw(hostile))
    ref = draw(hostile)
    return Verdict(
        outcome=made.outcome,
        findings=made.findings,
        base=Tip(ref, "a" * 40),
        head=Tip(ref, None),
        task=TaskRef(draw(hostile), draw(paths), draw(hostile)),
        claim=made.claim,
        changed_paths=draw(st.integers(0, 100_000)),
        enforced=draw(st.booleans()),
    )
