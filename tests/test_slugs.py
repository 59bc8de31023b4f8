"""Anchors of headings: row by row what GitHub made of them, and every code point as the reference keeps or drops it."""

from __future__ import annotations

import json
import time
from hashlib import blake2b
from pathlib import Path
from unicodedata import category

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gatekeeper.slugs import FIRST_RANGED, Slugs, kept, slug

TABLE = json.loads((Path(__file__).parent / "data" / "anchors.json").read_text(encoding="utf-8"))
# Of `0` for each code point from U+0080 on that the pattern of github-slugger 2.0.0 keeps, `1` for each that
# it drops, and `1` for surrogates.
REFERENCE = "a88f3bb0135421bcfb85b9a4367a7313"


def test_every_row_of_the_reference_table() -> None:
    slugs = Slugs()
    wrong = [(text, made, anchor) for text, anchor in TABLE["rows"] if (made := slugs.add(text)) != anchor]
    assert len(TABLE["rows"]) == 78
    assert wrong == []


def test_every_code_point_as_the_reference() -> None:
    bits = "".join("0" if kept(code) else "1" for code in range(FIRST_RANGED, 0x110000))
    assert blake2b(bits.encode(), digest_size=16).hexdigest() == REFERENCE


def test_what_is_kept_are_letters_marks_digits_and_connectors() -> None:
    for code in filter(kept, range(FIRST_RANGED, 0x110000)):
        char = chr(code)
        circled = category(char) == "So" and (char.isupper() or char.islower())
        assert category(char)[0] in "LM" or category(char) in ("Nd", "Nl", "Pc") or circled, hex(code)


@pytest.mark.parametrize(
    ("text", "anchor"),
    [
        ("", ""),
        ("First steps", "first-steps"),
        ("a - b", "a---b"),
        (" a ", "-a-"),
        ("a\tb\nc", "abc"),
        ("a_b -- c", "a_b----c"),
        ("What's new?", "whats-new"),
        ("Überblick & Ausblick", "überblick--ausblick"),
        ("日本語 見出し", "日本語-見出し"),
        (":smile: 😄 C++", "smile--c"),
        ("İI", "i̇i"),
        ("²½Ⅷ", "ⅷ"),
        ("Ⓐ", "ⓐ"),
        ("a\ud800b", "ab"),
    ],
)
def test_single_slugs(text: str, anchor: str) -> None:
    assert slug(text) == anchor
    assert Slugs().add(text) == anchor


def test_equal_headings_are_counted_past_what_is_taken() -> None:
    slugs = Slugs()
    assert [slugs.add(text) for text in ("a-1", "a", "a", "A", "a 1", "a")] == [
        "a-1", "a", "a-2", "a-3", "a-1-1", "a-4",
    ]  # fmt: skip


@given(st.lists(st.sampled_from(["a", "a 1", "a-1", "a-1-1", "a 2", "A", "!", ""]), max_size=40))
def test_no_two_headings_share_an_anchor(headings: list[str]) -> None:
    slugs = Slugs()
    anchors = [slugs.add(text) for text in headings]
    assert len(set(anchors)) == len(headings)
    assert all(anchor.startswith(slug(text)) for anchor, text in zip(anchors, headings, strict=True))


@given(st.text(max_size=60))
@settings(max_examples=300)
def test_an_anchor_holds_nothing_that_is_dropped_and_is_its_own(text: str) -> None:
    anchor = slug(text)
    assert slug(anchor) == anchor
    assert not any(char.isspace() or char in "!\"#$%&'()*+,./:;<=>?@[\\]^`{|}~" for char in anchor)


def test_many_headings_and_long_ones_take_no_time() -> None:
    start = time.monotonic()
    slugs = Slugs()
    for number in range(20_000):
        slugs.add(f"a-{number % 7000}")
        slugs.add("a")
    slug("é" * 1024 * 1024)
    slug("".join(map(chr, range(0x4E00, 0x9000))) * 20)
    assert time.monotonic() - start < 3
