"""`new` and `regenerate` in real working trees: what is written, what is refused, what is never overwritten."""

from __future__ import annotations

import os
from datetime import date
from typing import TYPE_CHECKING

import pytest

from builders import NOW, Ran, Sample, play
from gatekeeper import markdown
from gatekeeper.taskfile import parse_task

if TYPE_CHECKING:
    from pathlib import Path

    from gatekeeper.model import Task

A, FAILED, DONE = "T-20260301-0000000a", "T-20260301-0000000e", "T-20260301-0000000d"
QUEUED = ".agents/tasks/queued"
FEW = ["--title", "Retry: failed payments", "--path", "src/payments/**"]
CLASSES = ("feature", "bug-fix", "docs")


@pytest.fixture
def sample(tmp_path: Path) -> Sample:
    return play({}, tmp_path)


def call(sample: Sample, *args: str) -> Ran:
    return sample.call("--now", NOW, *args)


def written(sample: Sample, done: Ran) -> Task:
    assert done.status == 0, done.err
    task, path = done.out.split()
    data = (sample.path / path).read_bytes()
    read = parse_task(path.encode(), data, state="queued", classifications=CLASSES, today=date(2026, 3, 10))
    assert (read.id, read.defects) == (task, ())
    return read


def untouched(sample: Sample) -> bool:
    return not sample.git("status", "--porcelain", "--ignored")


def test_the_least_that_a_task_needs(sample: Sample) -> None:
    task = written(sample, call(sample, "new", *FEW))
    assert task.id.startswith("T-20260310-")
    assert task.path == f"{QUEUED}/{task.id}.md".encode()
    assert (task.title, task.status, task.classification) == ("Retry: failed payments", "queued", "feature")
    assert task.created == date(2026, 3, 10)
    assert task.authority is not None
    assert (task.authority.paths, task.authority.forbid) == (("src/payments/**",), ())
    assert set(task.header) == {"id", "title", "status", "classification", "created", "authority"}
    assert [h.text for h in markdown.headings(task.body)][1:] == [
        "Context",
        "Acceptance criteria",
        "Evidence",
    ]
    assert "- [ ] " in task.body
    assert sample.git("status", "--porcelain") == f"?? {task.path.decode()}", "it is there and not staged"


def test_all_that_can_be_said(sample: Sample) -> None:
    more = [
        "--path",
        "*.md",
        "--forbid",
        "src/x y/**",
        "--lock",
        "schema",
        "--lock",
        "a: b",
        "--depends-on",
        A,
    ]
    more += ["--classification", "docs", "--priority", "-3", "--review-by", "2026-03-10", "--assignee", "ada"]
    done = call(sample, "new", *FEW, *more, "--slug", "--lock", "schema")
    task = written(sample, done)
    assert task.path == f"{QUEUED}/{task.id}-retry-failed-payments.md".encode()
    assert task.authority is not None
    assert task.authority.paths == ("src/payments/**", "*.md")
    assert task.authority.forbid == ("src/x y/**",)
    assert (task.locks, task.depends_on, task.priority) == (("schema", "a: b"), (A,), -3)
    assert (task.classification, task.review_by, task.assignee) == ("docs", date(2026, 3, 10), "ada")
    assert ".agents/manifest.yml lists it" in done.err


def test_json_says_where_it_is(sample: Sample) -> None:
    report = call(sample, "new", *FEW, "--format", "json").report
    assert report["path"] == f"{QUEUED}/{report['task']}.md"
    assert {"version": 1, "command": "new"}.items() <= report.items()


def test_a_new_task_passes_as_planning_once_a_milestone_lists_it(sample: Sample) -> None:
    task = written(sample, call(sample, "new", *FEW)).id
    sample.replace(".agents/manifest.yml", ["T-20260301-0000000d]", f"T-20260301-0000000d, {task}]"])
    sample.commit()
    done = sample.check("--operator", "ada", "--author", "ada")
    assert (done.verdict, done.report["lane"]) == ("pass", "planning")


def test_the_first_task_of_a_repository_makes_the_board(tmp_path: Path) -> None:
    sample = Sample(tmp_path, [])
    done = call(sample, "new", *FEW)
    written(sample, done)
    assert "milestone" not in done.err


def test_the_working_trees_own_policy_says_what_classes_there_are(sample: Sample) -> None:
    sample.write(".github/gatekeeper.yml", "version: 1\nclassifications: [spike, feat]\n")
    out = call(sample, "new", *FEW).out
    assert "classification: spike\n" in (sample.path / out.split()[1]).read_text()
    done = call(sample, "new", *FEW, "--classification", "docs")
    assert done.status == 2
    assert "not one of feat, spike" in done.err


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["--title", "x"], "at least one --path"),
        (["--path", "x"], "--title"),
        ([*FEW, "--path", "/etc"], "'/etc'"),
        ([*FEW, "--forbid", "a/../b"], "'a/../b'"),
        ([*FEW, "--path", ""], "is blank"),
        ([*FEW, "--title", "two\nlines"], "several lines"),
        ([*FEW, "--title", "  "], "is blank"),
        ([*FEW, "--title", "a\udcffb"], "may not stand in a header"),
        ([*FEW, "--lock", "x\n---\n"], "several lines"),
        ([*FEW, "--assignee", ""], "is blank"),
        ([*FEW, "--classification", "featur"], "'featur' is not one of"),
        ([*FEW, "--review-by", "tomorrow"], "YYYY-MM-DD"),
        ([*FEW, "--review-by", "20260401"], "YYYY-MM-DD"),
        ([*FEW, "--review-by", "2026-03-09"], "is past"),
        ([*FEW, "--priority", "soon"], "soon"),
        ([*FEW, "--priority", "1" + "0" * 30], "whole number"),
    ],
)
def test_what_would_be_no_sound_task_is_a_usage_error(sample: Sample, args: list[str], words: str) -> None:
    done = call(sample, "new", *args)
    assert (done.status, done.out) == (2, "")
    assert words in done.err
    assert untouched(sample)


def test_a_task_that_it_would_wait_for_has_to_be_there(sample: Sample) -> None:
    done = call(sample, "new", *FEW, "--depends-on", A, "--depends-on", "T-20260301-0000dead")
    assert (done.status, done.out) == (1, "")
    assert "'T-20260301-0000dead'" in done.err
    assert untouched(sample)


def test_an_id_is_never_given_twice(sample: Sample, monkeypatch: pytest.MonkeyPatch) -> None:
    taken = "T-20260310-00000001"
    sample.write(f".agents/tasks/done/{taken}-some-words.md", "whatever\n")
    given = iter([b"\0\0\0\1", b"\0\0\0\2"])
    real = os.urandom
    monkeypatch.setattr(os, "urandom", lambda size: next(given) if size == 4 else real(size))
    assert written(sample, call(sample, "new", *FEW)).id == "T-20260310-00000002"


def test_nothing_is_overwritten_that_came_in_between(sample: Sample, monkeypatch: pytest.MonkeyPatch) -> None:
    link = os.link

    def late(source: bytes, name: bytes, **kwargs: int) -> None:
        sample.write(f"{QUEUED}/{name.decode()}", "somebody else's\n")
        link(source, name, **kwargs)  # type: ignore[arg-type]

    monkeypatch.setattr(os, "link", late)
    done = call(sample, "new", *FEW)
    assert (done.status, done.out) == (1, "")
    assert "nothing is overwritten" in done.err
    assert sample.git("status", "--porcelain", "-uall").count("??") == 1, "and no temporary file stays"


def test_no_link_leads_a_new_task_elsewhere(sample: Sample, tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (sample.path / QUEUED).rename(tmp_path / "queued")
    (sample.path / QUEUED).symlink_to(tmp_path / "outside")
    assert call(sample, "new", *FEW).status == 1
    assert not list((tmp_path / "outside").iterdir())


# -- regenerate --------------------------------------------------------------------------------


def test_an_invalid_premise_is_begun_again(sample: Sample) -> None:
    path = f".agents/tasks/failed/{FAILED}.md"
    sample.append(path, "\n- [x] ticked\n\n## Evidence\n```\nit broke\n```\n")
    sample.replace(path, ["failure:", "reason: 'no: such thing'\npriority: 4 # soon\nlocks: [x]\nfailure:"])
    before = (sample.path / path).read_bytes()
    task = written(sample, call(sample, "regenerate", FAILED))
    assert task.path == f"{QUEUED}/{task.id}.md".encode()
    assert (task.regenerated_from, task.failure, task.reason) == (FAILED, None, None)
    assert (task.title, task.priority, task.locks) == ("A second cart", 4, ("x",))
    assert task.authority is not None
    assert task.authority.paths == ("src/orders/**",)
    assert task.body.rstrip() == "# A second cart\n\n- [ ] ticked\n\n## Evidence"
    assert (sample.path / path).read_bytes() == before
    sample.commit()
    report = sample.check("--operator", "ada", "--author", "ada").report
    assert "GK233" not in str(report["findings"])


def test_a_slug_stays_and_json_names_both(sample: Sample) -> None:
    sample.move(f".agents/tasks/failed/{FAILED}.md", f".agents/tasks/failed/{FAILED}-second-cart.md")
    report = call(sample, "regenerate", FAILED, "--format", "json").report
    assert report["regenerated_from"] == FAILED
    assert report["path"] == f"{QUEUED}/{report['task']}-second-cart.md"


def test_fail_then_regenerate_as_an_agent_would(sample: Sample) -> None:
    assert call(sample, "fail", A, "--failure", "invalid-premise").status == 0
    task = written(sample, call(sample, "regenerate", A))
    assert (task.created, task.regenerated_from) == (date(2026, 3, 10), A)


def test_a_day_that_is_past_is_said(sample: Sample) -> None:
    sample.replace(f".agents/tasks/failed/{FAILED}.md", ["failure:", "review_by: 2026-03-02\nfailure:"])
    done = call(sample, "regenerate", FAILED)
    assert written(sample, done).review_by == date(2026, 3, 2)
    assert "is past: set a new day" in done.err


@pytest.mark.parametrize(
    ("task", "words"),
    [
        (A, [f"'{A}' stands at {QUEUED}/{A}.md", "failed/ alone"]),
        ("T-20260301-0000dead", ["is not on this working tree's board"]),
        ("a\nb\x1b[1m", ["'a\\nb\\x1b[1m'"]),
    ],
)
def test_what_is_not_in_failed_is_refused(sample: Sample, task: str, words: list[str]) -> None:
    done = call(sample, "regenerate", task)
    assert (done.status, done.out) == (1, "")
    assert all(word in done.err for word in words), done.err
    assert untouched(sample)


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("invalid-premise", "spec-gap", "failed as 'spec-gap'"),
        ("failure: invalid-premise\n", "", "failed as 'nothing'"),
        ("classification: feature", "classification: fear", "'fear' is not one of"),
        ("---\nid", "id", "no front matter"),
        ("# A second cart", "> " * 40_000, "can't be read as Markdown"),
    ],
)
def test_a_task_that_can_not_be_begun_again_is_refused(
    sample: Sample, old: str, new: str, words: str
) -> None:
    path = f".agents/tasks/failed/{FAILED}.md"
    sample.replace(path, [old, new])
    done = call(sample, "regenerate", FAILED)
    assert (done.status, done.out) == (1, "")
    assert words in done.err
    assert len(list((sample.path / QUEUED).iterdir())) == 4
