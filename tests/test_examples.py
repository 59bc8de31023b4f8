"""Every code of the gate, by example: `examples/GKxxx.yml` holds a change that `bad`ly breaks the one rule and no
other, and a `good` one beside it that does not.

`command` is `lint` where that is asked instead of `check`, and `now` when; `severity` says how the code is to be
found where that is no error, `beside` which other codes come with it by nature, `verdict` how the good one ends
where that is no pass.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from builders import NOW, Ran, listed, load, play
from gatekeeper import rules

FILES = sorted((Path(__file__).parent / "examples").glob("GK*.yml"))
EXAMPLES: dict[str, dict[str, Any]] = {file.stem: load(file.read_text()) for file in FILES}


def asked(code: str, which: str, root: Path) -> tuple[dict[str, Any], Ran]:
    """An example, and what the command says in its repository."""
    spec = EXAMPLES[code][which]
    sample = play(spec, root)
    command = {"check": sample.check, "lint": sample.lint}[EXAMPLES[code].get("command", "check")]
    return spec, command(*str(spec.get("args", "")).split(), now=spec.get("now", NOW))


@pytest.mark.parametrize("code", EXAMPLES)
def test_the_bad_example_is_found_and_nothing_else(code: str, tmp_path: Path) -> None:
    spec, done = asked(code, "bad", tmp_path)
    severity = spec.get("severity", "error")
    beside = set(listed(spec.get("beside")))
    assert done.codes - beside == {code}, done.out
    assert done.severities[code] == {severity}
    blocked = severity == "error" or any("error" in done.severities.get(other, ()) for other in beside)
    assert done.verdict == ("error" if code < "GK004" or code == "GK005" else "fail" if blocked else "pass")
    finding = next(f for f in done.report["findings"] if f["code"] == code)
    assert finding["message"]
    assert finding["help"], "every finding says what to do"


@pytest.mark.parametrize("code", EXAMPLES)
def test_the_good_example_is_not_found(code: str, tmp_path: Path) -> None:
    spec, done = asked(code, "good", tmp_path)
    assert code not in done.codes, done.out
    assert done.verdict == spec.get("verdict", "pass"), done.out


def test_every_rule_has_an_example() -> None:
    assert {rule.code for rule in rules.ALL} <= set(EXAMPLES)
