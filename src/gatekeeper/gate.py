"""The gate: a snapshot's verdict, by asking the rules. Nothing here looks anywhere else."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from gatekeeper.claims.history import state
from gatekeeper.errors import GatekeeperError
from gatekeeper.model import ClaimView, Finding, Outcome, Severity, TaskRef, Verdict
from gatekeeper.policy import DEFAULT, Policy
from gatekeeper.rules import BOARD, GATE, GATE_WEAKER, RAISED, Rule
from gatekeeper.rules.claim import branch_claim

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from gatekeeper.boards.board import Board
    from gatekeeper.question import Question
    from gatekeeper.snapshot import Snapshot

Facts = TypeVar("Facts")


def judge(facts: Snapshot) -> Verdict:
    """The verdict on one snapshot: every rule that the lane asks for, asked; findings sorted (CONTRACT 4)."""
    if not GATE or not BOARD:
        raise GatekeeperError("there are no rules to judge by", "Install gatekeeper again.")
    findings = [*ask(GATE, facts, facts.policy), *ask(GATE_WEAKER, facts, facts.policy), *_board(facts)]
    found = tuple(sorted(findings, key=lambda finding: finding.order))
    failed = any(finding.severity is Severity.ERROR for finding in found)
    subject = facts.subject or next(iter(facts.finished), None)
    claim = branch_claim(facts)
    return Verdict(
        Outcome.FAIL if failed else Outcome.PASS,
        found,
        lane=facts.lane,
        base=facts.question.base,
        head=facts.question.head,
        merged_tree=facts.merged_tree,
        task=TaskRef(subject.id, subject.after.path, subject.after.task.title) if subject else None,
        claim=ClaimView(claim, state(claim, facts.question.now)) if claim else None,
        changed_paths=len(facts.changes),
        enforced=facts.policy.enforce,
    )


def undecided(problem: GatekeeperError, question: Question | None) -> Verdict:
    """The verdict `error`: what could not be found out is never a pass."""
    rule = next((rule for rule in RAISED if rule.code == problem.code), RAISED[-1])
    return Verdict(
        Outcome.ERROR,
        tuple(_findings(rule, problem, DEFAULT)),
        base=question.base if question else None,
        head=question.head if question else None,
    )


def ask(rules: Iterable[Rule[Facts]], facts: Facts, policy: Policy) -> Iterator[Finding]:
    """What the rules find in some facts, weighed as the policy has it."""
    for rule in rules:
        yield from _findings(rule, facts, policy)


def _findings(rule: Rule[Facts], facts: Facts, policy: Policy) -> Iterator[Finding]:
    chosen = policy.severity.get(rule.code) if rule.adjustable else None
    if chosen == "off":
        return
    severity = Severity(chosen) if chosen else rule.severity
    for found in rule.check(facts):
        yield Finding(rule.code, rule.name, severity, found.message, found.path, found.line, found.help)


def _board(facts: Snapshot) -> Iterator[Finding]:
    """The board's rules: those on one file over what comes with the change, and in planning what it makes worse."""
    if facts.boards is None:
        yield from ask([rule for rule in BOARD if rule.one_file], facts.board, facts.policy)
        return
    before, after = facts.boards
    old_ids, new_ids = _ids(before), _ids(after)
    had = {_fault(finding, old_ids) for finding in ask(BOARD, before, before.policy)}
    for finding in ask(BOARD, after, after.policy):
        if finding.severity is Severity.ERROR and _fault(finding, new_ids) not in had:
            yield finding


def _ids(board: Board) -> dict[bytes, str]:
    return {task.path: task.id for task in board.tasks if task.readable}


def _fault(finding: Finding, ids: Mapping[bytes, str]) -> tuple[str, str | bytes | None]:
    """What makes two findings the same fault: the same code on the same task, else on the same path (CONTRACT 1)."""
    path = finding.path
    return finding.code, path if path is None else ids.get(path, path)
