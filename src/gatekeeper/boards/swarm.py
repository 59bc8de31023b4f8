"""The `swarm` layout: a folder a state, under `.agents/tasks/` (CONTRACT 2)."""

from __future__ import annotations

from gatekeeper.boards.layout import Layout
from gatekeeper.model import State

LAYOUT = Layout(
    name="swarm",
    root=b".agents/",
    tasks=b".agents/tasks/",
    states=tuple(State),
    plan=b".agents/plan.md",
    manifest=b".agents/manifest.yml",
    proposals=b".agents/proposals/",
    decisions=b".agents/decisions/",
)
