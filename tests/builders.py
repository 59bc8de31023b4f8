"""Makes real git repositories from a short description, and runs the gate in them.

A description is what the files in `examples/` hold: `start` (boards of `data/boards.yml`), `base`
(edits to `main` before the fork), `branch`, `edits` (on that branch), `claims` and `args`. An edit
is a mapping of one verb to its argument; the verbs are the `VERBS` at the end of this file.

Time stands still: `NOW` is when the gate looks, claims began 20 minutes earlier and run for 10 more, and the
branch's commits lie in between, a minute apart; base's are from the day before.
"""

from __future__ import annotations

import hashlib
import json
import shlex
import subprocess
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from running import Ran, as_process, in_process, sound
from worktree import BRANCH, WorkTree

HERE = Path(__file__).resolve().parent
NOW = "2026-03-10T11:20:00Z"
CLAIMED, EXPIRES, STAMP = "2026-03-10T11:00:00.000Z", "2026-03-10T11:30:00.000Z", "20260310T111500000Z"
PLAN_REVISION = 4

Spec = Mapping[str, Any]

__all__ = ["BRANCH", "NOW", "Ran", "Sample", "Spec", "boards", "listed", "load", "play", "sound"]


@cache
def boards() -> dict[str, dict[str, str | None]]:
    """The named sets of files that a repository can start from."""
    found: dict[str, dict[str, str | None]] = load((HERE / "data" / "boards.yml").read_text())
    return found


def load(text: str) -> Any:
    """YAML that the project's own tests wrote."""
    return yaml.load(text, Loader=yaml.CSafeLoader)


def listed(value: Any) -> list[Any]:
    """A list as it is, nothing as an empty one, anything else as a list of one."""
    if value is None:
        return []
    return value if isinstance(value, list) else [value]


class Sample(WorkTree):
    """A repository that starts from boards, takes edits and claims, and is judged."""

    def __init__(self, root: Path, start: str | Sequence[str] = "shop", object_format: str = "sha1") -> None:
        """Begin one in the empty folder `root`, with the files of the boards that `start` names uncommitted."""
        super().__init__(root, object_format)
        for name in [start] if isinstance(start, str) else start:
            for path, text in boards()[name].items():
                if text is None:
                    (self.path / path).unlink(missing_ok=True)
                else:
                    self.write(path, text)

    def edit(self, step: Spec) -> None:
        """Make one edit: a verb and its argument."""
        ((verb, arg),) = step.items()
        VERBS[verb](self, arg)

    def on_base(self, steps: Sequence[Spec]) -> None:
        """Let the base branch move on by some edits."""
        self.commit("before base moves on")
        self.git("switch", "--quiet", "main")
        for step in steps:
            self.edit(step)
        self.commit("base moves on")
        self.git("switch", "--quiet", self.branch)

    # -- claims ------------------------------------------------------------

    def claim(self, kind: str, what: Spec) -> None:
        """Write a claim as the protocol does: `live`, `released`, or `raw` (`{ref: the blob's text}`)."""
        if kind == "raw":
            for ref, text in what.items():
                self._refs(text, [ref])
            return
        fields = self.claim_fields(what)
        text = json.dumps(fields)
        task = what.get("at_ref", what["task"])
        if kind == "released":
            self._refs(text, [f"refs/swarm/claim-log/{task}/{what.get('stamp', STAMP)}"])
            return
        keys = what.get("lock_refs", fields.get("locks", []))
        locks = [f"refs/swarm/task-locks/{hashlib.sha256(key.encode()).hexdigest()[:16]}" for key in keys]
        self._refs(text, [f"refs/swarm/task-claims/{task}", *locks])

    def claim_fields(self, what: Spec) -> dict[str, Any]:
        """A claim's blob: what the case says, else an honest claim of this branch, signed if `sign` names a key."""
        fields: dict[str, Any] = {
            "task": what["task"],
            "agent": what.get("agent", "ada"),
            "branch": what.get("branch", self.branch),
            "baseCommit": self.git("rev-parse", what["at"]) if "at" in what else self.fork,
            "claimedAt": what.get("claimedAt", CLAIMED),
            "expiresAt": what.get("expiresAt", EXPIRES),
            "locks": what.get("locks", []),
            "planRevision": what.get("planRevision", PLAN_REVISION),
        } | what.get("extra", {})
        fields = {name: value for name, value in fields.items() if name not in what.get("without", [])}
        if "sign" in what:
            fields["signature"] = self.sign(what["sign"], fields)
        return {**fields, **what.get("after_signing", {})}

    def _refs(self, text: str, refs: Sequence[str]) -> None:
        oid = self.git("hash-object", "-w", "--stdin", stdin=text)
        self.git("update-ref", "--stdin", stdin="".join(f"update {ref} {oid}\n" for ref in refs))

    def key(self, name: str) -> Path:
        """An SSH key of that name, made when it is first asked for; the public one ends in `.pub`."""
        path = self.root / f"key-{name}"
        if not path.exists():
            command = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", name, "-f", str(path)]
            subprocess.run(command, check=True, stdin=subprocess.DEVNULL)
        return path

    def sign(self, name: str, fields: Mapping[str, Any]) -> str:
        """The signature of a claim by the key of that name, as `ssh-keygen` makes it."""
        signed = {k: v for k, v in fields.items() if k not in ("signature", "outcome")}
        text = json.dumps(signed, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()
        command = ["ssh-keygen", "-q", "-Y", "sign", "-n", "gatekeeper-claim", "-f", str(self.key(name))]
        return subprocess.run(command, input=text, capture_output=True, check=True).stdout.decode()

    def allow_signers(self, keys: Mapping[str, str]) -> None:
        """Write the allowed signers: each principal and the name of its key."""
        public = {
            who: self.key(name).with_suffix(".pub").read_text().split()[:2] for who, name in keys.items()
        }
        self.write(
            ".github/allowed_signers", "".join(f"{who} {' '.join(key)}\n" for who, key in public.items())
        )

    # -- running -----------------------------------------------------------

    def call(self, *args: str, env: Mapping[str, str] | None = None) -> Ran:
        """Run `gatekeeper` on the repository with these arguments, in this process."""
        return in_process(["--repo", str(self.path), *args], {**self.env, **(env or {})})

    def run(self, *args: str, env: Mapping[str, str] | None = None, python: Sequence[str] = ()) -> Ran:
        """Run `gatekeeper` with these arguments as a process of its own, in the repository."""
        return as_process(args, {**self.env, **(env or {})}, self.path, python)

    def check_args(self, *args: str, now: str = NOW) -> list[str]:
        """The arguments of `check` on the branch, with a JSON report."""
        which = ["--base", "main", "--head", self.branch, "--branch", self.branch]
        return ["--now", now, "check", *which, "--format", "json", *args]

    def check(self, *args: str, now: str = NOW) -> Ran:
        """Judge the branch, in this process. Exit status and report are held against each other."""
        done = self.call(*self.check_args(*args, now=now))
        sound(done)
        return done

    def lint(self, *args: str, now: str = NOW) -> Ran:
        """Lint the working tree, in this process. Exit status and report are held against each other."""
        done = self.call("--now", now, "lint", "--format", "json", *args)
        sound(done)
        return done


def play(spec: Spec, root: Path) -> Sample:
    """Make the repository that a description describes, its branch checked out."""
    sample = Sample(root, spec.get("start", "shop"))
    for step in listed(spec.get("base")):
        sample.edit(step)
    sample.commit("base")
    sample.start_branch(spec.get("branch", BRANCH))
    for step in listed(spec.get("edits")):
        sample.edit(step)
    sample.commit("work")
    for item in listed(spec.get("claims")):
        for kind, what in item.items():
            sample.claim(kind, what)
    return sample


def _each(method: Callable[..., None]) -> Callable[[Sample, Any], None]:
    """A verb whose argument is a mapping: the method is called for each pair."""

    def verb(sample: Sample, pairs: Mapping[str, Any]) -> None:
        for name, value in pairs.items():
            method(sample, name, value)

    return verb


def _delete(sample: Sample, paths: str | Sequence[str]) -> None:
    for path in [paths] if isinstance(paths, str) else paths:
        sample.delete(path)


VERBS: Mapping[str, Callable[[Sample, Any], object]] = {
    "write": _each(Sample.write),
    "append": _each(Sample.append),
    "delete": _delete,
    "move": _each(Sample.move),
    "copy": _each(Sample.copy),
    "replace": _each(Sample.replace),
    "symlink": _each(Sample.symlink),
    "gitlink": _each(Sample.gitlink),
    "chmod": _each(Sample.chmod),
    "finish": Sample.finish,
    "commit": Sample.commit,
    "merge-base": Sample.merge_base,
    "on-base": Sample.on_base,
    "clone": Sample.clone,
    "allow-signers": Sample.allow_signers,
    "git": lambda sample, line: sample.git(*shlex.split(line)),
}
"""What an edit can do. The argument is a mapping for those that take several paths."""
