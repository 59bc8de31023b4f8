"""What GitHub's own renderer and a browser's parser make of a task's text, against what `ask_lost` says of it.

Where it says that a line is kept, a reader must still see it, and see it no worse than before:
neither struck out, nor folded away, nor as code or a footnote.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gatekeeper.markdown import UnreadableError, ask_lost

if TYPE_CHECKING:
    from collections.abc import Iterator

cmarkgfm = pytest.importorskip("cmarkgfm", reason="needs GitHub's renderer, of the group dev")
html5lib = pytest.importorskip("html5lib", reason="needs a browser's parser, of the group dev")
cmark = pytest.importorskip("cmarkgfm.cmark")

EXTENSIONS = ["table", "strikethrough", "autolink", "tasklist"]
UNSEEN = frozenset(
    {
        *(
            "audio",
            "canvas",
            "datalist",
            "dialog",
            "iframe",
            "math",
            "noembed",
            "noframes",
            "noscript",
            "object",
        ),
        *("plaintext", "script", "select", "style", "svg", "template", "textarea", "title", "video", "xmp"),
    }
)
WORSE = {
    "del": "struck",
    "s": "struck",
    "strike": "struck",
    "details": "folded",
    "pre": "code",
    "code": "code",
}
LEVELS = ("h1", "h2")


def rendered(body: str, *, filtered: bool) -> Any:
    """The tree that a browser makes of GitHub's HTML; `filtered` is GFM's tagfilter, which other forges go without."""
    options = cmark.Options.CMARK_OPT_UNSAFE | cmark.Options.CMARK_OPT_FOOTNOTES
    extensions = [*EXTENSIONS, "tagfilter"] if filtered else EXTENSIONS
    html = cmarkgfm.markdown_to_html_with_extensions(body, options, extensions=extensions)
    return html5lib.parseFragment(html, namespaceHTMLElements=False)


def seen(element: Any, around: frozenset[str] = frozenset()) -> Iterator[tuple[str, frozenset[str]]]:
    """The text that is shown, with what stands around it."""
    hides = "hidden" in element.attrib or "none" in element.attrib.get("style", "")
    if not isinstance(element.tag, str) or element.tag in UNSEEN or hides:
        return
    names = {WORSE.get(element.tag, ""), element.tag if element.tag in LEVELS else ""}
    names |= {"note"} if element.attrib.get("class") == "footnotes" else set()
    inner = around | names - {""}
    yield element.text or "", inner
    for child in element:
        yield from seen(child, inner)
        yield child.tail or "", inner


def where(body: str, word: str, *, filtered: bool) -> list[frozenset[str]]:
    """What stands around each place at which a word is shown."""
    plain = (
        ("".join(c if c.isalnum() else " " for c in text).split(), around)
        for text, around in seen(rendered(body, filtered=filtered))
    )
    return [around for words, around in plain if word in words]


def worse(base: str, new: str, word: str) -> str | None:
    """How a word is seen worse than on base; None where it is seen as well as it was."""
    before = where(base, word, filtered=True)
    for filtered in (True, False):
        now = where(new, word, filtered=filtered)
        as_well = [a for a in now for b in before if a <= b and not (b - a) & set(LEVELS)]
        if before and not as_well:
            return f"{word}, {[*map(sorted, before)]} on base, is shown as {[*map(sorted, now)]}"
    return None


ASKS = st.sampled_from(
    ["w{} alpha", "- [ ] w{} beta", "- w{} gamma", "> w{} quote", "## w{} head", "    w{} code", "1. w{} num", "w{} `code` *em*", "| w{} | b |\n|-|-|\n", "  - w{} nested", "[w{}](/x)", "```\nw{} f\n```", "   w{} x", "w{}[^1] a", "[^1]: w{} note", "- a\n\n  w{} p", "<!-- c -->\nw{}", "<details>\n\nw{}\n\n</details>", "w{} ~~x~~"]
)  # fmt: skip
PIECES = st.sampled_from(
    ["[^1]:", "[^1]: x", "[^", "[^1]", "    ", "  ", "> ", "- ", "1. ", "10000. ", "<!--", "-->", "<!-- x -->", "<!-->", "--!>", "<div>", "</div>", "<details>", "</details>", "```", "~~~", "~~", "~", "| a | b |", "a|", "|-|-|", "-|", ":-", "[a]:", "[a]: x", '[a]: /u "', '"', '<a href="', "<p", ">", "<", "\\", "`", "*", "[", "]", "](/x)", "<![CDATA[", "]]>", "<?", "?>", "<!X", "<!x", "<script>", "</script>", "<style>", "<b>", "</b>", "<br>", "---", "==", "<del>", "</del>", "\t", "<s>", "<p>", "</p>", "<li>", "</li>", "</ul>", "</blockquote>", "<table>", "<td>", "<select>", "<template>", "<svg>", "<source>", "<search>", "<x-y", "<div hidden>", "<span hidden>", "</span>", "</details\xa0>", "javascript:x", "\x0b"]
)  # fmt: skip
GAPS = st.sampled_from(["\n", "\n\n", "", " ", "\n    ", "\n  ", "\n> ", "\n- "])


@st.composite
def edits(draw: st.DrawFn) -> tuple[str, str, int]:
    """A body, the same with more in it, and how many words of it are asked for."""
    asks = draw(st.lists(ASKS, min_size=1, max_size=3))
    base = "".join(ask.format(at) + draw(st.sampled_from(["\n", "\n\n"])) for at, ask in enumerate(asks))
    new = base
    for _ in range(draw(st.integers(1, 4))):
        ends = [0, *(at + 1 for at, char in enumerate(new) if char == "\n")]
        at = draw(st.sampled_from(ends))
        piece = "".join(draw(PIECES) + draw(GAPS) for _ in range(draw(st.integers(1, 3))))
        new = new[:at] + piece + new[at:]
    return base, new, len(asks)


@settings(max_examples=700, deadline=None)
@given(edits())
def test_what_is_kept_is_seen_as_well_as_before(edit: tuple[str, str, int]) -> None:
    base, new, count = edit
    try:
        if ask_lost(base, new) is not None:
            return
    except UnreadableError:
        return
    assert [said for at in range(count) if (said := worse(base, new, f"w{at}"))] == []
