"""The benchmark: what `gatekeeper check` costs beside the git commands that any gate must run.

    python bench/run.py [--runs N] [--output bench.json]

Three things are timed as whole processes, one after the other and over again, so that a busy
moment of the machine falls on all of them: the check, `bare.sh`, and an interpreter that imports
what a Python program of this kind must import. The goal is check ≤ 1.5 times (bare.sh + imports) in
every repository, the same time in `small` and `old`, and less than 200 MB at the peak. Nothing
fails here because it was slow; a verdict other than `pass` ends the run, since the time of a
wrong answer means nothing.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, TYPE_CHECKING

import repositories

if TYPE_CHECKING:
    from collections.abc import Container

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
GOAL, MEMORY_GOAL = 1.5, 200.0
WARM_UP = 2
IMPORTS = "import click, yaml, frontmatter"


@dataclass
class Timed:
    """The runs of one command: seconds of wall clock each, and the greatest resident memory in MB.

    The memory is the largest of any single process of the command, git's among them.
    """

    seconds: list[float] = field(default_factory=list)
    memory: float = 0.0

    @property
    def median(self) -> float:
        """Milliseconds in the middle of all runs."""
        return statistics.median(self.seconds) * 1000

    @property
    def spread(self) -> float:
        """Milliseconds between the quarters: how much a run differs from the next for no reason of ours."""
        low, _, high = statistics.quantiles(self.seconds, n=4)
        return (high - low) * 1000

    def plain(self) -> dict[str, float | int]:
        """The figures as JSON has them."""
        return {
            "median_ms": round(self.median, 2),
            "min_ms": round(min(self.seconds) * 1000, 2),
            "max_ms": round(max(self.seconds) * 1000, 2),
            "runs": len(self.seconds),
            "peak_mb": round(self.memory, 1),
        }

    def __str__(self) -> str:
        return f"{self.median:6.1f} ({min(self.seconds) * 1000:.1f} to {max(self.seconds) * 1000:.1f})"


def environment() -> dict[str, str]:
    """The environment of every timed process: the user's git settings left out, as in CI."""
    kept = {
        k: v
        for k, v in os.environ.items()
        if not k.startswith(("GIT_", "GITHUB_", "GATEKEEPER_", "COVERAGE"))
    }
    return kept | repositories.QUIET


def once(
    command: list[str],
    folder: Path,
    env: dict[str, str],
    *,
    into: IO[bytes] | None = None,
    holds: Container[int] = (0,),
) -> tuple[float, float]:
    """Run a command: seconds of wall clock, peak memory in MB. Its output goes nowhere, or all of it into a file.

    Ends the benchmark where its exit status is none of `holds`.
    """
    out, err = (subprocess.DEVNULL, None) if into is None else (into, into)
    started = time.perf_counter()
    with subprocess.Popen(command, cwd=folder, env=env, stdout=out, stderr=err) as process:
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - started
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode not in holds:
        raise SystemExit(f"{' '.join(command)} in {folder} ended with {process.returncode}")
    unit = 1 if platform.system() == "Darwin" else 1024  # ru_maxrss counts bytes there, kilobytes elsewhere
    return seconds, usage.ru_maxrss * unit / 1e6


def commands(name: str) -> dict[str, list[str]]:
    """What is timed in the repository of that name."""
    checked_out = name.endswith("-checkout")
    which = [] if checked_out else ["--head", repositories.BRANCH, "--branch", repositories.BRANCH]
    check = [str(Path(sys.executable).with_name("gatekeeper")), "--now", repositories.NOW, "check"]
    return {
        "check": [*check, "--base", "main", *which, "--format", "json"],
        "bare": [
            str(HERE / "bare.sh"),
            "main",
            repositories.BRANCH,
            repositories.TASK,
            repositories.QUEUED,
            repositories.DONE,
        ],
        "imports": [sys.executable, "-c", IMPORTS],
    }


def verdict(command: list[str], folder: Path, env: dict[str, str]) -> dict[str, object]:
    """What the check says. Ends the benchmark where that is not `pass`."""
    done = subprocess.run(command, cwd=folder, env=env, stdout=subprocess.PIPE, check=False)
    if done.returncode:
        raise SystemExit(f"the check in {folder} does not pass:\n{done.stdout.decode()}")
    report: dict[str, object] = json.loads(done.stdout)
    return report


def measure(folders: dict[str, Path], runs: int) -> dict[str, dict[str, Timed]]:
    """Time everything everywhere, interleaved, after a warm-up."""
    env = environment()
    timed = {name: {what: Timed() for what in commands(name)} for name in folders}
    for number in range(runs + WARM_UP):
        for name, folder in folders.items():
            for what, command in commands(name).items():
                seconds, memory = once(command, folder, env)
                if number >= WARM_UP:
                    timed[name][what].seconds.append(seconds)
                    timed[name][what].memory = max(timed[name][what].memory, memory)
    return timed


def rows(timed: dict[str, dict[str, Timed]]) -> list[tuple[str, ...]]:
    """The table, head first; times are medians in milliseconds, fastest and slowest run behind them."""
    table: list[tuple[str, ...]] = [
        ("repository", "check, ms", "bare.sh, ms", "imports, ms", "check : both", "peak, MB")
    ]
    for name, found in timed.items():
        check, memory = found["check"], found["check"].memory
        table.append(
            (
                name,
                str(check),
                str(found["bare"]),
                str(found["imports"]),
                f"{ratio(found):.2f} {'≤' if ratio(found) <= GOAL else '> MISSED'} {GOAL}",
                f"{memory:.0f} {'<' if memory < MEMORY_GOAL else '≥ MISSED'} {MEMORY_GOAL:.0f}",
            )
        )
    return table


def ratio(found: dict[str, Timed]) -> float:
    """How many times the script and the imports together the check takes."""
    return found["check"].median / (found["bare"].median + found["imports"].median)


def growth(timed: dict[str, dict[str, Timed]]) -> dict[str, float]:
    """What the check takes longer in `old` than in `small`, the same for git alone, and the noise, in ms."""
    small, old = timed["small"], timed["old"]
    return {
        "check_ms": round(old["check"].median - small["check"].median, 2),
        "bare_ms": round(old["bare"].median - small["bare"].median, 2),
        "noise_ms": round(max(small["check"].spread, old["check"].spread), 2),
    }


def show(table: list[tuple[str, ...]]) -> None:
    """Print the table in columns."""
    widths = [max(len(row[column]) for row in table) for column in range(len(table[0]))]
    for row in table:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())


def document(timed: dict[str, dict[str, Timed]]) -> dict[str, object]:
    """Everything that was measured, as `bench.json` has it."""
    git = subprocess.run(["git", "version"], stdout=subprocess.PIPE, text=True, check=True).stdout.split()[2]
    return {
        "version": 1,
        "goal": {"ratio": GOAL, "peak_mb": MEMORY_GOAL},
        "machine": {"python": platform.python_version(), "git": git, "cpus": os.cpu_count()},
        "repositories": {
            name: {what: one.plain() for what, one in found.items()} | {"ratio": round(ratio(found), 3)}
            for name, found in timed.items()
        },
        "old_against_small": growth(timed),
    }


def main() -> None:
    """Make the repositories, measure, print, write."""
    options = argparse.ArgumentParser(description="Time gatekeeper check against bare git.")
    options.add_argument("--runs", type=int, default=21, help="how often each command is timed (at least 15)")
    options.add_argument("--output", type=Path, default=ROOT / "bench.json")
    chosen = options.parse_args()
    folders = repositories.made(ROOT / "build" / "bench")
    for name, folder in folders.items():
        changed = verdict(commands(name)["check"], folder, environment())["changed_paths"]
        print(f"{name}: passes, {changed} paths changed")
    timed = measure(folders, max(chosen.runs, 15))
    show(rows(timed))
    grown = growth(timed)
    print(
        f"check on old takes {grown['check_ms']:+.1f} ms against small "
        f"(git alone {grown['bare_ms']:+.1f} ms, noise ±{grown['noise_ms']:.1f} ms)"
    )
    chosen.output.write_text(json.dumps(document(timed), indent=2) + "\n")
    print(f"written to {chosen.output}")


if __name__ == "__main__":
    main()
