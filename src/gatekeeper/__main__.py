"""The entry point: `gatekeeper`, and `python -P -m gatekeeper`.

Without `-P` Python looks for modules in the current folder first, which may hold a branch's files.
"""

from __future__ import annotations

import gc
import sys


def main() -> None:
    """Run the command and leave with its exit status.

    A command is over before garbage is worth collecting, and nobody needs the interpreter taken apart
    object by object: without the one and the other a check takes a fifth less time. What runs on turns
    the collector on again.
    """
    gc.disable()
    from gatekeeper.edges.leaving import at_once, in_order  # noqa: PLC0415 -- after the collector is off

    at_once(in_order(_command))


def _command() -> int:
    from gatekeeper.cli import run  # noqa: PLC0415 -- after signals are heeded

    return run(sys.argv[1:])


if __name__ == "__main__":
    if not sys.flags.safe_path:
        del sys.path[0]  # the current folder: what can still be kept from being imported from it is
    main()
