"""Agents that claim, renew, release and steal at random, and die at random git calls; invariants after every step.

Everything follows from a seed. A command runs in a fork of this process, whose imports are done; its git is
`fakes/dying/git`, which kills it. Time is the `--now` that each command is given, a little off for each agent.
"""

from __future__ import annotations

import fcntl
import os
import random
import re
import shutil
import sys
import time
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from gatekeeper.claims.refs import lock_ref
from gatekeeper.cli import run
from running import Ran
from swarming import CLAIMS, DYING, LOCKS, LOG, Agent, Swarm, environment, real_git, task_id

if TYPE_CHECKING:
    from pathlib import Path

BEGAN = datetime(2026, 3, 10, 8, tzinfo=UTC)
TASKS = {1: ["schema"], 2: ["schema"], 3: ["a", "b"], 4: [], 5: ["b"]}
SKEW = timedelta(minutes=5)
CALLS = {
    "claim": (10, 20),
    "next": (11, 24),
    "renew": (8, 18),
    "release": (8, 16),
    "steal": (10, 18),
    "status": (6, 15),
    "repair": (8, 18),
    "guard": (8, 10),
}
"""How often each command calls git, about: in one clone, and where there is a remote."""
HOWS = ("before", "before", "after", "after", "after", "late", "torn", "torn")
PAUSES = ("0.001", "0.002", "0.003", "0.005", "0.008", "0.015")
"""Seconds after which a git is killed that runs for a few milliseconds."""


class Broken(AssertionError):
    """An invariant does not hold."""


@dataclass
class Belief:
    """What an agent was told last of a task: that it holds it until then."""

    until: datetime


@dataclass
class Play:
    """One play: a swarm, a clock, and what everyone was told."""

    swarm: Swarm
    dice: random.Random
    scratch: Path
    now: datetime = BEGAN
    told: dict[tuple[str, str], Belief] = field(default_factory=dict)
    seen: dict[tuple[str, str, str], str] = field(default_factory=dict)
    logged: set[str] = field(default_factory=set)
    story: list[str] = field(default_factory=list)
    pending: list[Path] = field(default_factory=list)
    kills: int = 0
    torn: bool = False
    steps: int = 0

    # -- running a command ---------------------------------------------------------

    def run(self, agent: Agent, words: list[str], fault: tuple[str, str] | None = None) -> Ran | None:
        """Run a command as an agent; None where it was killed."""
        self.steps += 1
        folder = self.scratch / f"step{self.steps}"
        folder.mkdir()
        off = timedelta(seconds=(self.swarm.agents.index(agent) - 1) * 45)
        args = ["--now", (self.now + off).isoformat().replace("+00:00", "Z"), *words]
        env = environment(GATEKEEPER_AGENT=agent.name, TMPDIR=str(folder))
        if fault:
            env |= {"PATH": f"{DYING}:{env['PATH']}", "FAULT_GIT": real_git(), "FAULT_DIR": str(folder)}
            env |= {"FAULT_AT": fault[0], "FAULT_HOW": fault[1]}
            env |= {"FAULT_PAUSE": self.dice.choice(PAUSES), "FAULT_PART": str(self.dice.randint(0, 3))}
        self.story.append(f"{self.steps} {self.now:%d %H:%M} {agent.name} {' '.join(words)} {fault or ''}")
        ran = _forked(args, env, agent.path, folder)
        said = "killed" if ran is None else f"{ran.status} {(ran.out + ran.err).strip()!r}"
        self.story[-1] += f" -> {said}"
        if ran is None:
            self.kills += 1
            if fault and fault[1] in ("late", "torn"):
                self.pending.append(folder)
            return None
        _sound(ran)
        shutil.rmtree(folder, ignore_errors=True)
        return ran

    def settle(self) -> None:
        """Wait until the pushes that came late have ended, and let somebody repair what a git left that was killed."""
        torn = []
        for folder in self.pending:
            for _ in range(1000):
                if _over(folder):
                    break
                time.sleep(0.01)
            else:
                raise Broken("a git that was left running does not end")
            torn += [folder] if (folder / "alive").exists() else []
        self.pending = []
        if torn:
            self.torn = True
            self.heal()

    def heal(self) -> None:
        """Ten minutes later a git's lock files are taken for a dead one's."""
        for clone in self.swarm.clones:
            for path in clone.joinpath(".git").rglob("*.lock"):
                os.utime(path, (1, 1))
        for agent in {agent.clone: agent for agent in self.swarm.agents}.values():
            self._must(agent, ["repair"])

    # -- a step ------------------------------------------------------------------------

    def step(self) -> None:
        """One agent does one thing, perhaps dies of it, and perhaps does it again."""
        dice, agent = self.dice, self.dice.choice(self.swarm.agents)
        self.now += timedelta(minutes=dice.choice([0, 1, 3, 7, 12, 25]))
        verb = dice.choices(list(CALLS), [6, 4, 4, 6, 5, 1, 1, 1])[0]
        words = self._words(verb, agent)
        before = self.now
        calls = CALLS[verb][self.swarm.remote is not None]
        fault = (str(dice.randint(1, calls)), dice.choice(HOWS)) if dice.random() < 0.6 else None
        if fault and fault[1] == "torn" and dice.random() < 0.7:
            fault = ("update-ref", "torn")  # what moves the refs themselves
        ran = self._act(agent, verb, words, fault)
        if fault and fault[1] == "torn":
            self.settle()
        if ran is None and dice.random() < 0.3:  # another command meets the push that comes late
            other = dice.choice(self.swarm.agents)
            self._act(other, "claim", self._words("claim", other), None)
        self.settle()
        self.check()
        if ran is None and dice.random() < 0.6:
            self.now = before
            self._back_again(agent, verb, words)
            self.check()

    def _words(self, verb: str, agent: Agent) -> list[str]:
        task = task_id(self.dice.choice(list(TASKS)))
        if verb == "next":
            return ["claim", "--next"]
        if verb == "claim":
            again = ["--again"] if self.dice.random() < 0.5 else []
            local = ["--local"] if self.swarm.remote and self.dice.random() < 0.3 else []
            return [verb, task, *again, *local]
        if verb == "steal":
            return [verb, task]
        if verb in ("renew", "release"):
            mine = [t for t, a in self.told if a == agent.name]
            named = [self.dice.choice(mine)] if mine and self.dice.random() < 0.8 else []
            outcome = self.dice.choice([[], ["--outcome", "done"], ["--outcome", "abandoned"]])
            return [verb, *named, *(outcome if verb == "release" else [])]
        return [verb, *(["src/1/x"] if verb == "guard" else [])]

    def _act(self, agent: Agent, verb: str, words: list[str], fault: tuple[str, str] | None) -> Ran | None:
        """Run a command, and keep in mind what it tells its agent."""
        if verb == "release":  # who asks to release holds no longer, whatever comes of it
            named = next((word for word in words if word.startswith("T-")), None)
            for task, name in [key for key in self.told if key[1] == agent.name and named in (None, key[0])]:
                del self.told[task, name]
        ran = self.run(agent, words, fault)
        if ran is None:
            return None
        got = re.search(r"^(?:claimed|renewed) (\S+) (?:for \S+ )?until (\S+)$", ran.out, re.MULTILINE)
        if got and ran.status == 0:
            if "--local" not in words:  # what the remote has not heard of excludes nobody
                self._told(agent, got[1], datetime.fromisoformat(got[2]))
        elif verb in ("renew", "claim") and ran.status == 1:
            for word in words:
                self.told.pop((word, agent.name), None)
        if not self.pending and verb != "guard" and "--local" not in words and ran.status in (0, 1):
            self.mirrored(agent)
        return ran

    def _told(self, agent: Agent, task: str, until: datetime) -> None:
        for (other, name), belief in self.told.items():
            shared = other == task or set(_locks(other)) & set(_locks(task))
            if shared and name != agent.name and belief.until > self.now + SKEW:
                raise Broken(f"{agent.name} was told that it holds {task}, and {name} holds {other}")
        self.told[task, agent.name] = Belief(until)

    def _back_again(self, agent: Agent, verb: str, words: list[str]) -> None:
        """Who was killed does the same again: what it holds it gets back, and what is free it gets."""
        where = agent.clone if "--local" in words else self.swarm.authority
        refs = self.swarm.refs(where) | self._own(agent)
        ran = self._act(agent, verb, words, None)
        if ran is None or verb != "claim":
            return
        task = words[1]
        holder = self._holder(refs, task, agent.clone)
        locked = any(
            _lock(key) in refs and refs[_lock(key)] != refs.get(CLAIMS + task) for key in _locks(task)
        )
        review = self._in_review(self.swarm.refs(), task) and "--again" not in words
        if (holder in (None, agent.name)) and not locked and not review and ran.status != 0:
            raise Broken(f"{agent.name} did not get {task} (back): {ran.err}")

    def _holder(self, refs: dict[str, str], task: str, where: Path | None = None) -> str | None:
        oid = refs.get(CLAIMS + task)
        return self.swarm.blobs([oid], where)[oid]["agent"] if oid else None

    def _own(self, agent: Agent) -> dict[str, str]:
        """The refs in an agent's clone of claims made with --local, which the remote does not know."""
        ours = self.swarm.refs(agent.clone)
        held = {ref: oid for ref, oid in ours.items() if ref.startswith((CLAIMS, LOCKS))}
        local = {
            oid
            for oid, blob in self.swarm.blobs(list(held.values()), agent.clone).items()
            if blob.get("local")
        }
        return {ref: oid for ref, oid in held.items() if oid in local}

    def _in_review(self, refs: dict[str, str], task: str) -> bool:
        oids = [oid for ref, oid in refs.items() if ref.startswith(f"{LOG}{task}/")]
        blobs = self.swarm.blobs(oids).values() if oids else []
        newest = max(blobs, key=lambda blob: blob["epoch"], default={})
        return newest.get("outcome") == "done"

    # -- the invariants ------------------------------------------------------------------

    def check(self) -> None:
        """What has to hold at the authority after every step, whatever died."""
        refs = self.swarm.refs()
        blobs = self.swarm.blobs(list(refs.values())) if refs else {}
        claims = {ref.removeprefix(CLAIMS): oid for ref, oid in refs.items() if ref.startswith(CLAIMS)}
        for ref, oid in refs.items():
            if ref.startswith(LOCKS) and oid not in claims.values():
                raise Broken(f"{ref} is a lock without its claim")
        for task, oid in claims.items():
            if self.torn and datetime.fromisoformat(blobs[oid]["expiresAt"]) < self.now + SKEW:
                continue  # a git that was killed left it so, and nobody gives a lock to what has expired
            for key in blobs[oid]["locks"]:
                if refs.get(_lock(key)) != oid:
                    raise Broken(f"{task} lacks its lock {key}")
        self._check_log(refs, blobs, claims)

    def _check_log(self, refs: dict[str, str], blobs: dict[str, Any], claims: dict[str, str]) -> None:
        logs = {ref for ref in refs if ref.startswith(LOG)}
        if lost := self.logged - logs:
            raise Broken(f"log entries are lost: {lost}")
        self.logged = logs
        ended = {_identity(blobs[refs[ref]]) for ref in logs}
        standing = {_identity(blobs[oid]): task for task, oid in claims.items()}
        for claim, task in self.seen.items():
            if claim not in standing and claim not in ended:
                raise Broken(f"a claim on {task} ended, and the log does not know of it: {claim}")
        self.seen |= standing

    def mirrored(self, agent: Agent) -> None:
        """After a command has asked the remote its clone says what the remote says."""
        if self.swarm.remote is None:
            return
        theirs, ours, own = self.swarm.refs(), self.swarm.refs(agent.clone), self._own(agent)
        if both := own.keys() & theirs.keys():
            raise Broken(f"{agent.clone.name} keeps as its own what the remote holds: {both}")
        ours = {ref: oid for ref, oid in ours.items() if ref not in own}
        for prefix in (CLAIMS, LOCKS):
            here = {ref: oid for ref, oid in ours.items() if ref.startswith(prefix)}
            there = {ref: oid for ref, oid in theirs.items() if ref.startswith(prefix)}
            if here != there:
                raise Broken(f"{agent.clone.name} does not mirror the remote: {here} is not {there}")
        if wrong := {ref for ref, oid in ours.items() if theirs.get(ref) != oid}:
            raise Broken(f"{agent.clone.name} holds what the remote does not: {wrong}")

    def finale(self) -> None:
        """Every lease ends: once all are over, one agent gets every task there is."""
        self.now += timedelta(hours=3)
        agent = self.swarm.agents[0]
        for number, keys in TASKS.items():
            task = task_id(number)
            for other in (task, *(task_id(n) for n, more in TASKS.items() if set(more) & set(keys))):
                if CLAIMS + other in self.swarm.refs() | self._own(agent):
                    self._must(agent, ["steal", other])
                    self._must(agent, ["release", other, "--outcome", "abandoned"])
            self._must(agent, ["claim", task, "--again"])
            self._must(agent, ["release", task, "--outcome", "done"])
        ran = self._must(agent, ["repair", "--dry-run"])
        if "nothing to repair" not in ran.out:
            raise Broken(ran.out)
        self.check()

    def _must(self, agent: Agent, words: list[str]) -> Ran:
        ran = self.run(agent, words)
        if ran is None or ran.status:
            raise Broken(f"{words} did not work: {ran}")
        return ran


def _over(folder: Path) -> bool:
    """Whether the git of a crash has ended, and all that it started."""
    if not (folder / "over").exists():
        return False
    alive = folder / "alive"
    if not alive.exists():
        return True
    with alive.open() as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
    return True


def _identity(blob: dict[str, Any]) -> tuple[str, str, str]:
    return (blob["task"], blob["agent"], blob["claimedAt"])


def _locks(task: str) -> list[str]:
    return TASKS[int(task.rpartition("-")[2], 16)]


def _lock(key: str) -> str:
    return lock_ref(key)


def _sound(ran: Ran) -> None:
    if ran.status not in (0, 1) or "Traceback" in ran.err or "fault of gatekeeper" in ran.err:
        raise Broken(f"exit {ran.status}: {ran.err}")


def _forked(args: list[str], env: dict[str, str], cwd: Path, folder: Path) -> Ran | None:
    """Run the command line in a fork of this process; None where it was killed."""
    out, err = folder / "stdout", folder / "stderr"
    pid = os.fork()
    if pid == 0:
        _child(args, env, cwd, out, err)
    for _ in range(6000):
        ended, status = os.waitpid(pid, os.WNOHANG)
        if ended:
            break
        time.sleep(0.005)
    else:
        os.kill(pid, 9)
        os.waitpid(pid, 0)
        raise Broken(f"{args} does not end")
    if os.WIFSIGNALED(status):
        return None
    return Ran(os.WEXITSTATUS(status), out.read_text(), err.read_text())


def _child(args: list[str], env: dict[str, str], cwd: Path, out: Path, err: Path) -> None:
    try:
        os.chdir(cwd)
        os.environ.clear()
        os.environ.update(env)
        sys.stdout, sys.stderr = out.open("w"), err.open("w")
        status = run(args)
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)
    finally:
        os._exit(99)


def play(seed: int, steps: int, root: Path, *, clones: int) -> Play:
    """Play so many steps from a seed in an empty folder. Raises Broken, with the story told on standard error."""
    scratch = root / "scratch"
    scratch.mkdir(parents=True)
    swarm = Swarm(root, TASKS, clones=clones, worktrees=2 if clones else 3)
    one = Play(swarm, random.Random(f"{seed}/{clones}"), scratch)
    try:
        for _ in range(steps):
            one.step()
        one.finale()
    except Broken:
        print("\n".join(one.story[-25:]), file=sys.stderr)
        raise
    return one
