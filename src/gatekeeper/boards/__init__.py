"""Task boards: how the paths of a tree become tasks. One module a layout, and one line here."""

from __future__ import annotations

from gatekeeper.boards import swarm
from gatekeeper.boards.layout import Layout, Place

LAYOUTS: tuple[Layout, ...] = (swarm.LAYOUT,)
"""Every layout that a policy can name."""


def by_name(name: str) -> Layout:
    """The layout that a policy's `layout` names. Raises KeyError for any other."""
    return {layout.name: layout for layout in LAYOUTS}[name]


__all__ = ["LAYOUTS", "Layout", "Place", "by_name"]
