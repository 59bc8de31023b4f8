"""Work beside other work: its result, its error, and what becomes of a result that nobody takes."""

from __future__ import annotations

from threading import Event

import pytest

from gatekeeper.edges.background import Background


def test_the_result_is_what_the_work_came_to_and_is_not_undone() -> None:
    undone: list[int] = []
    with Background(lambda: 7, undone.append) as work:
        assert work.result() == 7
    assert undone == []


def test_what_the_work_raises_is_raised_where_the_result_is_asked_for() -> None:
    with Background(lambda: 1 // 0, print) as work, pytest.raises(ZeroDivisionError):
        work.result()


@pytest.mark.parametrize("late", [False, True])
def test_a_result_that_nobody_takes_is_undone_whenever_it_comes(late: bool) -> None:
    begun, go, undone = Event(), Event(), Event()

    def work() -> str:
        begun.set()
        assert go.wait(10)
        return "made"

    def left() -> None:
        with Background(work, lambda _: undone.set()):
            assert begun.wait(10)
            if not late:
                go.set()
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        left()
    assert late is not undone.wait(0.2 if late else 10)
    go.set()
    assert undone.wait(10)
