"""From a question to a verdict: facts are gathered, the rules are asked, and what can't be found out is an error."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gatekeeper import rules
from gatekeeper.edges.gather import ClaimSource, Gatherer
from gatekeeper.errors import GatekeeperError
from gatekeeper.gate import judge, undecided
from gatekeeper.model import Lane, Severity, Verdict
from gatekeeper.people import Forge, People

if TYPE_CHECKING:
    from gatekeeper.edges.git import View
    from gatekeeper.edges.remote import Remote
    from gatekeeper.question import Question
    from gatekeeper.snapshot import Snapshot


def decide(
    question: Question,
    view: View,
    claims: ClaimSource,
    forge: Forge | None = None,
    remote: Remote | None = None,
) -> Verdict:
    """The verdict on `question`, read through `view`; `remote` is where missing blobs are fetched from.

    A GatekeeperError becomes the verdict `error`. Anything else that is raised is a fault of ours.
    """
    try:
        gatherer = Gatherer(question, view, claims, rules.Codes(), forge, remote.missing if remote else None)
        facts = gatherer.snapshot()
        return _again_for_operator(gatherer, facts, judge(facts))
    except GatekeeperError as problem:
        return undecided(problem, question)


def _again_for_operator(gatherer: Gatherer, facts: Snapshot, verdict: Verdict) -> Verdict:
    """A handback that only its claim fails passes for an operator: in CI the forge is asked that late."""
    errors = [finding for finding in verdict.findings if finding.severity is Severity.ERROR]
    only_claim = all(finding.code[:4] in ("GK11", "GK12") for finding in errors)
    failed = verdict.outcome.value == "fail"
    if not (failed and only_claim and facts.lane is Lane.HANDBACK and gatherer.question.in_ci):
        return verdict
    people = People(gatherer.question, gatherer.policy, gatherer.forge)
    return judge(gatherer.operators(facts, people))


__all__ = ["Forge", "decide"]
