"""Many changed paths at once are judged as each of them alone would be."""

from __future__ import annotations

import re
from typing import Any

from hypothesis import example, given, settings
from hypothesis import strategies as st

from gatekeeper import inscope
from gatekeeper.boards import LAYOUTS
from gatekeeper.inscope import Scope
from gatekeeper.model import GITLINK, SYMLINK, Authority, Change
from gatekeeper.patterns import Patterns
from gatekeeper.policy import DEFAULT

TASK = b".agents/tasks/queued/T-20260814-abcdef01.md"
PATHS = [
    b"src/a.py",
    b"src/CODEOWNERS",
    b"src/deep/codeOwners",
    b"src/.gitmodules",
    b"src/caf\xc3\xa9/CODEOWNER\xc5\xbf",
    b"srcs/a.py",
    b"lib/b.py",
    b".github/workflows/ci.yml",
    b".github/gatekeeper.yml",
    b".agents/plan.md",
    b".agents/proposals/new.md",
    TASK,
    b"docs/a.md",
    b"docs",
]
PATTERNS = ["src/**", "src", "docs/", "**", "**/*.py", ".agents/**", "src/*/a", "lib/b.py", ".github/**"]
MODES = [0, 0o100644, 0o100755, SYMLINK, GITLINK]

changes = st.builds(
    Change,
    st.one_of(st.sampled_from(PATHS), st.integers(0, 999).map(lambda n: b"src/%d.py" % n)),
    st.sampled_from(MODES),
    st.sampled_from(MODES),
    st.just("a" * 40),
    st.just("b" * 40),
)
patterns = st.lists(st.sampled_from(PATTERNS), max_size=3).map(tuple)


def one_by_one(scope: Scope, asked: list[Change]) -> dict[str, list[Change]]:
    found: dict[str, list[Change]] = {}
    for change in asked:
        code = scope.judge(change)
        if code is not None:
            found.setdefault(code, []).append(change)
    return found


@settings(max_examples=150, deadline=None)
@given(st.lists(changes, max_size=12), patterns, patterns, st.booleans())
@example([Change(b"src/CODEOWNERS", 0o100644, 0o100644, "a", "b")], ("src/**",), (), False)
@example([Change(TASK, 0o100644, 0, "a", "")], ("**", ".agents/**"), (), False)
def test_all_at_once_is_each_alone(
    few: list[Change], paths: tuple[str, ...], forbid: tuple[str, ...], none: bool
) -> None:
    crowd = [Change(b"src/crowd/%d.py" % n, 0o100644, 0o100755, "a", "b") for n in range(150)]
    authority = None if none else Authority(paths, forbid)
    scope = Scope(DEFAULT, LAYOUTS[0], authority, {TASK})
    for asked in (few + crowd, crowd + few, few):
        assert scope.judge_all(asked) == one_by_one(scope, asked)


def test_a_crowd_that_is_plainly_inside_is_not_asked_one_by_one(monkeypatch: Any) -> None:
    crowd = [Change(b"src/%d.py" % n, 0o100644, 0o100644, "a", "b") for n in range(500)]
    scope = Scope(DEFAULT, LAYOUTS[0], Authority(("src/**",), ("src/vendor/**",)), {TASK})
    asked: list[Change] = []
    monkeypatch.setattr(inscope.Scope, "judge", lambda _, change: asked.append(change))
    assert scope.judge_all([*crowd, Change(b"lib/x", 0, 0o100644, "", "b")]) == {}
    assert [change.path for change in asked] == [b"lib/x"]


@settings(max_examples=150, deadline=None)
@given(st.lists(st.sampled_from(PATHS), min_size=1, max_size=6), patterns, st.booleans())
def test_no_path_that_is_held_is_missed_among_many(
    paths: list[bytes], held: tuple[str, ...], fold: bool
) -> None:
    asked = Patterns(held, ignore_case=fold)
    listed = b"\0" + b"\0\0".join(paths) + b"\0"
    assert asked.may_hold_one_of(listed) or not any(map(asked.holds, paths))
    assert re.fullmatch(rb"(\0[^\0]+\0)+", listed)
