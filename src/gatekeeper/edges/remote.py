"""A remote, as far as the gate needs it: the base branch's tip, one task's claims, and no more history than decides.

Everything is fetched into a `View`, never into the user's repository. Where the view
lies over a whole clone, only what is new comes over. Where it starts empty (the
action), `bring` and `reach` fetch the commits between base and head and as far back as
the claim's base commit, without blobs (see `edges/between.py`); nothing here guesses at a depth.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from gatekeeper.claims import refs
from gatekeeper.edges import between
from gatekeeper.errors import HistoryMissing, RemoteUnreachable

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from gatekeeper.edges.git import Done, View

PATIENCE = 600.0
"""Seconds that one fetch may take before it counts as unreachable."""

HINT = "Look at the network, the remote's URL and the token; --no-fetch judges by what is here."
BASE, HEAD = "refs/gatekeeper/base", "refs/gatekeeper/head"
DEFAULT = "refs/gatekeeper/default"
_NO_BLOBS, _NO_TREES = "--filter=blob:none", "--filter=tree:0"
_QUIET = ("--quiet", "--no-tags", "--no-write-fetch-head", "--no-auto-gc", "--no-recurse-submodules")
_NOT_THERE = (b"not our ref", b"couldn't find remote ref", b"unadvertised object")
_OID = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_USER = re.compile(r"([a-z][a-z0-9+.-]*://)?[^\s'\"`]*@", re.IGNORECASE)
_QUERY = re.compile(r"(://[^\s'\"`?#]*)[?#][^\s'\"`]*")
_ADDRESS = re.compile(r"remote\..*\.((?:push)?url|proxy)|http\.(.*\.)?proxy|core\.gitproxy", re.DOTALL)
_HEADER = re.compile(r"http\.(.*\.)?extraheader", re.DOTALL)
_REPLACED = re.compile(r"url\.(?P<by>.*)\.(?:push)?insteadof", re.DOTALL)
_PLAIN = 4
"""Letters of a credential that is so short that it is only looked for as a word of its own."""

ROUNDS = 4
"""How often the missing sides of merges are fetched, before all of history is."""

ASKS = 2
"""Claim base commits that the remote is asked about one by one; are there more, all of base's commits are fetched."""


_Fetch = tuple[tuple[str, ...], bytes]


class Remote:
    """The remote called `name`, reached by the settings of `view`; `hint` is what to do where that fails."""

    def __init__(self, view: View, name: str, *, hint: str = HINT) -> None:
        self.view = view
        self.name = name
        self.hint = hint
        self._roots: set[str] = set()
        self._along: _Fetch | None = None
        self._went: tuple[_Fetch, Done] | None = None

    def expect(self, *args: str, stdin: bytes = b"") -> None:
        """Such a fetch will be asked for: it goes along with the next one, at the same time."""
        self._along = (args, stdin)

    def fetch(self, *args: str, stdin: bytes = b"") -> Done:
        """Run git fetch with these options and refspecs; how it ended is the caller's to judge."""
        if self._went is not None and self._went[0] == (args, stdin):
            done, self._went = self._went[1], None  # once: whoever asks again wants to know what is there now
            return done
        along, self._along = self._along, None
        beside = self.view.start(*self._command(along[0]), stdin=along[1]) if along else None
        done = self.view.git(*self._command(args), stdin=stdin, timeout=PATIENCE)
        if along and beside:
            self._went = (along, beside.done(PATIENCE))
        self.view.pristine()
        self.view.reopen()
        return done

    def _command(self, args: Sequence[str]) -> list[str]:
        options = [a for a in args if a.startswith("--")]
        refspecs = [a for a in args if not a.startswith("--")]
        return ["fetch", *_QUIET, *options, "--", self.name, *refspecs]

    def _aside(self, *args: str, stdin: bytes = b"") -> Done:
        """Fetch objects by name into an empty view, and take them over.

        Whoever says that it has a commit is taken to have its blobs as well, and is not sent them.
        """
        with self.view.beside() as side:
            done = self._on(side).fetch(*args, stdin=stdin)
            if not done.status:
                between.adopt(self.view, side)
            return done

    def _on(self, side: View) -> Remote:
        """The same remote, for another view."""
        return Remote(side, self.name, hint=self.hint)

    def _must(self, done: Done, what: str) -> None:
        if done.status:
            why = complaint(done, self.view.env)
            name = redacted(repr(self.name), ())
            raise RemoteUnreachable(f"{what} could not be fetched from remote {name}: {why}", self.hint)

    def default_branch(self) -> str | None:
        """The branch that the remote's HEAD names."""
        done = self.view.git("ls-remote", "--quiet", "--symref", "--", self.name, "HEAD", timeout=PATIENCE)
        self._must(done, "the default branch")
        found = re.search(rb"^ref: refs/heads/(.+)\tHEAD$", done.out, re.MULTILINE)
        return found[1].decode("utf-8", "surrogateescape") if found else None

    def default_tip(self, branch: str) -> str | None:
        """The tip of `branch` over there, fetched, if the remote's HEAD stands there as well; else None.

        What this clone last heard of the default branch is good for as long as that. Asked by a fetch of
        the two, since `ls-remote` is sent every ref there is.
        """
        if self.fetch(f"+HEAD:{DEFAULT}", f"+refs/heads/{branch}:{BASE}").status:
            return None
        stands = {name: oid for name, oid, _ in self.view.refs([DEFAULT, BASE])}
        return stands[BASE] if stands.get(DEFAULT) == stands.get(BASE) else None

    def tip(self, branch: str, *, shallow: bool = False) -> str | None:
        """The commit at the tip of `branch` over there, fetched; None where it has no such branch.

        With `shallow` its history is left behind, and so are all blobs.
        """
        thin = ["--depth=1", _NO_BLOBS] if shallow else []
        done = self.fetch(*thin, f"+refs/heads/{branch}:{BASE}")
        if done.status and b"couldn't find remote ref" in done.err:
            return None
        self._must(done, f"branch {branch!r}")
        return self._stands(BASE)

    def peek(self, branch: str) -> str | None:
        """The commit at the tip of `branch` over there, not fetched; None where it has no such branch."""
        ref = f"refs/heads/{branch}"
        done = self.view.git("ls-remote", "--quiet", "--", self.name, ref, timeout=PATIENCE)
        self._must(done, f"branch {branch!r}")
        rows = (line.split("\t") for line in done.out.decode("utf-8", "surrogateescape").split("\n"))
        return next((oid for oid, *names in rows if names == [ref]), None)

    def commit(self, oid: str) -> str:
        """Fetch a commit as base, by its name, without history and blobs.

        Raises RemoteUnreachable where the remote does not have it.
        """
        self._must(self.fetch("--depth=1", _NO_BLOBS, f"+{oid}:{BASE}"), f"commit {oid[:12]}")
        return self._stands(BASE)

    def history(self, oid: str) -> None:
        """Fetch a commit and all that is behind it, without blobs. Raises RemoteUnreachable where it is not there."""
        self._must(self.fetch(_NO_BLOBS, f"+{oid}:{BASE}"), f"commit {oid[:12]}")

    def _stands(self, ref: str) -> str:
        return next(oid for name, oid, _ in self.view.refs([ref]) if name == ref)

    def claims(self, task: str, locks: Iterable[str]) -> None:
        """Fetch the claim refs of one task, the refs of its locks, and the archive's commit if there is one.

        A pattern with a star finds nothing quietly where a full name that is not there would be an error.
        """
        wanted = [
            f"{refs.claim_ref(task)}*",
            f"{refs.log_prefix(task).rstrip('/')}*",
            f"{refs.ARCHIVE}*",
            *(f"{refs.lock_ref(key)}*" for key in locks),
        ]
        done = self.fetch(_NO_TREES, *(f"+{ref}:{ref}" for ref in dict.fromkeys(wanted)))
        self._must(done, f"the claims of {task}")

    def objects(self, oids: Sequence[str]) -> None:
        """Fetch objects by name, in one go; what the remote does not have is an error."""
        if oids:
            names = "".join(f"{oid}\n" for oid in oids).encode()
            done = self._aside(_NO_BLOBS, "--stdin", stdin=names)
            self._must(done, f"{len(oids)} objects")

    def missing(self, oids: Iterable[str]) -> None:
        """Fetch those of the objects that are not here, in one go."""
        kinds = self.view.objects.kinds(dict.fromkeys(oids))
        self.objects([oid for oid, (kind, _) in kinds.items() if kind == "missing"])

    def lacking(self, oids: Iterable[str]) -> None:
        """As `missing`, in a partial clone, whose own reader would fetch them one by one."""
        names = "".join(f"{oid}\n" for oid in oids).encode()
        found = self.view.git("cat-file", "--batch-check", stdin=names).out.splitlines()
        self.objects([line.split()[0].decode() for line in found if line.endswith(b" missing")])

    def bring(self, base: str, head: str) -> None:
        """Into a view that holds `base` alone: `head`, its own commits, and base's history back to where they meet.

        Raises RemoteUnreachable where the remote has no such head.
        """
        if head == base:
            return
        forks = self._own(base, head)
        self._must(self.view.git("update-ref", HEAD, head), f"head {head[:12]}")
        self.missing([self.view.objects.commit(head).tree])
        self._roots |= {base, head, *forks}
        self._join(base, forks)
        self._settle()
        self.view.joined = True
        if self.view.git("merge-base", "--all", base, head).out.count(b"\n") > 1:
            self._whole(base, head)  # a criss-cross: git merges the merge bases first, and needs theirs

    def _own(self, base: str, head: str) -> list[str]:
        """Fetch the commits that head has and base has not; those at which they hang on base's history."""
        with between.holding(self.view, base) as side:
            done = self._on(side).fetch(_NO_TREES, f"--negotiation-tip={base}", head)
            if not done.status:
                between.adopt(self.view, side)
        if done.status:
            if not any(said in done.err for said in between.NOTHING_SENT):
                self._must(done, f"head {head[:12]}")
            self._one([head], f"head {head[:12]}")
            return [head]  # base holds it already
        known = between.ancestry(self.view.objects, [head], stop=base)
        return [oid for oid, parents in known.items() if parents is None or oid == base]

    def _join(self, base: str, forks: Sequence[str]) -> None:
        """Fetch base's history back to every one of `forks`, all of which are in it.

        What base has and the oldest fork has not holds every other fork, or that fork is behind the
        oldest: dates may lie, and then it is the next to be asked about.
        """
        kinds = self.view.objects.kinds(forks)
        self._one([oid for oid, (kind, _) in kinds.items() if kind == "missing"], "the fork point")
        apart = {oid for oid in forks if oid != base}
        while apart:
            lowest = min(apart, key=lambda oid: (self.view.objects.commit(oid).committed, oid))
            self._fill(base, lowest)
            reached = between.ancestry(self.view.objects, [base])
            if lowest not in reached:
                raise HistoryMissing(
                    f"commit {lowest[:12]} should be in base's history, and is not",
                    "The base branch was moved meanwhile: run the check again.",
                )
            apart -= reached.keys()

    def _fill(self, base: str, commit: str) -> None:
        """Fetch what base has and `commit` has not, with trees."""
        with between.holding(self.view, commit) as side:
            done = self._on(side).fetch(_NO_BLOBS, f"--negotiation-tip={commit}", base)
            self._must(done, "base's history")
            between.adopt(self.view, side)

    def reach(self, base: str, commit: str) -> bool:
        """Whether `commit` is in base's history, which is fetched that far back if it is."""
        if len(commit) != len(base) or not _OID.fullmatch(commit):
            return False
        if self.view.objects.kinds([commit])[commit][0] == "missing":
            done = self._aside("--depth=1", _NO_BLOBS, commit)
            if done.status and any(said in done.err for said in _NOT_THERE):
                return False  # the remote, which has all of base, does not have it
            self._must(done, f"commit {commit[:12]}")
        if self.view.objects.kinds([commit])[commit][0] != "commit":
            return False
        if not self.view.boundary():
            return self.view.is_ancestor(commit, base)  # all of base's history is here
        self._roots |= {base, commit}
        if commit not in between.ancestry(self.view.objects, [base]):
            if not self._behind(base, commit):
                self._settle()
                return False
            self._fill(base, commit)
        self._settle()
        return True

    def reach_all(self, base: str, commits: Iterable[str]) -> dict[str, bool]:
        """As `reach`, of many commits; best the one first that is likely to lie furthest back.

        However many there are, the remote is asked a fixed number of times: what one `reach` fetches
        answers for all that lie between, and after ASKS of them base's commits are fetched as a whole.
        """
        asked = list(dict.fromkeys(commits))
        rooted = self._known(base, [c for c in asked if len(c) == len(base) and _OID.fullmatch(c)])
        todo = [c for c, is_rooted in rooted.items() if not is_rooted]
        for _ in range(ASKS):
            if not todo or not self.view.boundary():
                break
            first = todo.pop(0)
            rooted |= {first: self.reach(base, first)} | self._known(base, todo)
            todo = [c for c in todo if not rooted[c]]
        rooted |= dict.fromkeys(self._sifted(base, todo), True)
        return {commit: rooted.get(commit, False) for commit in asked}

    def _known(self, base: str, commits: Sequence[str]) -> dict[str, bool]:
        """Which of `commits` are in as much of base's history as is here."""
        here = between.ancestry(self.view.objects, [base]) if commits else {}
        return {commit: here.get(commit) is not None for commit in commits}

    def _sifted(self, base: str, commits: Sequence[str]) -> set[str]:
        """Those of `commits` that are in base's history, which is fetched that far back.

        Asked by name, one commit that the remote has not would spoil the answer for all. So base's
        commits come over, without trees, into a view of their own, and are looked through there.
        """
        if not commits or not self.view.boundary():
            return set()
        with self.view.beside() as side:
            self._must(self._on(side).fetch(_NO_TREES, base), "base's history")
            listed = side.git("rev-list", "--topo-order", base)
        if listed.status:
            raise HistoryMissing(
                f"base's history could not be followed: {listed.complaint}", "Run the check again."
            )
        wanted = set(commits)
        found = [oid for oid in listed.out.decode().split() if oid in wanted]
        if found:  # none of the others is behind the last one: whatever base has beside it holds them all
            self._one(found[-1:], "a claim's base commit")
            self._fill(base, found[-1])
            self._roots |= {base, found[-1]}
            self._settle()
        return set(found)

    def whole(self, base: str) -> None:
        """Fetch all of base's history, without blobs."""
        if self.view.boundary():
            self._roots.add(base)
            self._everything()

    def _behind(self, base: str, commit: str) -> bool:
        """Whether `commit` is behind base; looked up on commits alone, which are then let go."""
        with between.holding(self.view, commit) as side:
            done = self._on(side).fetch(_NO_TREES, f"--negotiation-tip={commit}", base)
            if done.status and any(said in done.err for said in between.NOTHING_SENT):
                return False  # it is the other way round
            self._must(done, "base's history")
            return commit in between.ancestry(side.objects, [base])

    def _one(self, oids: Sequence[str], what: str) -> None:
        """Fetch commits with their trees and without what is behind them."""
        if oids:
            self._must(self._aside("--depth=1", _NO_BLOBS, *oids), what)

    def _settle(self) -> None:
        """Tell git at which commits history ends here; a merge of which one side is missing gets that side's tip.

        That tip may be a side of another merge, which then has the other side missing.
        """
        for _ in range(ROUNDS):
            ends, torn = between.edges(between.ancestry(self.view.objects, sorted(self._roots)))
            if not torn:
                self.view.set_boundary(sorted(ends))
                return
            self._one(sorted(torn), "a merged branch")
        self._everything()

    def _everything(self) -> None:
        """Fetch all that is behind what was asked for, without blobs."""
        self._must(self._aside(_NO_BLOBS, *sorted(self._roots)), "the whole history")
        known = between.ancestry(self.view.objects, sorted(self._roots))
        if None in known.values():
            raise _cut_short()
        self.view.set_boundary(())

    def _whole(self, base: str, head: str) -> None:
        """Fetch all of both histories, without blobs."""
        if self.view.boundary():
            done = self.fetch("--unshallow", _NO_BLOBS, f"+{base}:{BASE}", f"+{head}:{HEAD}")
            self._must(done, "the whole history")
        if self.view.boundary():
            raise _cut_short()


def _cut_short() -> HistoryMissing:
    return HistoryMissing("the remote's own history is cut short", "Use a remote with the whole history.")


def complaint(done: Done, environ: Mapping[str, str]) -> str:
    """As `Done.complaint`, without what the settings in `environ` (as git is given them) say of credentials.

    They are taken out before anything is cut off: half a secret would not be known for one.
    """
    text = redacted(done.err.decode("utf-8", "replace"), secrets(_given(environ)))
    return done._replace(err=text.encode("utf-8", "replace")).complaint


def redacted(text: str, known: Iterable[str]) -> str:
    """Text in which `***` stands for the strings of `known`, and for user and query of whatever reads as a URL."""
    for secret in sorted(known, key=lambda word: (-len(word), word)):
        edge = r"(?<![^\W_])", r"(?![^\W_])"
        before, after = edge if len(secret) < _PLAIN else ("", "")
        text = re.sub(before + re.escape(secret) + after, "***", text, flags=re.IGNORECASE)
    return _QUERY.sub(r"\1?***", _USER.sub(r"\1***@", text))


def secrets(settings: Sequence[tuple[str, str]]) -> set[str]:
    """Whatever in the settings by which remotes are reached may be a credential, as written and percent-decoded.

    That is user, password and query of every URL, as it is configured and as `insteadOf` makes it,
    and what headers hold; together, and in the parts that git's messages may take them apart into.
    """
    from urllib.parse import unquote  # noqa: PLC0415 -- only a message needs it

    replaced = [(by["by"], value) for key, value in settings if (by := _REPLACED.fullmatch(key))]
    urls = [value for key, value in settings if _ADDRESS.fullmatch(key)]
    made = [by + url.removeprefix(old) for by, old in replaced for url in urls if url.startswith(old)]
    keyed = [key.partition(".")[2].rpartition(".")[0] for key, _ in settings if key.startswith("http.")]
    parts = {part for url in (*urls, *made, *keyed, *(by for by, _ in replaced)) for part in _parts(url)}
    for key, value in settings:
        if _HEADER.fullmatch(key):
            content = value.partition(":")[2].strip()
            parts |= {content, *content.split()[-1:]}
    parts |= {unquote(part) for part in parts}
    return {part for part in parts if part.strip("/:@*") and part.lower() != "git"}


def _parts(url: str) -> Iterator[str]:
    """User, password and query of a URL, and the pieces of them.

    An `@` or `?` may stand in a password that nobody percent-encoded: whatever comes before the
    last of the one, and after the first of the other, is taken for secret.
    """
    rest = url.partition("://")[2] or url
    user, at, place = rest.rpartition("@")
    if at:
        yield from (user, *user.split(":", 1), *re.split(r"[:/?#@]", user))
    for text in (rest, place):
        _, mark, query = _split(text, "?#")
        if mark:
            yield query
            yield from (word.partition("=")[2] or word for word in re.split(r"[&;?#]", query))


def _split(text: str, marks: str) -> tuple[str, str, str]:
    """As `str.partition`, at the first of several marks."""
    found = re.search(f"[{re.escape(marks)}]", text)
    return (text[: found.start()], found[0], text[found.end() :]) if found else (text, "", "")


def _given(environ: Mapping[str, str]) -> list[tuple[str, str]]:
    """The settings that git is given in its environment."""
    count = int(environ.get("GIT_CONFIG_COUNT", "0"))
    return [(environ[f"GIT_CONFIG_KEY_{n}"], environ[f"GIT_CONFIG_VALUE_{n}"]) for n in range(count)]
