"""The benchmark of claims: what `claim` and `release` cost beside bare git, and eight processes at once.

    python bench/claims.py [--runs N] [--output bench-claims.json]

`claim` and `release` of one task are timed as whole processes beside `bare_claim.sh` and an interpreter that
imports what it must, interleaved, with 0, 1,000 and 100,000 log entries of other tasks, in a clone alone and
with a remote behind a file:// URL. Then 8 processes, 4 worktrees in each of 2 clones, claim and release 100
tasks until none is left; a task that is claimed twice or lost ends the run. Nothing fails for being slow.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "tests")]

from run import GOAL, IMPORTS, environment, once, show  # noqa: E402 -- found only now

from swarming import CLAIMS, LOG, Agent, Swarm, git, task_id  # noqa: E402 -- as above

LOGS = (0, 1_000, 100_000)
TASK = task_id(0)
TASKS, WORKTREES = 100, 4
WARM_UP = 1
GATEKEEPER = str(Path(sys.executable).with_name("gatekeeper"))
Times = dict[str, list[float]]


def packed_log(folder: Path, count: int) -> None:
    """Write so many log entries of other tasks as one packed-refs file, beside the refs that are there."""
    if not count:
        return
    git(folder, "pack-refs", "--all")
    text = json.dumps({"task": "T-20260101-00000000"})
    oid = git(folder, "hash-object", "-w", "--stdin", stdin=text)
    packed = folder / git(folder, "rev-parse", "--git-path", "packed-refs")
    rows = [line for line in packed.read_text().splitlines() if line[:1] not in "#^"]
    rows += [f"{oid} {LOG}T-20260101-{n // 4:08x}/20260101T00000{n % 4}000Z" for n in range(count)]
    rows.sort(key=lambda row: row.split(" ")[1])
    packed.write_text("# pack-refs with: peeled fully-peeled sorted \n" + "\n".join(rows) + "\n")


def made(root: Path, count: int, *, remote: bool) -> Swarm:
    """One task and one agent, with so many log entries of others where the claims are decided."""
    swarm = Swarm(root, {0: []}, clones=1 if remote else 0, worktrees=1, url="file://{}")
    packed_log(swarm.authority if remote else swarm.clones[0] / ".git", count)
    return swarm


def timed(swarm: Swarm, runs: int) -> Times:
    """Seconds of each command, run after run: gatekeeper, bare git, and the imports."""
    agent, remote = swarm.agents[0], "origin" if swarm.remote else ""
    env = environment() | {"GATEKEEPER_AGENT": agent.name}
    bare = str(HERE / "bare_claim.sh")
    commands = {
        "claim": [GATEKEEPER, "claim", TASK],
        "release": [GATEKEEPER, "release"],
        "bare claim": [bare, "claim", TASK, remote],
        "bare release": [bare, "release", TASK, remote],
        "imports": [sys.executable, "-c", IMPORTS],
    }
    found: Times = {name: [] for name in commands}
    for number in range(runs + WARM_UP):
        for name, command in commands.items():
            seconds, _ = once(command, agent.path, env)
            if number >= WARM_UP:
                found[name].append(seconds * 1000)
        _forget(swarm, agent)
    return found


def _forget(swarm: Swarm, agent: Agent) -> None:
    """Take the task's own log away, so that every run meets the same."""
    for folder in {swarm.authority, agent.clone}:
        own = [
            ref
            for ref in git(folder, "for-each-ref", "--format=%(refname)", f"{LOG}{TASK}").splitlines()
            if ref
        ]
        git(folder, "update-ref", "--stdin", stdin="".join(f"delete {ref}\n" for ref in own))


def row(name: str, found: Times) -> tuple[str, ...]:
    """A line of the table: medians in milliseconds, and ours against bare git and the imports."""
    middle = {what: statistics.median(times) for what, times in found.items()}
    both = [middle[what] / (middle[f"bare {what}"] + middle["imports"]) for what in ("claim", "release")]
    cells = [f"{middle[what]:.1f}" for what in found]
    return (name, *cells, *(f"{ratio:.2f}" for ratio in both))


def throughput(root: Path) -> dict[str, float | int]:
    """All agents at once until nothing is left; how long that took. Raises SystemExit where one is had twice or lost."""
    swarm = Swarm(root, {n: [] for n in range(TASKS)}, clones=2, worktrees=WORKTREES)
    began = time.perf_counter()
    with ThreadPoolExecutor(len(swarm.agents)) as pool:
        got = [
            task for tasks in pool.map(lambda agent: _work_off(swarm, agent), swarm.agents) for task in tasks
        ]
    took = time.perf_counter() - began
    wanted = sorted(map(task_id, swarm.tasks))
    if sorted(got) != wanted or any(ref.startswith(CLAIMS) for ref in swarm.refs()):
        raise SystemExit(f"tasks were claimed twice or lost: {sorted(got)}")
    return {
        "tasks": TASKS,
        "processes": len(swarm.agents),
        "seconds": round(took, 1),
        "per_second": round(TASKS / took, 2),
    }


def _work_off(swarm: Swarm, agent: Agent) -> list[str]:
    got: list[str] = []
    while True:
        ran = swarm.run(agent, "claim", "--next", "--format", "json", timeout=300)
        if ran.status:
            raise SystemExit(ran.err)
        claimed = json.loads(ran.out)["claimed"]
        if claimed is None:
            return got
        got.append(claimed["task"])
        if (done := swarm.run(agent, "release", "--outcome", "done", timeout=300)).status:
            raise SystemExit(done.err)


def main() -> None:
    """Make the repositories, measure, print, write."""
    options = argparse.ArgumentParser(description="Time claims against bare git.")
    options.add_argument("--runs", type=int, default=9, help="how often each command is timed")
    options.add_argument("--output", type=Path, default=HERE.parent / "bench-claims.json")
    chosen = options.parse_args()
    table = [
        (
            "log refs",
            "claim, ms",
            "release, ms",
            "bare claim",
            "bare release",
            "imports",
            "claim :",
            "release :",
        )
    ]
    document: dict[str, object] = {"version": 1, "goal": {"ratio": GOAL}}
    with tempfile.TemporaryDirectory(prefix="bench-claims-") as folder:
        for remote in (False, True):
            for count in LOGS:
                name = f"{count:,} {'with a remote' if remote else 'local'}"
                swarm = made(Path(folder, name.replace(" ", "-")), count, remote=remote)
                found = timed(
                    swarm, chosen.runs if count < LOGS[-1] or not remote else max(3, chosen.runs // 2)
                )
                table.append(row(name, found))
                document[name] = {what: round(statistics.median(times), 2) for what, times in found.items()}
        show(table)
        done = throughput(Path(folder, "throughput"))
    document["throughput"] = done
    print(
        f"{done['processes']} processes: {done['tasks']} tasks in {done['seconds']} s, {done['per_second']} a second"
    )
    chosen.output.write_text(json.dumps(document, indent=2) + "\n")
    print(f"written to {chosen.output}")


if __name__ == "__main__":
    main()
