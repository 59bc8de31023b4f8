"""Inputs, events and outputs on their own: what they take, and that nothing else makes more than one clear error."""

from __future__ import annotations

import copy
import io
import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from action.harness import EVENTS, parse_outputs
from gatekeeper.action import event, outputs
from gatekeeper.action.inputs import Inputs, is_branch, read_inputs
from gatekeeper.errors import GatekeeperError
from gatekeeper.model import Finding, Outcome, Severity, TaskRef, Verdict

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


# -- inputs --------------------------------------------------------------------


def test_inputs_as_the_runner_spells_them() -> None:
    found = read_inputs(
        {
            "INPUT_TOKEN": " t \n",
            "INPUT_BASE-REF": "refs/heads/release/1.x",
            "INPUT_HEAD_REF": "agent/x",
            "INPUT_OPERATORS": "@ann, bob\ndependabot[bot]",
            "INPUT_NOW": "2026-08-20T12:00:00Z",
            "INPUT_REMOTE": "https://example.com/o/r",
        }
    )
    assert found == Inputs(
        token="t",
        base_ref="release/1.x",
        head_ref="agent/x",
        operators=("ann", "bob", "dependabot[bot]"),
        now=datetime(2026, 8, 20, 12, tzinfo=UTC),
        remote="https://example.com/o/r",
    )


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("COMMAND", "audit"),
        ("BASE-REF", "a..b"),
        ("BASE-REF", "-x*"),
        ("HEAD-REF", "a b"),
        ("HEAD-REF", "x\n::error::"),
        ("REMOTE", "ext::sh -c x"),
        ("REMOTE", "--upload-pack=x"),
        ("REMOTE", "git@example.com:o/r"),
        ("AUTHOR", "a b"),
        ("OPERATORS", "ann, $(id)"),
        ("NOW", "yesterday"),
    ],
)
def test_an_input_that_cannot_be_used_is_named(name: str, value: str) -> None:
    with pytest.raises(GatekeeperError) as caught:
        read_inputs({f"INPUT_{name}": value})
    assert name.lower() in caught.value.message
    assert "\n" not in caught.value.message


@pytest.mark.parametrize("name", ["TOKEN", "OPERATORS-TOKEN"])
def test_a_token_with_a_line_break_is_refused_and_not_quoted(name: str) -> None:
    with pytest.raises(GatekeeperError) as caught:
        read_inputs({f"INPUT_{name}": "ghs_secret\nX-Evil: 1"})
    assert "ghs" not in caught.value.message + caught.value.hint


NAMES = ["main", "release/1.x", "a-b_c", "é", "@x", "-x", "a@b", "x.lock.y"]
NO_NAMES = [
    "",
    "@",
    "a..b",
    "a b",
    "a~1",
    "a^",
    "a:b",
    "a?",
    "a*",
    "a[b",
    "a\\b",
    "/a",
    "a/",
    "a//b",
    "a.",
    ".a",
    "a/.b",
]


@pytest.mark.parametrize("name", [*NAMES, *NO_NAMES, "a.lock", "a.lock/b", "a@{1}", "a\n", "a\x7f"])
def test_a_branch_is_what_git_takes_for_one(name: str) -> None:
    assert is_branch(name) is (name in NAMES)


# -- events ---------------------------------------------------------------------

KNOWN = {path.stem: json.loads(path.read_text()) for path in EVENTS.glob("*.json")}
ODD = [
    None,
    True,
    0,
    1.5,
    "",
    "x",
    "\ud800",
    "\n::error::x",
    [],
    ["x"],
    {},
    {"ref": 1},
    "0" * 40,
    "refs/heads/x",
]


def places(node: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield at
    for key, value in node.items() if isinstance(node, dict) else ():
        yield from places(value, (*at, key))


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.sampled_from(sorted(KNOWN)), st.data())
def test_any_field_may_be_anything(tmp_path: Path, name: str, data: st.DataObject) -> None:
    made = copy.deepcopy(KNOWN[name])
    for _ in range(data.draw(st.integers(1, 3))):
        *path, last = data.draw(st.sampled_from([p for p in places(made) if p]))
        node = made
        for key in path:
            node = node[key]
        node[last] = copy.deepcopy(data.draw(st.sampled_from(ODD)))
    file = tmp_path / "event.json"
    file.write_text(json.dumps(made))
    environ = {
        "GITHUB_EVENT_NAME": name.split(".", maxsplit=1)[0],
        "GITHUB_EVENT_PATH": str(file),
        "GITHUB_REPOSITORY": "octo-org/octo-repo",
    }
    asked, said = asked_or_said(environ)
    if asked is None:
        assert len(said.splitlines()) == 1
        assert len(said) < 300
    else:
        assert is_branch(asked.base_ref)
        assert event.object_format(asked, environ) in ("sha1", "sha256")


def asked_or_said(environ: dict[str, str]) -> tuple[event.Asked | None, str]:
    try:
        return event.read_event(environ, Inputs(head_ref="x")), ""
    except GatekeeperError as why:
        return None, why.message


def test_who_pushed_is_known_of_the_push_itself_alone(tmp_path: Path) -> None:
    file = tmp_path / "event.json"
    environ = {"GITHUB_EVENT_NAME": "pull_request", "GITHUB_EVENT_PATH": str(file)}

    def pusher(**change: object) -> str | None:
        file.write_text(json.dumps(KNOWN["pull_request.synchronize"] | change))
        asked = event.read_event(environ, Inputs())
        assert asked.pull
        return asked.pull.pusher

    assert pusher() == "Codertocat"
    assert pusher(after="1" * 40) is None
    assert pusher(action="edited") is None
    assert pusher(sender=None) is None
    assert pusher(sender={"login": 1}) is None


# -- outputs ----------------------------------------------------------------------


def verdict(**fields: Any) -> Verdict:
    return Verdict(Outcome.PASS, fields.pop("findings", ()), **fields)


def test_a_value_with_line_breaks_is_one_output(tmp_path: Path) -> None:
    task = TaskRef("x\nverdict=pass\nverdict<<E\npass\nE\ngatekeeper_0\ud800", b"x", "")
    environ = {"GITHUB_OUTPUT": str(tmp_path / "out")}
    marks = set()
    for _ in range(2):
        (tmp_path / "out").write_bytes(b"")
        outputs.save_outputs(verdict(task=task), "r", environ)
        text = (tmp_path / "out").read_text()
        found = parse_outputs(text)
        assert sorted(found) == ["agent", "lane", "report", "task-id", "verdict"]
        assert found["task-id"] == task.id.replace("\ud800", "\\ud800")
        marks |= {line.split("<<")[1] for line in text.splitlines() if line.startswith(("agent<<", "lane<<"))}
    assert len(marks) == 4  # one of its own for every value of every run


def test_a_summary_is_cut_by_bytes_and_at_a_line(tmp_path: Path) -> None:
    path = tmp_path / "summary"
    found = [
        Finding(f"GK{n % 1000:03}", "x", Severity.ERROR, "é" * 300, path=b"%d/\xff" % n) for n in range(3000)
    ]
    environ = {"GITHUB_STEP_SUMMARY": str(path)}
    path.write_bytes(b"before\n")
    outputs.save_summary(verdict(findings=tuple(found)), environ)
    outputs.save_summary(verdict(findings=tuple(found)), environ)
    data = path.read_bytes()
    assert len(data) < 1024 * 1024 - 1024
    assert data.startswith(b"before\n")
    data.decode()


def test_cutting_keeps_whole_lines() -> None:
    text = b"".join(b"line %d\n" % n for n in range(100))
    assert outputs.cut_lines(text, len(text)) == text
    cut = outputs.cut_lines(text, 500)
    assert len(cut) <= 500
    assert cut.endswith(outputs.CUT.encode())
    assert text.startswith(cut.removesuffix(outputs.CUT.encode()))
    assert cut.removesuffix(outputs.CUT.encode()).endswith(b"\n")
    assert outputs.cut_lines(text, 10) == outputs.CUT.encode()[:10]
    assert outputs.cut_lines(text, -5) == b""


def test_in_a_container_the_path_is_the_workspaces_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outputs, "CONTAINER_WORKSPACE", str(tmp_path))
    assert outputs.save_report(verdict(), {"GITHUB_WORKSPACE": f"{tmp_path}/"}) == outputs.REPORT
    assert json.loads((tmp_path / outputs.REPORT).read_text())["verdict"] == "pass"


def test_a_folder_of_the_reports_name_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / outputs.REPORT / "x").mkdir(parents=True)
    stdout, stderr = io.StringIO(), io.StringIO()
    outputs.publish(verdict(), {"GITHUB_WORKSPACE": str(tmp_path)}, stdout, stderr)
    assert "the JSON report could not be written" in stderr.getvalue()
    assert [path.name for path in tmp_path.iterdir()] == [outputs.REPORT]


def test_a_stream_that_knows_few_letters(tmp_path: Path) -> None:
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, encoding="ascii", errors="strict", write_through=True)
    found = Finding("GK141", "x", Severity.ERROR, "é\ud800", path="ü".encode())
    outputs.publish(verdict(findings=(found,)), {"GITHUB_WORKSPACE": str(tmp_path)}, stream, stream)
    assert rb"\xe9" in raw.getvalue()
