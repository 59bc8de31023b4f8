"""`gatekeeper rule`: what a code means."""

from __future__ import annotations

import json

import click

from gatekeeper.rules import ALL, Rule, by_code


@click.command(short_help="Explain a code: what it means, what fails, how to mend it.")
@click.argument("code", required=False)
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
def rule(code: str | None, form: str) -> int:
    """Explain CODE: what it checks, why, an example that fails, and how to mend it. Without CODE, list them all.

    \b
    Examples:
      gatekeeper rule
      gatekeeper rule GK141
    """
    found = by_code(code) if code else None
    if code and found is None:
        raise click.UsageError(f"there is no rule {code!r}; `gatekeeper rule` lists them")
    chosen = [found] if found else list(ALL)
    if form == "json":
        click.echo(json.dumps([facts(one) for one in chosen], indent=2, ensure_ascii=False))
    elif found:
        click.echo(_explained(found))
    else:
        for one in ALL:
            click.echo(f"{one.code}  {one.severity.value:<8} {one.name:<26} {first_sentence(one)}")
    return 0


def facts(one: Rule[object]) -> dict[str, object]:
    """A rule as a JSON object."""
    doc = one.doc
    return {
        "code": one.code,
        "name": one.name,
        "severity": one.severity.value,
        "adjustable": one.adjustable,
        "summary": doc.summary,
        "why": doc.why,
        "fails": doc.fails,
        "mend": doc.mend,
    }


def first_sentence(one: Rule[object]) -> str:
    """The first sentence of what a rule says."""
    return one.doc.summary.partition(". ")[0].rstrip(".")


def _explained(one: Rule[object]) -> str:
    doc = one.doc
    adjust = ", which the policy may raise or lower" if one.adjustable else ""
    parts = [
        f"{one.code} {one.name} ({one.severity.value}{adjust})",
        click.wrap_text(doc.summary, 88),
        *(
            click.wrap_text(f"{title}: {text}", 88, subsequent_indent="  ")
            for title, text in (("Why", doc.why), ("Fails", doc.fails), ("Mend", doc.mend))
            if text
        ),
    ]
    return "\n\n".join(parts)
