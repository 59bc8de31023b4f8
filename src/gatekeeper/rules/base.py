"""What a rule is: a code, a name, a weight, and one function whose docstring is its documentation.

The docstring's first paragraph says what the rule checks; then come, each a paragraph,
`Why:`, `Fails:` (an example that fails) and `Mend:` (what to do).
"""

import inspect
from collections.abc import Callable, Iterable
from typing import Generic, NamedTuple, TypeVar

from gatekeeper.model import Severity

Facts_contra = TypeVar("Facts_contra", contravariant=True)


class Found(NamedTuple):
    """What a rule has to say about one place. The rule's code and weight come from its `Rule`."""

    message: str
    path: bytes | None = None
    line: int | None = None
    help: str | None = None


class Doc(NamedTuple):
    """A rule's documentation, by parts, each one paragraph."""

    summary: str
    why: str
    fails: str
    mend: str


class Rule(NamedTuple, Generic[Facts_contra]):
    """One rule. `adjustable`: the policy may raise or lower it (the degree mark, and every warning)."""

    code: str
    name: str
    check: Callable[[Facts_contra], Iterable[Found]]
    severity: Severity = Severity.ERROR
    adjustable: bool = False
    one_file: bool = False

    @property
    def doc(self) -> Doc:
        """The docstring of the rule's function, by parts."""
        parts = {"": ""}
        for paragraph in inspect.cleandoc(self.check.__doc__ or "").split("\n\n"):
            name, colon, rest = paragraph.partition(":")
            key = name if colon and name in ("Why", "Fails", "Mend") else ""
            text = " ".join((rest if key else paragraph).split())
            parts[key] = f"{parts.get(key, '')} {text}".strip()
        return Doc(parts[""], parts.get("Why", ""), parts.get("Fails", ""), parts.get("Mend", ""))
