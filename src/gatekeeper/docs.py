"""`python -m gatekeeper.docs [FOLDER]` writes the generated pages and schemas, by default into docs/.

They come from the rules' docstrings, the policy's definitions and the commands' own help, and a
test fails where the files in the repository are not what this would write.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from gatekeeper import policy, schemas
from gatekeeper.model import Severity
from gatekeeper.rules import ALL, Rule

FOLDER = Path("docs")
"""Where the pages stand in this project."""

_GROUPS = (
    (
        "GK0",
        "What keeps the gate from deciding",
        "Each of these but GK004 is the verdict `error`, exit status 2.",
    ),
    ("GK1", "The gate", "Asked of a pull request by `gatekeeper check`."),
    (
        "GK2",
        "Task files",
        "Asked of the files that a change brings, and in the planning lane of the whole board.",
    ),
    ("GK3", "Plan, proposals, decisions", "Asked like the rules on task files."),
)
_ABOUT_RULES = (
    "One rule, one code. `gatekeeper rule CODE` says the same in a terminal. A rule marked ° weighs what the "
    "policy's `severity` says: `error`, `warning`, `notice` or `off`.\n"
)
_ABOUT_POLICY = (
    "`.github/gatekeeper.yml` on the base branch. The file is optional: without it the defaults below hold. An "
    "unknown key, at any level, is an error (GK001), so that a misspelt safeguard is never a silent gap. What a "
    "pull request does to this file counts for the next one only. "
    "[The JSON Schema](schemas/policy.schema.json) lets an editor check it.\n\n"
    "`audit`, `comment`, `triage` and `projects` are read and checked, and no command of this version uses them yet.\n"
)
_MARK = "<!-- Written by `python -m gatekeeper.docs`; edit the code that it comes from. -->\n"


def rules_page() -> str:
    """`docs/rules.md`: every rule, from its docstring."""
    parts = [
        "# Rules\n",
        _MARK,
        _ABOUT_RULES,
    ]
    for prefix, title, note in _GROUPS:
        parts.append(f"## {title}\n\n{note}\n")
        parts += [_rule(rule) for rule in ALL if rule.code.startswith(prefix)]
    return "\n".join(parts)


def _rule(rule: Rule[object]) -> str:
    doc = rule.doc
    weight = "" if rule.severity is Severity.ERROR else f" ({rule.severity.value})"
    degree = " °" if rule.adjustable else ""
    lines = [f"### {rule.code} {rule.name}{degree}{weight}\n", f"{doc.summary}\n"]
    lines += [
        f"- **{name}:** {text}"
        for name, text in (("Why", doc.why), ("Fails", doc.fails), ("Mend", doc.mend))
        if text
    ]
    return "\n".join(lines) + "\n"


def policy_page() -> str:
    """`docs/policy.md`: every setting, from the policy's definitions."""
    head = (
        "# Policy\n",
        _MARK,
        _ABOUT_POLICY,
        "| setting | takes | default | |",
        "|---|---|---|---|",
    )
    rows = [
        f"| `{row.name}` | {row.takes} | {'required' if row.required else '`' + json.dumps(row.default) + '`'} | {row.doc} |"
        for row in policy.rows()
    ]
    return "\n".join((*head, *rows)) + "\n"


def files() -> dict[str, str]:
    """Every generated file below docs/, and its whole text."""
    made = {f"schemas/{name}": text for name, text in schemas.files().items()}
    return made | {"rules.md": rules_page(), "policy.md": policy_page()}


def main(folder: Path) -> None:
    """Write the files below the folder."""
    for name, text in files().items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER)
