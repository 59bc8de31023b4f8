"""What the planning lane reads of a board: never all of it, and always enough."""

from __future__ import annotations

import random
import time
from typing import TYPE_CHECKING
from unittest.mock import patch

import pytest

from builders import Sample, Spec, play
from gatekeeper.edges import ages, boardreader
from gatekeeper.taskfile import parse_task

if TYPE_CHECKING:
    from pathlib import Path

OPERATOR = ("--author", "octocat", "--operator", "octocat")
QUEUED = ".agents/tasks/queued"


def name(number: int) -> str:
    """A task's id."""
    return f"T-20260302-{number:08x}"


def text(number: int, depends: str = "", *, first: str = "", state: str = "queued", more: str = "") -> str:
    """A task's file. `depends` is the header's line on what it waits for, `first` stands before its id."""
    return (
        f"---\n{first}id: {name(number)}\ntitle: Task {number}\nstatus: {state}\nclassification: feature\n"
        f"{depends}{more}authority:\n  paths: [src/search/**]\n---\n# Task\n\n## Acceptance\nIt works.\n"
    )


def on(*numbers: int) -> str:
    """The line of a header that says what a task waits for."""
    return f"depends_on: [{', '.join(map(name, numbers))}]\n"


def files(tasks: dict[int, str]) -> Spec:
    """An edit that writes queued tasks."""
    return {"write": {f"{QUEUED}/{name(number)}.md": body for number, body in tasks.items()}}


def faults(sample: Sample) -> set[tuple[str, str]]:
    """The codes and paths that the check finds."""
    return {(f["code"], f["path"]) for f in sample.check(*OPERATOR).report["findings"]}


def whole(sample: Sample) -> set[tuple[str, str]]:
    """The same from a reading of both boards in which every task that is open is parsed."""

    def every(_reader: object, _moves: object, untouched: list[tuple[bytes, int, str]]) -> set[bytes]:
        return {path for path, _, _ in untouched}

    with patch.object(boardreader, "concerned", every):
        return faults(sample)


def rings(*numbers: int) -> set[tuple[str, str]]:
    """GK232 at each of these tasks."""
    return {("GK232", f"{QUEUED}/{name(number)}.md") for number in numbers}


def test_a_way_round_through_untouched_tasks_is_found_at_each_of_them(tmp_path: Path) -> None:
    base = files({2: text(2, on(3)), 3: text(3, on(4)), 4: text(4, on(1)), 5: text(5, on(2))})
    sample = play({"base": [base], "edits": [files({1: text(1, on(2))})]}, tmp_path)
    assert faults(sample) == whole(sample)
    assert faults(sample) == rings(1, 2, 3, 4)


def test_a_way_round_that_base_has_is_no_fault_of_the_change(tmp_path: Path) -> None:
    base = files({2: text(2, on(3)), 3: text(3, on(2))})
    sample = play({"base": [base], "edits": [files({1: text(1, on(2))})]}, tmp_path)
    assert faults(sample) == set()


def test_a_way_round_is_known_of_base_though_another_now_leads_through_it(tmp_path: Path) -> None:
    base = files({2: text(2, on(3, 1)), 3: text(3, on(2))})
    sample = play({"base": [base], "edits": [files({1: text(1, on(2))})]}, tmp_path)
    assert faults(sample) == rings(1), "2 waited for itself before"


def test_a_way_round_that_no_longer_waits_for_an_ended_task(tmp_path: Path) -> None:
    base: list[Spec] = [files({2: text(2, on(3)), 3: text(3, on(1))})]
    base.append(
        {
            "write": {
                f".agents/tasks/cancelled/{name(1)}.md": text(
                    1, on(2), state="cancelled", more="reason: no\n"
                )
            }
        }
    )
    move: list[Spec] = [{"delete": [f".agents/tasks/cancelled/{name(1)}.md"]}, files({1: text(1, on(2))})]
    sample = play({"base": base, "edits": move}, tmp_path)
    assert faults(sample) == rings(1, 2, 3)


HIDDEN = {
    "an escape": 'depends_on: ["T-2026\\u0030302-{1}"]\n',
    "an escape in the key": '"depends\\x5fon": [{0}]\n',
    "a block list": "depends_on:\n  - {0}\n",
    "single quotes": "depends_on: ['{0}']\n",
    "over two lines": "depends_on: [\n  {0}\n  ]\n",
    "a folded block": "depends_on:\n  - >-\n    {0}\n",
    "an escaped line end": 'depends_on: ["T-2026\\\n  0302-{1}"]\n',
}


@pytest.mark.parametrize("form", HIDDEN)
def test_a_name_is_read_however_it_is_written(tmp_path: Path, form: str) -> None:
    line = HIDDEN[form].replace("{0}", name(1)).replace("{1}", f"{1:08x}")
    base = files({1: text(1), 2: text(2, line), 3: text(3, line.replace(name(1), name(2)))})
    gone = play({"base": [base], "edits": [{"delete": [f"{QUEUED}/{name(1)}.md"]}]}, tmp_path / "a")
    assert ("GK231", f"{QUEUED}/{name(2)}.md") in faults(gone)
    ring = play({"base": [base], "edits": [files({1: text(1, on(2))})]}, tmp_path / "b")
    assert rings(1, 2) <= faults(ring) == whole(ring)


HEADS = {
    "the id first": "",
    "other fields first": "priority: 3\ncreated: 2026-03-02\nlocks: [a, b]\nassignee: 'any'\n",
    "a list first": "locks:\n  - a\n",
    "a comment": "# a task\n",
    "another id within a text": f'reason: "one\n\n  id: {name(7)}\n\n  two"\n',
    "an id in a block": f"reason: |\n  x\n  id: {name(7)}\n",
}


@pytest.mark.parametrize("head", HEADS)
def test_an_id_is_read_wherever_it_stands(tmp_path: Path, head: str) -> None:
    base = files({2: text(2, on(1), first=HEADS[head]), 7: text(7)})
    sample = play({"base": [base], "edits": [files({1: text(1, on(2))})]}, tmp_path)
    assert rings(1, 2) <= faults(sample) == whole(sample)


def test_a_task_under_another_tasks_name_is_known_by_its_header(tmp_path: Path) -> None:
    base: Spec = {"write": {f"{QUEUED}/{name(7)}.md": text(2, on(1)), f"{QUEUED}/notes.md": text(3, on(4))}}
    sample = play({"base": [base], "edits": [files({1: text(1, on(2)), 4: text(4, on(3))})]}, tmp_path)
    assert ("GK232", f"{QUEUED}/{name(7)}.md") in faults(sample)
    assert ("GK232", f"{QUEUED}/notes.md") in faults(sample)
    assert faults(sample) == whole(sample)


def test_ids_of_no_usual_form_wait_for_each_other_too(tmp_path: Path) -> None:
    odd = text(0).replace(f"id: {name(0)}\n", "id: it's one\ndepends_on: [" + name(2) + "]\n")
    line = "depends_on: ['it''s\n  one']\n"
    base: list[Spec] = [files({2: text(2, on(3)), 3: text(3, line)}), {"write": {f"{QUEUED}/odd.md": odd}}]
    sample = play({"base": base, "edits": [files({2: text(2, on(3), more="priority: 1\n")})]}, tmp_path / "a")
    assert faults(sample) == set(), "base has it"
    base = [files({2: text(2), 3: text(3, line)}), {"write": {f"{QUEUED}/odd.md": odd}}]
    sample = play({"base": base, "edits": [files({2: text(2, on(3))})]}, tmp_path / "b")
    assert rings(2, 3) <= faults(sample) == whole(sample)


@pytest.mark.parametrize("seed", range(12))
def test_any_change_is_found_as_a_whole_reading_finds_it(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)

    def body(number: int) -> str:
        waits = chance.sample(range(9), chance.choice([0, 1, 1, 2]))
        lines = [
            on(*waits),
            on(*waits).replace("T-20260", '"T-2026\\u0030').replace(",", '",').replace("]", '"]'),
        ]
        head = chance.choice(["", "", "priority: 1\n", "# first\n"])
        bears = chance.choice([number] * 6 + [chance.randrange(9)])
        return text(bears, chance.choice([lines[0], lines[0], lines[1]]) if waits else "", first=head)

    base = files({number: body(number) for number in range(7)})
    edits: list[Spec] = [files({number: body(number) for number in chance.sample(range(9), 2)})]
    if chance.random() < 0.5:
        edits.append({"finish": {"task": name(chance.randrange(7)), "state": "blocked"}})
    sample = play({"base": [base], "edits": edits}, tmp_path)
    assert faults(sample) == whole(sample)


def test_a_large_board_is_not_parsed_for_a_small_change(tmp_path: Path) -> None:
    board = files({number: text(number, on(number - 1) if number else "") for number in range(2000)})
    sample = play(
        {"base": [board], "edits": [files({1000: text(1000, on(999), more="priority: 1\n")})]}, tmp_path
    )
    with patch("gatekeeper.edges.reader.parse_task", wraps=parse_task) as parsed:
        assert faults(sample) == set()
    assert parsed.call_count < 10


def test_a_ring_of_thousands_is_told_at_each_of_them_and_soon(tmp_path: Path) -> None:
    size = 600
    ring = files({number: text(number, on((number + 1) % size)) for number in range(size)})
    sample = play({"edits": [ring]}, tmp_path)
    began = time.monotonic()
    assert faults(sample) == rings(*range(size))
    assert time.monotonic() - began < 10


def test_many_deleted_tasks_are_dated_by_one_walk(tmp_path: Path) -> None:
    old = {f".agents/tasks/done/{name(n)}.md": text(n, state="done") for n in range(40)}
    policy = "version: 1\nretention_days: 1\n"
    base: list[Spec] = [{"write": {".github/gatekeeper.yml": policy} | old}]
    sample = play({"base": base, "edits": [{"delete": list(old)}]}, tmp_path)
    with patch.object(ages, "_additions", wraps=ages._additions) as walks:
        assert faults(sample) == set()
    assert walks.call_count == 1
    few = play({"base": base, "edits": [{"delete": list(old)[:2]}]}, tmp_path / "few")
    assert faults(few) == set()
    kept = [{"write": {".github/gatekeeper.yml": policy.replace("days: 1", "days: 30")} | old}]
    for number, gone in enumerate((list(old), list(old)[:2])):
        sample = play({"base": kept, "edits": [{"delete": gone}]}, tmp_path / f"kept{number}")
        assert faults(sample) == {("GK226", path) for path in gone}
