"""Start-up: a command imports what it uses, and nothing heavy beside it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from builders import Ran, play

if TYPE_CHECKING:
    from pathlib import Path

HEAVY = {"pygit2", "github", "requests", "urllib3", "cryptography", "nacl", "jwt"}
HONEST = {
    "edits": [{"finish": "T-20260301-0000000a"}, {"append": {"src/orders/cart.py": "x = 1\n"}}],
    "claims": [{"live": {"task": "T-20260301-0000000a"}}],
}


def imported(done: Ran) -> set[str]:
    """The packages that the process imported, as `-X importtime` lists them."""
    names = re.findall(r"^import time:.*\| *([\w.]+)$", done.err, re.MULTILINE)
    return {name.partition(".")[0] for name in names}


def test_check_on_a_laptop_imports_neither_the_forge_nor_pygit2(tmp_path: Path) -> None:
    sample = play(HONEST, tmp_path)
    done = sample.run(*sample.check_args(), python=["-X", "importtime"])
    assert done.verdict == "pass"
    assert "click" in imported(done), "the list of imports is read right"
    assert not imported(done) & HEAVY


def test_a_failing_check_with_a_text_report_does_not_either(tmp_path: Path) -> None:
    sample = play(HONEST | {"claims": []}, tmp_path)
    done = sample.run(*sample.check_args(), "--format", "text", python=["-X", "importtime"])
    assert done.status == 1
    assert not imported(done) & (HEAVY | {"jsonschema", "hypothesis"})


@pytest.mark.parametrize("args", [["--version"], ["--help"], ["check", "--help"], ["demo", "--help"]])
def test_help_is_quick(tmp_path: Path, args: list[str]) -> None:
    sample = play({}, tmp_path)
    done = sample.run(*args, python=["-X", "importtime"])
    assert done.status == 0
    assert not imported(done) & (HEAVY | {"markdown_it"})
