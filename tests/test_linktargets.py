"""Where a link's target leads, what a code span may name, and what was probably meant."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gatekeeper.linktargets import (
    OUTSIDE,
    Lines,
    Place,
    Reading,
    Target,
    code_readings,
    git_path,
    has_anchor,
    is_markdown,
    is_relative,
    line_count,
    lines_named,
    link_reading,
    nearest,
    readme,
    reads_as_path,
    resolve,
    split_target,
)

FOLDER: Place = (b".agents", b"tasks", b"queued")


@pytest.mark.parametrize("target", ["", "#a", "?x", "a.md", "./a:b", "../a", "/a", "1:2", "a/b:c", " a.md "])
def test_relative_targets(target: str) -> None:
    assert is_relative(target)


@pytest.mark.parametrize(
    "target", ["https://a/b", "mailto:a@b", "HTTP:x", "//host/a", " //host", "a+b.c-1:x", "javascript:a/b"]
)
def test_targets_that_leave_the_repository(target: str) -> None:
    assert not is_relative(target)


@pytest.mark.parametrize(
    ("target", "place"),
    [
        ("", None),
        ("#top", None),
        ("?plain=1#L3", None),
        ("guide.md", (*FOLDER, b"guide.md")),
        ("./guide.md?raw=true#x", (*FOLDER, b"guide.md")),
        ("../../../docs//guide.md", (b"docs", b"guide.md")),
        ("../../..", ()),
        (".", FOLDER),
        ("/", ()),
        ("/src/payments/", (b"src", b"payments")),
        ("../../../../etc/passwd", OUTSIDE),
        ("/../x", OUTSIDE),
        ("/a/../../a/b", OUTSIDE),
        ("/docs/two%20words.md", (b"docs", b"two words.md")),
        ("/docs/two words.md", (b"docs", b"two words.md")),
        (" /docs/a.md ", (b"docs", b"a.md")),
        ("/docs%2Fguide.md", (b"docs/guide.md",)),
        ("/docs/%2e%2e/README.md", (b"docs", b"..", b"README.md")),
        ("/100%.md", (b"100%.md",)),
        ("/%zz%4", (b"%zz%4",)),
        ("/%25", (b"%",)),
        ("/%C3%BC/ü", ("ü".encode(), "ü".encode())),
        ("/%ff", (b"\xff",)),
        ("/weird%23name.md#x", (b"weird#name.md",)),
    ],
)
def test_where_targets_lead(target: str, place: Place | str | None) -> None:
    assert resolve(FOLDER, split_target(target)) == place
    assert link_reading(FOLDER, target).place == place


@pytest.mark.parametrize(
    ("target", "fragment"),
    [
        ("a.md", None),
        ("a.md#", ""),
        ("a.md#b#c", "b#c"),
        ("#b?c", "b?c"),
        ("?a#b", "b"),
        ("#%C3%BCber", "über"),
        ("#über", "über"),
        ("#%ff", "\ufffd"),
        ("#%", "%"),
        ("#a:~:text=x", "a"),
        ("#:~:text=x", ""),
    ],
)
def test_fragments(target: str, fragment: str | None) -> None:
    assert split_target(target).fragment == fragment
    assert link_reading((), target).fragment == fragment
    assert link_reading((), target, image=True).fragment is None


def test_a_target_split() -> None:
    assert split_target("/a/./b/?q=/c#d/e") == Target(("a", ".", "b"), rooted=True, fragment="d/e")
    assert split_target("a") == Target(("a",))


@given(st.text(max_size=60), st.lists(st.binary(min_size=1, max_size=3), max_size=3))
def test_any_target_leads_somewhere_or_nowhere(target: str, folder: list[bytes]) -> None:
    reading = link_reading(tuple(folder), target)
    if reading.place not in (None, OUTSIDE):
        assert b"" not in reading.place
    for other in code_readings(target):
        assert other.place not in (None, OUTSIDE, ())


@given(st.lists(st.sampled_from(["a", "b", "..", ".", ""]), max_size=12))
def test_dots_are_followed_as_one_walks(segments: list[str]) -> None:
    here: list[bytes] | None = [b"x", b"y"]
    for segment in segments:
        if here is not None and segment == "..":
            here = here[:-1] if here else None
        elif here is not None and segment.strip("."):
            here.append(segment.encode())
    expected = OUTSIDE if here is None else tuple(here)
    assert resolve((b"x", b"y"), split_target("./" + "/".join(segments))) == expected


# -- code spans ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "code",
    [
        "src/a.py",
        "src/",
        "./src/a.py",
        "and/or",
        "a/b-c",
        "docs/guide.md#first-steps",
        "src/a.py:12",
        "tests/test_a.py::test_b",
        "docs/two%20words.md",
        "/docs/guide.md",
        "app/(shop)/page.tsx",
        "src/C#/a.cs",
        "日本/語.md",
    ],
)
def test_code_that_reads_as_a_path(code: str) -> None:
    assert reads_as_path(code)


@pytest.mark.parametrize(
    "code",
    [
        "README.md",
        "npm run a/b",
        "a/b\u00a0c",
        "a/\tb",
        "src/*.py",
        "src/a?.py",
        "src/[a-z].py",
        "src/{a,b}.py",
        "src/<name>.py",
        "$HOME/a",
        "src/…/a.py",
        "src/.../a.py",
        "main...topic/a",
        "src/%s.py",
        "%APPDATA%/a",
        "a|b/c",
        r"src/\d+",
        "https://example.com/a",
        "/api/users",
        "/usr/bin/",
        "/home/.profile",
        "a/`b",
        "a/\x00b",
        "a/" * 3000,
        "",
    ],
)
def test_code_that_does_not(code: str) -> None:
    assert not reads_as_path(code)


@pytest.mark.parametrize(
    ("code", "readings"),
    [
        ("src/a.py", [Reading((b"src", b"a.py"))]),
        ("./src//a.py", [Reading((b"src", b"a.py"))]),
        ("/docs/a.md", [Reading((b"docs", b"a.md"))]),
        ("a%20b/c", [Reading((b"a%20b", b"c")), Reading((b"a b", b"c"))]),
        ("d/a.md#x%20y", [Reading((b"d", b"a.md#x%20y")), Reading((b"d", b"a.md#x y")), Reading((b"d", b"a.md"), "x y")]),
        ("src/a.py:12", [Reading((b"src", b"a.py:12")), Reading((b"src", b"a.py"))]),
        ("src/a-2:12:3", [Reading((b"src", b"a-2:12:3")), Reading((b"src", b"a-2"))]),
        ("src/a.py:3-9", [Reading((b"src", b"a.py:3-9")), Reading((b"src", b"a.py"))]),
        ("t/a.py::b::c", [Reading((b"t", b"a.py::b::c")), Reading((b"t", b"a.py"))]),
        ("log/2026-01-02", [Reading((b"log", b"2026-01-02"))]),
        ("src/a:", [Reading((b"src", b"a:"))]),
        ("../a", []),
        ("a/..", []),
        ("./", []),
    ],
)  # fmt: skip
def test_what_code_may_name(code: str, readings: list[Reading]) -> None:
    assert list(code_readings(code)) == readings


# -- what is there ---------------------------------------------------------------------------------


def test_places_as_git_writes_them() -> None:
    assert git_path((b"docs", b"a b.md")) == b"docs/a b.md"
    assert git_path(()) == b""
    for name in (b"a/b", b"..", b".", b"", b"a\0"):
        assert git_path((b"docs", name)) is None


@pytest.mark.parametrize(
    ("fragment", "named"),
    [
        ("L10", Lines(10, 10)),
        ("L10-L20", Lines(10, 20)),
        ("L10-20", Lines(10, 20)),
        ("L10C2-L20C3", Lines(10, 20)),
        ("L4-L2", Lines(4, 2)),
        ("L0", Lines(0, 0)),
        ("L007", Lines(7, 7)),
        ("L", None),
        ("l10", None),
        ("L1x", None),
        ("L1-", None),
        ("L1-L2-L3", None),
        ("L١", None),
        ("list", None),
    ],
)
def test_lines_that_are_named(fragment: str, named: Lines | None) -> None:
    assert lines_named(fragment) == named


def test_lines_within_a_file() -> None:
    assert Lines(1, 1).within(1)
    assert Lines(2, 5).within(5)
    assert not Lines(0, 1).within(5)
    assert not Lines(4, 2).within(5)
    assert not Lines(2, 6).within(5)
    endless = lines_named("L1" + "0" * 9000)
    assert endless is not None
    assert not endless.within(10**9)


def test_counting_lines() -> None:
    assert [line_count(data) for data in (b"", b"a", b"a\n", b"a\nb", b"\n\n", b"a\r\nb\r\n")] == [
        0,
        1,
        1,
        2,
        2,
        2,
    ]


def test_anchors_that_hold() -> None:
    anchors = frozenset({"first-steps", "By-Id"})
    for fragment in ("", "top", "first-steps", "By-Id", "user-content-first-steps"):
        assert has_anchor(anchors, fragment)
    for fragment in ("last-steps", "First-Steps", "by-id", "first-steps-1", "user-content-"):
        assert not has_anchor(anchors, fragment)


def test_which_files_are_markdown() -> None:
    assert all(map(is_markdown, (b"a.md", b"README.MD", b"a.b.markdown", b"x.mkdn")))
    assert not any(map(is_markdown, (b"a.py", b".md", b"md", b"a.md.txt", b"", b"a.rst")))


def test_which_file_a_folder_shows() -> None:
    assert readme([b"a.md", b"readme.markdown", b"README.md", b"README"]) == b"README.md"
    assert readme([b"README", b"readme.py", b"readme-first.md"]) is None
    assert readme([]) is None


# -- did you mean ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("wanted", "candidates", "meant"),
    [
        ("docs/Guide.md", ["docs/guides.md", "docs/guide.md"], "docs/guide.md"),
        ("docs/gude.md", ["README.md", "docs/guide.md", "docs/other.md"], "docs/guide.md"),
        (
            "src/auth/login.py",
            ["src/authentication/login.py", "src/pay/log.c"],
            "src/authentication/login.py",
        ),
        ("last-steps", ["first-steps", "guide-for-operators"], "first-steps"),
        ("über", ["ueber", "Über"], "Über"),
        ("zzz", ["first-steps", "guide"], None),
        ("a", [], None),
        ("", ["a"], None),
        ("a" * 300, ["a" * 300], None),
    ],
)
def test_what_was_meant(wanted: str, candidates: list[str], meant: str | None) -> None:
    assert nearest(wanted, candidates) == meant


def test_the_order_of_candidates_does_not_decide() -> None:
    candidates = ["docs/guide-b.md", "docs/guide-a.md"]
    assert nearest("docs/guide-c.md", candidates) == nearest("docs/guide-c.md", candidates[::-1])


@given(st.text(max_size=30), st.lists(st.text(max_size=30), max_size=8))
def test_only_candidates_are_meant(wanted: str, candidates: list[str]) -> None:
    assert nearest(wanted, candidates) in {None, *candidates}


def test_looking_for_the_nearest_is_bounded() -> None:
    start = time.monotonic()
    assert (
        nearest("module-19/file-1999.pi", (f"module-{n % 20}/file-{n}.py" for n in range(1_000_000)))
        is not None
    )
    for unit in ("a", "ab", "abcab"):
        nearest((unit * 200)[:200], [(unit * 200)[i : i + 199] for i in range(50)])
        nearest((unit * 200)[:200], ["x" * i + (unit * 200)[: 180 - i] for i in range(50)])
    assert time.monotonic() - start < 3
