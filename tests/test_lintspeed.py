"""What lint does not look at, because it need not: leaving it out changes no answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from builders import Sample
from gatekeeper import linktargets, mdlinks
from gatekeeper.markdown import has_heading_with
from gatekeeper.mdlinks import links
from gatekeeper.mdparser import UnreadableError, block_tokens, inline_tokens
from gatekeeper.rules.board import ages

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from markdown_it.token import Token

DAY = 86_400
NOON = 1_786_622_400  # 2026-08-13T12:00:00Z
MARKS = "a/b|x|`|``|[|](|](a/b)|)|]|!|<|>|<i>|<a href='`'>|\\|*|**|_|~~|&amp;|&#96;|![|](<a b>)|[r]|[r][r]|<https://a.b>|-->|<!--|é"
soup = st.lists(st.sampled_from([*MARKS.split("|"), " ", "\n"]), max_size=30).map("".join)
# One after the other, at most nine of them.
LINES = """
# Accept|## What is accepted|# `accept`|# <!-- accept|-->|```|~~~|```sh|    # accept|- a|  ```|<div>|text|> # accept
# [x](accept)|&lt;|\\|<!-- a -->|# x|[a]: /x 'y|#accept|####### accept|ACCEPT|======|[^1]: note|`` ` ``|---
"""
lines = st.lists(st.sampled_from([*LINES.replace("\n", "|").split("|"), "| a |", "|---|"]), max_size=9).map(
    "\n".join
)


def spans(tokens: Iterable[Token]) -> list[tuple[object, ...]]:
    return [
        (
            t.type,
            t.meta["span"],
            t.attrs.get("href"),
            t.attrs.get("src"),
            t.content if t.type == "code_inline" else "",
        )
        for t in tokens
        if "span" in t.meta
    ]


@given(soup)
@settings(max_examples=400, deadline=None)
def test_marks_that_no_link_depends_on_change_no_link(text: str) -> None:
    _, env = block_tokens("[r]: a/b\n")
    assert spans(inline_tokens(text, env, links_only=True)) == spans(inline_tokens(text, env))


@given(soup, st.booleans())
@settings(max_examples=300, deadline=None)
def test_text_that_is_left_out_points_at_nothing(text: str, defined: bool) -> None:
    body = f"{text}\n\n- {text}\n\n[r]: a/b\n" if defined else f"{text}\n\n# {text}"
    found = links(body)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(mdlinks, "may_point", lambda _: True)
        assert links(body) == found
    if found:
        assert linktargets.may_point(body) or "]:" in body


@given(lines)
@settings(max_examples=400, deadline=None)
def test_a_heading_that_is_plain_to_see_is_one(body: str) -> None:
    try:
        shown = has_heading_with(body, "accept")
    except UnreadableError:  # what GitHub shows of it is not known for sure
        return
    assert (ages._unclear(body) is None) == shown


@pytest.mark.parametrize(
    "body",
    [
        "## Acceptance\n",
        "Text with `code`.\n\n```python\nx < y  # <!--\n```\n\n## Acceptance criteria\n\n<!-- evidence -->\n",
        "~~~\na\n~~~\n```\nb\n```  \n# It is accepted if\n```\n",
    ],
)
def test_most_headings_are_plain_to_see(body: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gatekeeper.markdown.has_heading_with", None)
    assert ages._unclear(body) is None


def test_a_body_is_told_what_it_lacks() -> None:
    assert ages._unclear("<!-- a -->\n") == "has no text"
    assert ages._unclear("```\n# Accept\n```\n") == 'has no heading with "accept" in it'


def task(name: str, state: str = "done") -> str:
    header = f"---\nid: {name}\ntitle: Count\nstatus: {state}\nclassification: docs\nauthority: {{paths: [docs/]}}\n---\n"
    return f"{header}# Count {name}\n"


def test_retention_counts_from_the_commit_that_moved_a_task_there(tmp_path: Path) -> None:
    sample = Sample(tmp_path, [])
    early, late, again, odd, fresh = (f"T-20260601-0000000{n}" for n in "12345")
    done = ".agents/tasks/done/{}.md".format

    def at(days: int, *written: str, removed: str = "") -> None:
        sample.clock = NOON - days * DAY
        for name in written:
            sample.write(done(name), task(name))
        if removed:
            sample.delete(done(removed))
        sample.commit()

    at(60, early, again, odd)
    at(50, removed=again)
    at(40, removed=odd)
    at(31)
    at(29, late, again)
    sample.write(done(odd), task(odd))  # put back, and not committed
    sample.write(done(fresh), task(fresh))
    report = sample.call("--now", "2026-08-13T12:00:00Z", "lint", "--format", "json").report
    found = {f["path"]: f["message"] for f in report["findings"] if f["code"] == "GK262"}
    assert list(found) == [done(early)]
    assert "60 days ago" in found[done(early)]


def test_the_first_day_past_retention_is_one_too_many(tmp_path: Path) -> None:
    sample = Sample(tmp_path, [])
    name = "T-20260601-00000001"
    sample.write(f".agents/tasks/done/{name}.md", task(name))
    sample.clock = NOON - 30 * DAY - 12 * 3600 - 61  # a second before the day began, 31 days back
    sample.commit()
    for hour in ("00:00:00", "23:59:59"):
        report = sample.call("--now", f"2026-08-13T{hour}Z", "lint", "--format", "json").report
        assert [f["code"] for f in report["findings"]] == ["GK262"]
    report = sample.call("--now", "2026-08-12T23:59:59Z", "lint", "--format", "json").report
    assert report["findings"] == []


def test_an_anchor_of_a_folder_is_one_of_its_readme(tmp_path: Path) -> None:
    sample = Sample(tmp_path, "shop")
    sample.write("docs/readme.md", "# Docs\n\n## Part\n")
    good = "[a](docs#part) [b](/docs/#docs) [c](docs/#readme) [d](src#anything) [e](/#running-it) [f](docs/#top)\n"
    sample.write("notes.md", f"{good}\n[x](docs#parts)\n\n[y](/#walking-it)\n")
    report = sample.call("lint", "--links-only", "--format", "json", "notes.md").report
    assert [(f["code"], f["line"]) for f in report["findings"]] == [("GK242", 3), ("GK242", 5)]
