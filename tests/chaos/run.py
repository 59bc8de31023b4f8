"""Play from seeds: `run.py --seed 1 --seeds 10 --steps 200`. Exit 1, and the story, where an invariant breaks."""

from __future__ import annotations

import argparse
import importlib
import shutil
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

from play import Broken, play  # noqa: E402 -- found only now

SETTINGS = {"one clone, worktrees": 0, "two clones of a remote": 2}


def warm() -> None:
    """Do the imports that every command does, before the forks."""
    ours = (
        "cli.claiming",
        "cli.status",
        "cli.repair",
        "cli.guard",
        "choosing",
        "taskfile",
        "plan",
        "policy",
        "settings",
    )
    for name in ("frontmatter", "yaml", *(f"gatekeeper.{name}" for name in ours)):
        importlib.import_module(name)


def main() -> int:
    """Play, and say what was played."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--seed", type=int, default=1, help="the first seed")
    options.add_argument("--seeds", type=int, default=1, help="how many of them")
    options.add_argument("--steps", type=int, default=200, help="steps for each seed and setting")
    chosen = options.parse_args()
    warm()
    broken = 0
    for seed in range(chosen.seed, chosen.seed + chosen.seeds):
        for name, clones in SETTINGS.items():
            broken += not _played(seed, chosen.steps, name, clones)
    return 1 if broken else 0


def _played(seed: int, steps: int, name: str, clones: int) -> bool:
    root = Path(tempfile.mkdtemp(prefix="chaos-"))
    began = time.monotonic()
    try:
        one = play(seed, steps, root, clones=clones)
    except Broken as why:
        print(f"seed {seed}, {name}: BROKEN: {why}", flush=True)
        return False
    finally:
        shutil.rmtree(root, ignore_errors=True)
    took = time.monotonic() - began
    print(
        f"seed {seed}, {name}: {one.steps} commands, {one.kills} killed, in {took:.1f} s: holds", flush=True
    )
    return True


if __name__ == "__main__":
    sys.exit(main())
