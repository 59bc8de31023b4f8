"""Authority patterns against git itself: a table, and random patterns over a nasty alphabet."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable
from itertools import product
from pathlib import Path
from unicodedata import normalize

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from gatekeeper import scope
from gatekeeper.scope import (
    Patterns,
    fold,
    folder_prefix,
    holds_below,
    invalid,
    literal,
    may_hold_below,
    meet,
    names,
    too_broad,
)

Ask = Callable[[str], set[bytes]]
BLOB = b"e69de29bb2d1d6434b8b29ae775ad8c2e48c5391"


def rows() -> list[tuple[str, bytes, bool]]:
    """The table: pattern, path, whether the one holds the other."""
    found: list[tuple[str, bytes, bool]] = []
    pattern = ""
    table = Path(__file__).parent / "data" / "wildmatch.txt"
    for line in table.read_text(encoding="utf-8").splitlines():
        if line.startswith(("  + ", "  - ")):
            found.append((pattern, line[4:].encode(), line[2] == "+"))
        elif line and not line.startswith("# "):
            pattern = line
    return found


def ancestors(path: bytes) -> list[bytes]:
    return [path[:at] for at, byte in enumerate(path) if byte == ord("/")]


def git_index(folder: Path, paths: set[bytes]) -> Ask:
    """An index that holds all the paths, and a way to ask git which of them a pattern matches.

    A file and a folder of one name can't stand in an index together, but for different stages of
    a merge; so a path's stage is the number of its folders that are paths as well.
    """
    env = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    env |= {"GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull, "LC_ALL": "C"}

    def git(*args: str, data: bytes = b"") -> bytes:
        done = subprocess.run(
            ["git", *args], cwd=folder, env=env, input=data, capture_output=True, check=True
        )
        return done.stdout

    git("init", "--quiet", "--object-format=sha1")
    entries = (
        b"100644 %s %d\t%s\0" % (BLOB, sum(a in paths for a in ancestors(path)), path)
        for path in sorted(paths)
    )
    git("update-index", "-z", "--index-info", data=b"".join(entries))
    held = git("ls-files", "-z").split(b"\0")[:-1]
    assert sorted(held) == sorted(paths)
    return lambda pattern: set(git("ls-files", "-z", "--", f":(top,glob){pattern}").split(b"\0")[:-1])


def valid(path: str) -> bool:
    return all(name not in {"", ".", ".."} for name in path.split("/"))


def paths_over(alphabet: str, longest: int, shortest: int = 1) -> set[bytes]:
    """Every path of so many characters."""
    texts = ("".join(t) for n in range(shortest, longest + 1) for t in product(alphabet, repeat=n))
    return {text.encode() for text in texts if valid(text)}


NASTY = paths_over("ab/*[]\\-!.", 3) | paths_over("a/*[\\", 5, 4) | paths_over("ab/", 6, 4)
PIECES = (
    *(
        "a",
        "b",
        "/",
        "*",
        "?",
        "[",
        "]",
        "!",
        "-",
        "\\",
        ".",
        "**",
        "***",
        "/**",
        "**/",
        "/**/",
        "a/",
        "b*",
        "\\/",
    ),
    *(
        "[ab]",
        "[!a]",
        "[^b-]",
        "[a-b]",
        "[b-a]",
        "[\\a-b]",
        "[]",
        "[/]",
        "[!]-]",
        "[[:alpha:]]",
        "[[:punct:]",
        "[:",
    ),
)
TABLE = [row for row in rows() if valid(row[1].decode())]


@pytest.fixture(scope="module")
def nasty(tmp_path_factory: pytest.TempPathFactory) -> Ask:
    return git_index(tmp_path_factory.mktemp("nasty"), NASTY)


# -- the table


def test_the_table_is_large_and_says_both_things_of_most_patterns() -> None:
    assert len(TABLE) >= 350
    assert {held for _, _, held in TABLE} == {True, False}


@pytest.mark.parametrize(("pattern", "path", "held"), TABLE)
def test_a_row_of_the_table(pattern: str, path: bytes, held: bool) -> None:
    assert (Patterns([pattern]).match(path) is not None) is held


def test_git_agrees_with_every_row(tmp_path: Path) -> None:
    git = git_index(tmp_path, {path for _, path, _ in TABLE})
    said = {pattern: git(pattern) for pattern, _, _ in TABLE}
    assert [(pattern, path, path in said[pattern]) for pattern, path, _ in TABLE] == TABLE


def test_each_pattern_of_the_table_means_the_same_on_all_its_paths(tmp_path: Path) -> None:
    paths = {path for _, path, _ in TABLE}
    git = git_index(tmp_path, paths)
    for pattern in {pattern for pattern, _, _ in TABLE}:
        ask = Patterns([pattern])
        assert {path for path in paths if ask.match(path) is not None} == git(pattern), pattern


def test_sets_hold_the_bytes_that_git_says(tmp_path: Path) -> None:
    letters = {bytes([byte]) for byte in range(1, 256) if byte not in b"/."}
    git = git_index(tmp_path, letters)
    kinds = [
        "alnum",
        "alpha",
        "blank",
        "cntrl",
        "digit",
        "graph",
        "lower",
        "print",
        "punct",
        "space",
        "upper",
        "xdigit",
    ]
    for pattern in [f"[{no}[:{kind}:]]" for kind in kinds for no in ("", "!")] + ["?", "[!x]", "[ -~]"]:
        ask = Patterns([pattern])
        assert {path for path in letters if ask.match(path) is not None} == git(pattern), pattern


# -- random patterns


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(pattern=st.lists(st.sampled_from(PIECES), min_size=1, max_size=7).map("".join))
@example(pattern="a**/**/b")
@example(pattern="b**/**/**\\/[!a]")
@example(pattern="*[!]-]*")
def test_random_patterns_hold_what_git_says(nasty: Ask, pattern: str) -> None:
    ask = Patterns([pattern])
    assert {path for path in NASTY if ask.match(path) is not None} == nasty(pattern)


@settings(max_examples=150, deadline=None)
@given(
    patterns=st.lists(st.text("ab/*?[]", min_size=1, max_size=5), max_size=6),
    path=st.sampled_from(sorted(NASTY)),
)
def test_a_list_answers_with_its_first_pattern_that_holds(patterns: list[str], path: bytes) -> None:
    alone = [pattern for pattern in patterns if Patterns([pattern]).match(path) is not None]
    assert Patterns(patterns).match(path) == (alone[0] if alone else None)


@given(
    patterns=st.lists(st.lists(st.sampled_from(PIECES), min_size=1, max_size=5).map("".join), max_size=4),
    path=st.sampled_from(sorted(NASTY)),
    ignore_case=st.booleans(),
)
def test_holding_is_matching(patterns: list[str], path: bytes, ignore_case: bool) -> None:
    among = Patterns(patterns, ignore_case=ignore_case)
    assert among.holds(path) == (among.match(path) is not None)


@given(pattern=st.text(max_size=20), path=st.binary(max_size=20))
def test_nothing_makes_it_fail(pattern: str, path: bytes) -> None:
    for ignore_case in (False, True):
        assert Patterns([pattern], ignore_case=ignore_case).match(path) in {pattern, None}
    invalid(pattern)
    too_broad(pattern)
    literal(pattern)
    folder_prefix(pattern)
    holds_below([pattern], path)
    may_hold_below([pattern], path)
    meet(pattern, pattern)


@pytest.mark.parametrize("pattern", ["", "a\0b", "\0", "\ud800"])
def test_what_git_cannot_be_given_holds_nothing(pattern: str) -> None:
    assert [path for path in (b"a", b"a/b", b"b", b"\xff") if Patterns([pattern]).match(path)] == []


def test_no_pattern_holds_nothing() -> None:
    assert Patterns([]).match(b"a") is None
    assert Patterns([], ignore_case=True).match(b"a") is None


def test_paths_that_are_no_utf8() -> None:
    assert Patterns(["src/*"]).match(b"src/\xff\xfe\n") == "src/*"
    assert Patterns(["src/??"]).match(b"src/\xff\xfe") == "src/??"
    assert Patterns(["src/?"]).match("src/é".encode()) is None


# -- time


HOSTILE = [
    ("*a*a*a*a*a*b", "a" * 200),
    ("*a" * 100 + "b", "a" * 200),
    ("**/a/**/a/**/b", "/".join("a" * 100)),
    ("**/a/" * 60 + "b", "/".join("a" * 100)),
    ("**/*a*a*a*b/*", "/".join(["a" * 40] * 5)),
    ("**/" + "*/" * 90 + "x", "/".join("a" * 100)),
    ("**/*/**/*/**/*/**/*/**/x/**", "/".join("a" * 100)),
    ("**/" + "[ab]*[ab]*/**/" * 20 + "x", "/".join(["ab" * 10] * 10)),
    ("a**/" * 30 + "b", "a" * 200),
]


@pytest.mark.parametrize(("pattern", "path"), HOSTILE)
@pytest.mark.parametrize("ignore_case", [False, True])
def test_a_hostile_pattern_takes_no_time(pattern: str, path: str, ignore_case: bool) -> None:
    ask = Patterns([pattern], ignore_case=ignore_case)
    began = time.perf_counter()
    held = [ask.match(path.encode() + b"c" * (n % 3)) for n in range(200)]
    assert time.perf_counter() - began < 1
    assert held == [None] * 200


def test_work_grows_with_the_path_and_not_with_its_square() -> None:
    def took(length: int) -> float:
        ask, path = Patterns(["*a*a*a*a*a*b"]), b"a" * length
        return min(timed(lambda: ask.match(path)) for _ in range(5))

    assert took(80_000) < 60 * max(took(8_000), 1e-5)


def timed(action: Callable[[], object]) -> float:
    began = time.perf_counter()
    action()
    return time.perf_counter() - began


def test_five_thousand_paths_against_ten_patterns() -> None:
    wild = ["src/**/*.py", "tests/*/test_*.py", "**/Button.tsx", "[st]*/api/**", "**/x/**/y", "core/*"]
    ask = Patterns([*wild, "docs/", "README.md", "src/payments/**", "util/?*/**"])
    paths = [f"src/part{n % 40}/deep{n % 7}/er/module_{n}.ts".encode() for n in range(5_000)]
    assert min(timed(lambda: [ask.match(path) for path in paths]) for _ in range(3)) < 0.25


@pytest.mark.parametrize(
    ("one", "two"),
    [
        ("*a" * 400 + "x", "*b" * 400 + "y"),
        ("*a*b" * 250 + "x", "*b?" * 333 + "y"),
        ("**/" + "a*/" * 97 + "b", "**/" + "*a/" * 97 + "c"),
        ("**/" + "".join(f"a{n}*/" for n in range(97)), "**/" + "".join(f"*{n}b/" for n in range(97)) + "c"),
        ("**/a/" * 200 + "b", "**/a/" * 200 + "c"),
    ],
)
def test_comparing_hostile_patterns_takes_no_time(one: str, two: str) -> None:
    assert timed(lambda: meet(one, two)) < 1


# -- without regard to case


@pytest.mark.parametrize(
    ("pattern", "path"),
    [
        (".github/**", ".GitHub/workflows/x.yml"),
        (".GITHUB/", ".github/x"),
        (".github/**", ".gıthub/x"),
        (".agents/**", ".agentſ/plan.md"),
        ("kelvin/*", "\u212aELVIN/x"),
        (".gitmodules", ".git\u200cmodules"),
        ("**/CODEOWNERS", "docs/CodeOwners"),
        ("straße/*", "STRASSE/x"),
        ("Ärger/**", normalize("NFD", "ärger/x")),
        ("?x", "aX"),
        ("[A-Z]x", "ax"),
        ("[a-z]x", "AX"),
        ("[[:upper:]]", "q"),
        ("[[:lower:]]", "Q"),
        ("[Z-a]q", "zQ"),
        ("[!a]q", "AQ"),
        ("Lib**/X", "lIB2/y/x"),
        ("A[b", "a[B"),
    ],
)
def test_protected_whatever_the_case(pattern: str, path: str) -> None:
    assert Patterns([pattern], ignore_case=True).match(path.encode()) == pattern


@pytest.mark.parametrize(
    ("pattern", "path"),
    [
        (".github/**", ".git-hub/x"),
        ("[a-y]x", "zx"),
        ("?", "AB"),
        ("\u200c/x", "a/b/x"),
        ("**/CODEOWNERS", "CODE"),
    ],
)
def test_not_protected(pattern: str, path: str) -> None:
    assert Patterns([pattern], ignore_case=True).match(path.encode()) is None


def test_bytes_that_are_no_utf8_are_folded_around() -> None:
    assert Patterns([".github/**"], ignore_case=True).match(b".GITHUB/\xff") == ".github/**"
    assert fold(b"A\xff\xc3\x89B") == b"a\xff" + normalize("NFD", "é").encode() + b"b"
    assert fold(b"\xed\xa0\x80A") == b"\xed\xa0\x80a"


@given(text=st.text(st.characters(exclude_categories=["Cs"]), max_size=12))
def test_folding_is_blind_to_case_and_final(text: str) -> None:
    assert fold(text.upper().encode()) == fold(text.encode())
    assert fold(fold(text.encode())) == fold(text.encode())


@given(
    pattern=st.lists(st.sampled_from(PIECES), min_size=1, max_size=6).map("".join), path=st.binary(max_size=8)
)
def test_ignoring_case_loses_nothing(pattern: str, path: bytes) -> None:
    if Patterns([pattern]).match(path) is not None:
        assert Patterns([pattern], ignore_case=True).match(path) == pattern


def test_a_path_that_no_file_system_takes_is_folded_fast() -> None:
    marks = ("\u0315\u0300" * 100_000).encode()
    assert timed(lambda: fold(b"A" + marks)) < 0.5
    assert fold(b"A" + marks).startswith(b"a")


# -- what is no pattern


@pytest.mark.parametrize(
    ("pattern", "word"),
    [
        ("", "empty"),
        ("/docs/", "begins"),
        ("/", "begins"),
        ("!docs", "begins"),
        (":(icase)docs", "begins"),
        (":docs", "begins"),
        ("docs/../src", "`..`"),
        ("..", "`..`"),
        ("../x", "`..`"),
        ("docs/..", "`..`"),
        (".", "`.`"),
        ("./docs", "`.`"),
        ("docs/.", "`.`"),
        ("docs/./x", "`.`"),
        ("docs/\\./x", "`.`"),
        ("docs//x", "empty segment"),
        ("docs//", "empty segment"),
        ("\\/docs", "empty segment"),
        ("docs\\", "backslash"),
        ("docs\\\\\\", "backslash"),
        ("docs\0", "control"),
        ("docs\n", "control"),
        ("a\tb", "control"),
        ("a\x7f", "control"),
        ("\ud800", "surrogate"),
        ("a" * 1025, "longer"),
        ("é" * 513, "longer"),
    ],
)
def test_what_is_no_pattern(pattern: str, word: str) -> None:
    why = invalid(pattern)
    assert why is not None
    assert word in why
    assert why.isprintable()


@pytest.mark.parametrize(
    "pattern",
    [
        "docs/",
        "**",
        "a",
        ".github/**",
        "...",
        ".a",
        "a.",
        "..a/b",
        "a/!b",
        "a:b",
        "a b",
        "[",
        "a\\\\",
        "é" * 512,
        "\\:a",
    ],
)
def test_what_is_a_pattern(pattern: str) -> None:
    assert invalid(pattern) is None


def test_patterns_that_are_refused_hold_nothing_but_by_their_own_text(nasty: Ask) -> None:
    for pattern in ("a//b", "./a", "a/../b", "/a", "a\\"):
        assert invalid(pattern)
        assert nasty(pattern) == {path for path in NASTY if Patterns([pattern]).match(path)}


# -- naming a path


@pytest.mark.parametrize(
    ("pattern", "path"),
    [
        ("a", b"a"),
        ("a/b.txt", b"a/b.txt"),
        ("\\[id\\].tsx", b"[id].tsx"),
        ("a\\\\b", b"a\\b"),
        ("é", "é".encode()),
        ("a/", None),
        ("a\\/", None),
        ("", None),
        ("*", None),
        ("a?", None),
        ("[id].tsx", None),
        ("a/**", None),
        ("a[", None),
        ("a\\", None),
        ("\\*/*", None),
    ],
)
def test_the_path_that_a_pattern_names(pattern: str, path: bytes | None) -> None:
    assert literal(pattern) == path


def test_named_with_no_wildcard() -> None:
    assert names(["docs/", ".github/workflows/ci.yml"], b".github/workflows/ci.yml")
    assert not names(["**", ".github/**", ".github/workflows/ci.ym?", ".github"], b".github/workflows/ci.yml")
    assert not names([".GitHub/x"], b".github/x")
    assert not names([], b"a")


@pytest.mark.parametrize(
    ("pattern", "folder"),
    [
        (".github/**", b".github/"),
        ("**/CODEOWNERS", b""),
        (".gitmodules", b""),
        ("a/b/c", b"a/b/"),
        ("a/b/", b"a/b/"),
        ("a/b*/c", b"a/"),
        ("a/[b]/c", b"a/"),
        ("a\\*/b/?", b"a*/b/"),
        ("lib**/x", b""),
        ("", b""),
    ],
)
def test_the_folders_that_a_pattern_spells_out(pattern: str, folder: bytes) -> None:
    assert folder_prefix(pattern) == folder


# -- folders


@pytest.mark.parametrize(
    ("pattern", "folder", "held"),
    [
        ("src", b"src", True),
        ("src", b"src/a/b", True),
        ("src/", b"src", True),
        ("src/", b"src/", True),
        ("src/**", b"src", True),
        ("src/**", b"src/a", True),
        ("src/**/*", b"src", True),
        ("src/*/**", b"src", False),
        ("src/*/**", b"src/a", True),
        ("**", b"", True),
        ("**/*", b"", True),
        ("*/**", b"", False),
        ("**/a/**", b"x/a/y", True),
        ("**/a/**", b"x/y", False),
        ("lib**", b"libx", True),
        ("lib**", b"li", False),
        ("src", b"", False),
        ("src/*", b"src", False),
        ("src", b"srcx", False),
        ("src/**/*.py", b"src", False),
        ("src/[id]", b"src/[id]", True),
        ("src/[id]", b"src/i", False),
    ],
)
def test_a_folder_held_whole(pattern: str, folder: bytes, held: bool) -> None:
    assert holds_below([pattern], folder) is held
    assert holds_below(["zzz", pattern], folder) is held
    if held:
        assert may_hold_below([pattern], folder)


@pytest.mark.parametrize(
    ("pattern", "folder", "may"),
    [
        ("src/a.py", b"src", True),
        ("src/a.py", b"", True),
        ("src/a.py", b"src/a.py", True),
        ("src/a.py", b"src/b", False),
        ("src", b"src", True),
        ("src/*", b"src/a", False),
        ("src/*/x", b"src/a", True),
        ("**/x", b"a/b", True),
        ("*.py", b"src", False),
        ("*.py", b"*.py", True),
        ("s*c/x", b"src", True),
        ("s*c/x", b"sr", False),
        ("src", b"sr\xff", False),
    ],
)
def test_a_folder_held_in_part(pattern: str, folder: bytes, may: bool) -> None:
    assert may_hold_below([pattern], folder) is may
    assert may_hold_below(["zzz", pattern], folder) is may


SMALL = sorted(paths_over("ab/*", 4) | paths_over("ab/", 8, 5))
simple = st.lists(st.sampled_from(["a", "b", "/", "*", "**", "/**", "**/"]), min_size=1, max_size=4).map(
    "".join
)


@settings(max_examples=150, deadline=None)
@given(pattern=simple, folder=st.sampled_from([b"", b"a", b"a/b", b"b/a/b", b"*", b"ab"]))
def test_folders_by_brute_force(pattern: str, folder: bytes) -> None:
    ask = Patterns([pattern])
    held = [ask.match(path) is not None for path in SMALL if not folder or path.startswith(folder + b"/")]
    assert may_hold_below([pattern], folder) or not any(held)
    assert all(held) or not holds_below([pattern], folder)


# -- two patterns


@pytest.mark.parametrize(
    ("one", "two", "can"),
    [
        ("src/**", "src/*/api.py", True),
        ("src/payments/**", "src/*/api.py", True),
        ("src/payments/**", "src/auth/**", False),
        ("docs/", "docs", True),
        ("docs", "docs/a/b", True),
        ("docs/", "doc*", False),
        ("docs", "doc*", True),
        ("*.py", "*.ts", False),
        ("*.py", "x*", True),
        ("**/x", "**/y", False),
        ("**/x/**", "**/y/**", True),
        ("a/*", "*/b", True),
        ("a/*", "*/b/c", False),
        ("[ab]", "[bc]", True),
        ("[ab]", "[cd]", False),
        ("[!a]", "a", False),
        ("a*", "*b", True),
        ("a?", "?b", True),
        ("a?", "?", False),
        ("*a*", "*b*", True),
        ("lib**/x", "libx", True),
        ("lib**/x", "li*", True),
        ("", "**", False),
        ("[", "[", True),
        ("a*/", "a?/x", False),
        ("app/[id].tsx", "app/\\[id\\].tsx", True),
        ("app/[id].tsx", "app/\\[ie\\].tsx", False),
        ("src/**/*.py", "src/**/*.md", False),
        ("src/*/**", "src/\\*/**", True),
    ],
)
def test_two_patterns_can_meet(one: str, two: str, can: bool) -> None:
    assert meet(one, two) is can
    assert meet(two, one) is can


TAILS = [b"", *(b"/" + path for path in SMALL if len(path) < 6)]


@settings(max_examples=250, deadline=None)
@given(one=simple, two=simple)
def test_meeting_by_brute_force(one: str, two: str) -> None:
    """Both ways: where they meet, a short path or one that begins with a pattern's own text shows it."""
    first, second = Patterns([one]), Patterns([two])
    texts = [text.encode().removesuffix(b"/") + tail for text in (one, two) for tail in TAILS]
    both = [path for path in SMALL + texts if valid_bytes(path) and first.match(path) and second.match(path)]
    assert meet(one, two, literally=True) is bool(both)
    if meet(one, two):
        assert both
    elif both:  # only by a text with a star in it, taken as a name
        assert all(b"*" in path for path in both)


def valid_bytes(path: bytes) -> bool:
    return all(path.split(b"/"))


@settings(max_examples=100, deadline=None)
@given(
    one=st.lists(st.sampled_from(PIECES), min_size=1, max_size=6).map("".join),
    two=st.lists(st.sampled_from(PIECES), min_size=1, max_size=4).map("".join),
)
def test_where_both_hold_a_path_they_meet(one: str, two: str) -> None:
    first, second = Patterns([one]), Patterns([two])
    held = [path for path in NASTY if first.match(path) is not None]
    assert meet(one, "**", literally=True) or not held
    assert meet(one, two, literally=True) or not any(second.match(path) for path in held)


@pytest.mark.parametrize(
    ("one", "two"), [("**/*.py", "**/*.md"), ("a*/", "a?/x"), ("src/*/", "src/**"), ("**/x", "**/y")]
)
def test_patterns_that_meet_only_in_a_name_that_is_a_pattern(one: str, two: str) -> None:
    assert not meet(one, two)
    assert meet(one, two, literally=True)


def test_comparing_is_fast() -> None:
    parts = [
        "src/*/api.py",
        "src/**",
        "tests/*/test_*.py",
        "**/x?/*",
        "docs/",
        "[a-m]*/**/y",
        "src/payments/**",
    ]
    pairs = [(f"{a}/{n}", b) for a in parts for b in parts for n in range(41)]
    assert len(pairs) > 2_000
    assert timed(lambda: [meet(a, b) for a, b in pairs]) < 1


# -- too broad


@pytest.mark.parametrize(
    "pattern",
    ["**", "**/*", "*/**", "**/**", "***", "*/*/**", "**/*/*", "**/?*", "**/*?*/**", "*/**/*", "**\\/*"],
)
def test_too_broad(pattern: str) -> None:
    assert too_broad(pattern)


@pytest.mark.parametrize(
    "pattern",
    ["*", "*/*", "src/**", "**/x", "**/*.py", "[!x]**", "**/??", "?", "", "**/", "*/", "a**", "**/[!.]*"],
)
def test_not_too_broad(pattern: str) -> None:
    assert not too_broad(pattern)


@settings(max_examples=100, deadline=None)
@given(pattern=simple)
def test_what_is_too_broad_leaves_out_nothing_deep(pattern: str) -> None:
    deep = [path for path in SMALL if path.count(b"/") == 3]
    ask = Patterns([pattern])
    assert too_broad(pattern) is all(ask.match(path) is not None for path in deep) or pattern.count("/") > 3


def test_the_public_names_are_all_there() -> None:
    assert all(hasattr(scope, name) for name in scope.__all__)
