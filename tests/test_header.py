"""Front matter is read strictly: what has two meanings is refused, at the file's own line."""

from __future__ import annotations

import time
from datetime import date
from functools import partial
from typing import TYPE_CHECKING

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from gatekeeper import header
from gatekeeper.header import HeaderError, List, Map, Text

if TYPE_CHECKING:
    from collections.abc import Callable

    from gatekeeper.model import Defect


def fenced(head: str, body: str = "# Body\n") -> bytes:
    return f"---\n{head}---\n{body}".encode()


def defect_of(data: bytes) -> Defect:
    with pytest.raises(HeaderError) as caught:
        header.read_document(data)
    return caught.value.defect


def refusal(read: Callable[[], object]) -> Defect | None:
    """The defect that a read ends with; None where it holds."""
    try:
        read()
    except HeaderError as err:
        return err.defect
    return None


def value_of(yaml_value: str) -> header.Node:
    node = header.read_document(fenced(f"key: {yaml_value}\n")).header.get("key")
    assert node is not None
    return node


# -- the file around the header ------------------------------------------------------------------


def test_a_header_and_its_body_know_their_lines() -> None:
    document = header.read_document(b"---\nid: T-1\ntitle: a\n---\n# One\n\nTwo\n")
    assert document.header.line_of("title") == 3
    assert document.header.line_of("absent") == 2
    assert document.body == "# One\n\nTwo\n"
    assert document.body_line == 5


def test_a_byte_order_mark_is_allowed_at_the_start_only() -> None:
    assert header.read_document(b"\xef\xbb\xbf---\na: b\n---\n").header.get("a") == Text("b", True, 2)
    assert "U+FEFF" in defect_of("---\na: b\n\ufeffa: c\n---\n".encode()).message


def test_windows_line_ends_read_the_same() -> None:
    unix = header.read_document(b"---\na: b\nc: |\n  x\n  y\n---\nOne\nTwo\n")
    windows = header.read_document(b"---\r\na: b\r\nc: |\r\n  x\r\n  y\r\n---\r\nOne\r\nTwo\r\n")
    assert windows == unix


def test_blanks_behind_the_fences_are_nothing() -> None:
    assert header.read_document(b"--- \t\na: b\n---\t\nBody").body == "Body"


@pytest.mark.parametrize(
    "first",
    ["", "# Title\n", " ---\na: b\n---\n", "----\na: b\n----\n", '{\n"a": 1\n}\n', "\n---\na: b\n---\n"],
)
def test_a_missing_opening_fence_is_no_empty_header(first: str) -> None:
    found = defect_of(first.encode())
    assert (found.code, found.line) == ("GK201", 1)


@pytest.mark.parametrize(
    "text", ["---\na: b\n# No end\n", "---", "---\n", "---\na: b\n --- \n", "---\na: b\n----\n"]
)
def test_a_missing_closing_fence_swallows_no_body(text: str) -> None:
    assert "no closing" in defect_of(text.encode()).message


def test_a_later_rule_in_the_body_is_body() -> None:
    assert (
        header.read_document(b"---\na: b\n---\nOne\n\n---\n\nTwo\n---\n").body == "One\n\n---\n\nTwo\n---\n"
    )


def test_an_indented_fence_inside_a_block_scalar_is_text() -> None:
    document = header.read_document(b"---\na: |\n  ---\n  x\n---\nBody\n")
    assert header.text_of(document.header.get("a")) == "---\nx\n"


def test_a_fence_at_the_margin_ends_a_block_scalar_and_the_header() -> None:
    document = header.read_document(b"---\na: |\n  x\n---\n  y\n---\nBody\n")
    assert header.text_of(document.header.get("a")) == "x\n"
    assert document.body == "  y\n---\nBody\n"


def test_bytes_that_are_no_utf8_are_told_with_their_line() -> None:
    found = defect_of(b"---\na: b\nc: \xff\n---\n")
    assert (found.code, found.line) == ("GK201", 3)
    assert "0xff" in found.message


def test_the_largest_file_and_header() -> None:
    room = header.MAX_DOCUMENT - len(fenced("a: b\n", ""))
    assert header.read_document(fenced("a: b\n", "x" * room))
    assert "larger" in defect_of(fenced("a: b\n", "x" * (room + 1))).message
    assert "longer" in defect_of(fenced("a: b\n" + "#" * header.MAX_HEADER + "\n")).message


# -- what is refused ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("head", "line", "word"),
    [
        ("", 2, "no fields"),
        ("# only a comment\n", 2, "no fields"),
        ("- a\n- b\n", 2, "a list"),
        ("just text\n", 2, "a single text"),
        ("a: &x b\n", 2, "anchor"),
        ("a: b\nc: *a\n", 3, "alias"),
        ("a: !!str b\n", 2, "tag"),
        ("a: ! b\n", 2, "tag"),
        ("!x a: b\n", 2, "tag"),
        ("&x a: b\n", 2, "anchor"),
        ("!!map\na: b\n", 2, "tag"),
        ("a: b\n<<: {c: d}\n", 3, "merge key"),
        ('"<<": {c: d}\n', 2, "merge key"),
        ("? [a]\n: b\n", 2, "a key is a list"),
        ("? {a: b}\n: b\n", 2, "a key is a list"),
        ("a: {{ b }}\n", 2, "a key is a list"),
        ("? ~\n: b\n", 2, "empty"),
        ("null: b\n", 2, "empty"),
        ('"": b\n', 2, "empty"),
        ("a: b\n...\n", 3, "..."),
        ("a: b\n--- c\n", 3, "second document"),
        ("--- {a: b}\n", 2, "second document"),
        ("%YAML 1.1\n", 2, "directive"),
        ("a: 'x\n%y'\n", 3, "directive"),
        ('a: "\\0"\n', 2, "NUL"),
        ('"\\0": b\n', 2, "NUL"),
        ("a: b: c\n", 2, "not YAML"),
        ("a: [b\n", 2, "not YAML"),
        ("a: b\nc: 'd\n", 3, "not YAML"),
        ("a: b\nc\n", 3, "not YAML"),
        ("a: b\n\tc: d\n", 3, "not YAML"),
    ],
)  # fmt: skip
def test_what_has_two_meanings_is_refused_at_its_line(head: str, line: int, word: str) -> None:
    found = defect_of(fenced(head))
    assert (found.code, found.line) == ("GK201", line)
    assert word in found.message
    assert found.help


@pytest.mark.parametrize(
    "char",
    ["\0", "\x07", "\x0b", "\x0c", "\x1b", "\x7f", "\x85", "\x9b", "\u2028", "\u2029", "\ufeff", "\ufffe"],
)
@pytest.mark.parametrize("place", ["a: b{}c: d\n", "a: 'b{}c'\n", "# b{}\na: b\n", "a: |\n  x{}y\n"])
def test_hidden_characters_are_refused_wherever_they_stand(char: str, place: str) -> None:
    found = defect_of(fenced("first: x\n" + place.format(char)))
    assert found.code == "GK201"
    assert f"U+{ord(char):04X}" in found.message
    assert char not in found.message


def test_a_lone_carriage_return_hides_no_second_key() -> None:
    assert "U+000D" in defect_of(b"---\na: b\rc: d\n---\n").message
    assert header.read_document(b"---\na: b\n---\nBody\rmore\n").body == "Body\rmore\n"


@pytest.mark.parametrize(
    ("head", "line", "key"),
    [
        ("a: b\nc: d\na: e\n", 4, "a"),
        ("a: b\n'a': e\n", 3, "a"),
        ("1: b\n'1': e\n", 3, "1"),
        ("a:\n  b: c\n  b: d\n", 4, "b"),
        ("a: [{b: c, b: d}]\n", 2, "b"),
        ("a: b\n? a\n: c\n", 3, "a"),
        ('a: b\n"\\x61": c\n', 3, "a"),
    ],
)
def test_a_key_that_stands_twice_is_told_at_the_second(head: str, line: int, key: str) -> None:
    found = defect_of(fenced(head))
    assert (found.code, found.line) == ("GK202", line)
    assert f"'{key}'" in found.message


def test_deep_nesting_is_refused() -> None:
    assert value_of("[" * 32 + "]" * 32)
    assert "deep" in defect_of(fenced("a: " + "[" * 33 + "]" * 33 + "\n")).message
    assert "deep" in defect_of(fenced("- " * 1000 + "\n")).message


@pytest.mark.parametrize(
    ("value", "word"), [("**/x", "*"), ("*.py", "*"), ("@org/team", "@"), ("%x", "%"), ("`x`", "`")]
)
def test_unquoted_patterns_and_names_are_told_to_be_quoted(value: str, word: str) -> None:
    for head in (f"a: {value}\n", f"a:\n  - {value}\n", f"a: [{value}]\n", f"a: [b, {value}]\n"):
        found = defect_of(fenced(head))
        assert f"begins with {word} must be quoted" in (found.help or "")


def test_a_pattern_that_is_an_alias_is_told_to_be_quoted() -> None:
    found = defect_of(fenced("a:\n  - *docs\n"))
    assert found.line == 3
    assert "quotes" in (found.help or "")


def test_where_libyaml_is_missing_the_same_is_read_and_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    heads = [
        "a: b\nc: [d, 'e']\n",
        "a: *b\n",
        "a: **/b\n",
        "a: &b c\n",
        "a: !b c\n",
        "a: b\na: c\n",
        "a: [b\n",
    ]
    heads += ['a: "\\ud800"\n', "a: " + "[" * 2000 + "\n", "a: b: c\n", "- a\n", "a: b\n...\n", "<<: b\n"]
    reads = [partial(header.read_document, fenced(head)) for head in heads]
    fast = [refusal(read) for read in reads]
    monkeypatch.delattr(yaml, "CSafeLoader")
    slow = [refusal(read) for read in reads]
    assert [d and d.code for d in fast] == [d and d.code for d in slow]
    assert [d.message for d in slow if d and not d.message.isprintable()] == []


def test_a_message_never_holds_what_could_forge_a_line() -> None:
    for head in ('"a\\nb\\e[0m": 1\n"a\\nb\\e[0m": 2\n', "a: !<x%0Ay> b\n", "a: *" + "b" * 500 + "\n"):
        found = defect_of(fenced(head))
        assert found.message.isprintable()
        assert len(found.message) < 250


# -- values ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "0123",
        "10:30",
        "no",
        "on",
        "20261201_12",
        "1e3",
        "0x1F",
        "2026-08-14",
        ".inf",
        "-> b",
        "a -> b",
        "a#b",
        "=",
        "T-20260814-00000001",
        "1_000",
        "a: b"[:1],
    ],
)
def test_a_scalar_is_its_text_and_nothing_else(text: str) -> None:
    node = value_of(text)
    assert header.text_of(node) == text
    assert isinstance(node, Text)
    assert node.plain


@pytest.mark.parametrize("text", ["", "~", "null", "Null", "NULL"])
def test_nothing_is_null_unless_quoted(text: str) -> None:
    assert header.is_null(value_of(text))
    assert header.text_of(value_of(text)) is None
    assert header.text_of(value_of(f"'{text}'")) == text
    assert not header.is_null(value_of(f"'{text}'"))


def test_quotes_and_blocks_give_their_text() -> None:
    assert header.text_of(value_of('"a\\tb"')) == "a\tb"
    assert header.text_of(value_of("'it''s'")) == "it's"
    assert header.text_of(value_of("a\n  b")) == "a b"
    assert header.text_of(value_of(">-\n  a\n  b")) == "a b"


@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("2026-08-14", date(2026, 8, 14)),
        ("'2026-08-14'", date(2026, 8, 14)),
        ("2026-02-30", None),
        ("2026-8-14", None),
        ("2026-08-14T10:00:00Z", None),
        ("20260814", None),
        ("0000-01-01", None),
        ("\u0662026-08-14", None),
        ("[2026-08-14]", None),
        ("~", None),
    ],
)
def test_days(text: str, day: date | None) -> None:
    assert header.date_of(value_of(text)) == day


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("0", 0),
        ("7", 7),
        ("-3", -3),
        ("'7'", None),
        ("07", None),
        ("1.0", None),
        ("1_0", None),
        ("0x1", None),
        ("+1", None),
        ("9" * 19, None),
        ("\u0663", None),
        ("[1]", None),
    ],
)
def test_whole_numbers(text: str, number: int | None) -> None:
    assert header.whole_of(value_of(text)) == number


@pytest.mark.parametrize(
    ("text", "truth"),
    [("true", True), ("false", False), ("yes", None), ("on", None), ("'true'", None), ("[true]", None)],
)
def test_truth(text: str, truth: bool | None) -> None:
    assert header.truth_of(value_of(text)) is truth


@pytest.mark.parametrize(
    ("text", "texts"),
    [
        ("[a, 'b', 1]", ("a", "b", "1")),
        ("[]", ()),
        ("~", ()),
        ("a", None),
        ("[a, ~]", None),
        ("[[a]]", None),
        ("{a: b}", None),
        ("['']", ("",)),
    ],
)
def test_lists_of_texts(text: str, texts: tuple[str, ...] | None) -> None:
    assert header.texts_of(value_of(text)) == texts


def test_an_absent_value_is_null_and_no_text() -> None:
    assert header.is_null(None)
    assert (header.text_of(None), header.date_of(None), header.whole_of(None), header.truth_of(None)) == (
        None,
    ) * 4
    assert header.texts_of(None) == ()


# -- canonical text --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("[a, b]", "\n  - a\n  - b"),
        ("[a, b]", "['a', \"b\"]"),
        ("{x: 1, y: [2]}", "\n  y: [2]\n  x: 1"),
        ("a b", "'a b'"),
        ("a b", ">-\n  a\n  b"),
        ("", "~"),
        ("null", "~"),
        ("src/**", "'src/**'"),
    ],
)
def test_style_is_no_difference(one: str, other: str) -> None:
    assert header.canonical(value_of(one)) == header.canonical(value_of(other))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("1", "'1'"),
        ("no", "'no'"),
        ("2026-08-14", "'2026-08-14'"),
        ("~", "'~'"),
        ("[a, b]", "[b, a]"),
        ("[a]", "a"),
        ("[]", "{}"),
        ("[]", "~"),
        ("{1: a}", "{'1': a}"),
        ("{a: b}", "{a: c}"),
        ("[str, a]", "a"),
        ("['a\",\"b']", "[a, b]"),
        ("a", "A"),
    ],
)
def test_meaning_is_a_difference(one: str, other: str) -> None:
    assert header.canonical(value_of(one)) != header.canonical(value_of(other))


VALUES = st.recursive(
    st.text(st.characters(codec="utf-8", exclude_categories=("Cc", "Cs", "Zl", "Zp"), exclude_characters="\ufeff\ufffe\uffff"), max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text("abcdefg", min_size=1, max_size=3), inner, max_size=4),
    max_leaves=12,
)  # fmt: skip


def plainly(node: header.Node) -> object:
    if isinstance(node, Text):
        return node.value
    if isinstance(node, List):
        return [plainly(item) for item in node.items]
    return {key.value: plainly(value) for key, value in node.items}


@settings(max_examples=150, deadline=None)
@given(VALUES)
def test_whatever_yaml_writes_is_read_back_in_every_style(value: object) -> None:
    texts = [
        yaml.safe_dump(
            {"key": value}, default_flow_style=flow, allow_unicode=True, width=10_000, sort_keys=order
        )
        for flow in (True, False)
        for order in (True, False)
    ]
    read = [header.read_mapping(text) for text in texts]
    assert all(plainly(node) == {"key": value} for node in read)
    assert len({header.canonical(node) for node in read}) == 1


# -- any input --------------------------------------------------------------------------------------


@settings(max_examples=300, deadline=None)
@given(
    st.text(
        st.sampled_from("ab:-?[]{},&*!|>'\"%@`#~<\\ \t\n\r0.=") | st.characters(codec="utf-8"), max_size=60
    ),
    st.booleans(),
)
def test_any_text_is_read_or_refused_in_one_line(text: str, whole: bool) -> None:
    data = b"---\n" + text.encode() + b"\n---\n"
    found = refusal(lambda: header.read_mapping(text) if whole else header.read_document(data))
    if found is not None:
        assert found.code in ("GK201", "GK202")
        assert found.message.isprintable()
        assert found.line is not None
        assert 1 <= found.line <= text.count("\n") + 3


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=80))
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    for whole in (data, b"---\n" + data, b"---\n" + data + b"\n---\n"):
        found = refusal(partial(header.read_document, whole))
        assert found is None or found.code in ("GK201", "GK202")


def repeated(text: str, size: int = header.MAX_HEADER - 16) -> str:
    return (text * (size // len(text) + 1))[:size]


BOMBS = {
    "aliases": "a: &a [x, x]\n" + "".join(f"b{i}: &b{i} [*a, *a]\n" for i in range(5000)),
    "lists": "a: " + repeated("["),
    "mappings": "a: " + repeated("{"),
    "mapping keys": repeated("{?"),
    "dashes": repeated("- "),
    "keys": "".join(f"a{i}: \n" for i in range(30_000)),
    "one key": repeated("a: \n"),
    "explicit keys": repeated("? a\n"),
    "nested explicit keys": repeated("? "),
    "a long key": repeated("a"),
    "a long quoted key": '"' + repeated("a"),
    "tags": "a: " + repeated("!a"),
    "a long tag": "a: !<" + repeated("a"),
    "directives": "".join(f"%TAG !a{i}! b\n" for i in range(15_000)),
    "items": "a:\n" + repeated("- b\n"),
    "flow items": "a: [" + repeated("b,") + "]",
    "digits": "a: " + repeated("1"),
    "times": "a: 1" + repeated(":1"),
    "blanks": "a: b" + repeated(" ") + "c",
    "steps": "".join(" " * i + "a:\n" for i in range(700)),
    "anchors": "".join(f"a{i}: &b{i} c\n" for i in range(15_000)),
    "folds": "a: >\n" + repeated("\n"),
    "escapes": 'a: "' + repeated("\\u0041") + '"',
    "fences": repeated("--- \tx\n"),
    "unquoted": "a: *" + repeated(" ") + ",",
}


@pytest.mark.parametrize("name", BOMBS)
def test_bombs_do_no_harm(name: str) -> None:
    start = time.process_time()
    data = fenced(BOMBS[name] + "\n")
    found = refusal(lambda: header.canonical(header.read_document(data).header))
    assert found is None or found.message.isprintable()
    assert time.process_time() - start < 2  # about a tenth of it is usual; quadratic ones take minutes


def test_a_whole_document_may_begin_with_its_marker_and_a_byte_order_mark() -> None:
    assert header.read_mapping("\ufeff---\na: b\n") == Map(((Text("a", True, 2), Text("b", True, 2)),), 2)


@pytest.mark.parametrize(
    "text", ["a: b\n---\nc: d\n", "a: b\n...\n", "---\n---\n", "", "# x\n", "x" * (header.MAX_FILE + 1)]
)
def test_a_whole_document_is_one_mapping(text: str) -> None:
    with pytest.raises(HeaderError) as caught:
        header.read_mapping(text)
    assert caught.value.defect.code == "GK201"


def test_a_whole_document_counts_from_the_line_it_is_told() -> None:
    assert header.read_mapping("a: b\n", first_line=7).line_of("a") == 7


@pytest.mark.parametrize("name", BOMBS)
def test_the_weight_of_a_header_is_no_less_than_what_it_holds(name: str) -> None:
    data = fenced(BOMBS[name][: header.MAX_HEADER - 16] + "\n")
    assert header.weight(data) >= BOMBS[name].count("a:")
    start = time.process_time()
    refusal(lambda: header.read_document(data))
    assert time.process_time() - start < 0.1 + header.weight(data) * 20e-6


def test_the_weight_ends_where_the_header_does() -> None:
    short = header.weight(b"---\na: b\n---\n")
    assert header.weight(b"---\na: b\n---\n" + b"a, " * 1000) == short
    assert header.weight(b"---\na: b\n---x: y\n" + b"a, " * 1000 + b"\n---\r\n") > short + 1000
    assert header.weight(b"") == header.weight(b"no header, none, none") < short
