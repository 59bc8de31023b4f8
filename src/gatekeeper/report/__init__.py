"""A verdict as text: one module a format, listed here and nowhere else.

Each module has `write(verdict, stream, rules)`; what differs between them is how text from
outside is made harmless (`report/escape.py`) and how much of it is shown.
"""

from __future__ import annotations

import io
from importlib import import_module
from typing import TYPE_CHECKING, cast

from gatekeeper.report.base import NO_RULES, RuleInfo, Rules, Writer

if TYPE_CHECKING:
    from gatekeeper.model import Verdict

__all__ = ["FORMATS", "NO_RULES", "RuleInfo", "Rules", "Writer", "render"]

FORMATS = ("text", "json", "sarif", "github", "markdown")
"""Every format by the name that `--format` takes, which is its module's here; imported when it is asked for."""


def render(verdict: Verdict, form: str, rules: Rules = NO_RULES, *, colour: bool = False) -> str:
    """The whole report in a format of `FORMATS`, ending in a newline; `text` may have colours.

    Raises `KeyError` for other formats.
    """
    if form not in FORMATS:
        raise KeyError(form)
    stream = io.StringIO()
    module = import_module(f"gatekeeper.report.{form}")
    if form == "text" and colour:
        module.write(verdict, stream, rules, colour=True)
    else:
        cast("Writer", module.write)(verdict, stream, rules)
    return stream.getvalue()
