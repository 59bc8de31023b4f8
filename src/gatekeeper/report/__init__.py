"""A verdict as text: one module a format, listed here and nowhere else.

Each module has `write(verdict, stream, rules)`; what differs between them is how text from
outside is made harmless (`report/escape.py`) and how much of it is shown.
"""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

from gatekeeper.report import github, json, markdown, sarif, text
from gatekeeper.report.base import NO_RULES, RuleInfo, Rules, Writer

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gatekeeper.model import Verdict

__all__ = ["FORMATS", "NO_RULES", "RuleInfo", "Rules", "Writer", "render"]

FORMATS: Mapping[str, Writer] = {
    "text": text.write,
    "json": json.write,
    "sarif": sarif.write,
    "github": github.write,
    "markdown": markdown.write,
}
"""Every format by the name that `--format` takes."""


def render(verdict: Verdict, form: str, rules: Rules = NO_RULES) -> str:
    """The whole report in a format of `FORMATS`, ending in a newline. Raises `KeyError` for others."""
    stream = io.StringIO()
    FORMATS[form](verdict, stream, rules)
    return stream.getvalue()
