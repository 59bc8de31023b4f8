"""From a question about a board to a verdict: the board is read, and its rules are asked."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from gatekeeper import rules
from gatekeeper.edges import workingtree
from gatekeeper.edges.boardreader import compared, thoroughly, unwatched, whole
from gatekeeper.edges.linktree import folders, linker, of_files
from gatekeeper.edges.reader import Reader
from gatekeeper.errors import Refusal, RepositoryUnreadable
from gatekeeper.fixing import with_fields, with_links
from gatekeeper.gate import ask
from gatekeeper.linktargets import is_markdown
from gatekeeper.model import FOLDER, OPEN, Outcome, Severity, Tip, Verdict
from gatekeeper.question import Question
from gatekeeper.snapshot import POLICY_PATH
from gatekeeper.text import quoted, shown

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from datetime import datetime

    from gatekeeper.boards.board import Board
    from gatekeeper.edges.boardreader import Watch
    from gatekeeper.edges.git import Repository, View
    from gatekeeper.edges.reader import Entry
    from gatekeeper.edges.worktree import WorkTree
    from gatekeeper.linking import Case
    from gatekeeper.model import Finding

LINKS = ("GK241", "GK242")
ALWAYS = (b".agents", POLICY_PATH)
"""What is linted though git may be told to ignore it."""


class Asked(NamedTuple):
    """What is to be linted: a commit's tree (None: the working tree), beside a base, at or below some paths.

    Paths are bytes from the repository's root. With `links_only` the links of all Markdown files there.
    """

    tree: str | None = None
    base: str | None = None
    paths: tuple[bytes, ...] = ()
    links_only: bool = False


class Linted(NamedTuple):
    """The verdict, the board it is about, and links that can be mended in one way only."""

    verdict: Verdict
    board: Board
    cases: tuple[Case, ...] = ()


def lint(repository: Repository, view: View, now: datetime, asked: Asked, watch: Watch = unwatched) -> Linted:
    """The verdict on a board. Raises GatekeeperError for what can't be read."""
    head = _commit(repository, asked.tree, "--tree") if asked.tree is not None else None
    tree = view.objects.commit(head).tree if head else workingtree.written(repository, view, ALWAYS)
    commit = head or repository.resolve(["HEAD"]).get("HEAD")
    base = _commit(repository, asked.base, "--base") if asked.base is not None else None
    question = Question(Tip("", None), Tip("", None), now)
    reader = Reader(question, view, rules.Codes(), _fetcher(repository, view))
    return lint_tree(reader, tree, commit, asked, base, watch)


def lint_tree(
    reader: Reader, tree: str, commit: str | None, asked: Asked, base: str | None, watch: Watch = unwatched
) -> Linted:
    """The verdict on one tree's board; `commit` is whose history says how old things are, `base` a commit beside it."""
    _use_policy(reader, tree)
    _there(reader, tree, asked.paths)
    look = linker(reader, tree)
    if asked.links_only and asked.paths:
        files = dict.fromkeys(entry for path in asked.paths for entry in _markdown(reader, tree, path))
        board = reader.board(reader.plans(tree), (), ())._replace(links=of_files(reader, look, files))
    else:
        _whole_folders(reader, tree)
        board = whole(reader, tree, look, watch)
        board = board if asked.links_only else thoroughly(reader, board, tree, commit)
        board = _beside(reader, board, base, commit, tree) if base else board
    chosen = [rule for rule in rules.BOARD if not asked.links_only or rule.code in LINKS]
    found = [f for f in ask(chosen, board, board.policy) if _within(f, asked.paths)]
    return Linted(_verdict(found), board, tuple(case for case in look.cases if _at(case.path, asked.paths)))


def mend(worktree: WorkTree, found: Linted, asked: Asked) -> list[str]:
    """Mend in the working tree what has one right answer only; a line for each mend. Raises GatekeeperError."""
    said = []
    open_ = {task.path for task in found.board.tasks if task.state in OPEN and _at(task.path, asked.paths)}
    tasks = set() if asked.links_only else open_
    for path in sorted({*tasks, *(case.path for case in found.cases)}):
        try:
            held = worktree.read(path)
        except (FileNotFoundError, Refusal):  # outside a sparse checkout, or a link: there is nothing to mend
            continue
        data, mends = with_fields(path, held.data, found.board.today) if path in tasks else (held.data, [])
        data, more = with_links(data, [case for case in found.cases if case.path == path])
        if data != held.data:
            worktree.rewrite(held, data)
            said += [f"{shown(path)}: {line}" for line in mends + more]
    return said


def _verdict(found: Iterable[Finding]) -> Verdict:
    findings = tuple(sorted(found, key=lambda finding: finding.order))
    failed = any(finding.severity is Severity.ERROR for finding in findings)
    return Verdict(Outcome.FAIL if failed else Outcome.PASS, findings, command="lint")


def _fetcher(repository: Repository, view: View) -> Callable[[Iterable[str]], None] | None:
    """Brings into the view the blobs that a partial clone lacks, in one go; None where the clone is whole."""
    name = repository.promisor()
    if name is None:
        return None
    from gatekeeper.edges.remote import Remote  # noqa: PLC0415 -- few clones are partial

    return Remote(view, name, hint="Look at the network, the remote's URL and the token.").lacking


def _use_policy(reader: Reader, tree: str) -> None:
    data = reader.file(tree, POLICY_PATH)
    if data is not None:
        reader.use_policy(reader.parse_policy(data))


def _beside(reader: Reader, board: Board, base: str, head: str | None, tree: str) -> Board:
    """The board beside the one of a base, for ids that changed and tasks that are gone (GK225, GK226).

    What base got since the branch left it is none of the branch's doing: the commit that they share counts.
    Where history shows none, base as it is.
    """
    shared = reader.view.git("merge-base", base, head, lazy=True).out.split() if head else []
    commit = shared[0].decode() if shared else base
    base_tree = reader.view.objects.commit(commit).tree
    return compared(reader, board, whole(reader, base_tree, None), commit, base_tree, tree)


def _commit(repository: Repository, name: str, option: str) -> str:
    commit = repository.resolve([name]).get(name)
    if commit is None:
        raise RepositoryUnreadable(
            f"{option} {name!r} stands for no commit here", "Name a branch or a commit."
        )
    return commit


def _there(reader: Reader, tree: str, paths: Sequence[bytes]) -> None:
    """Raise RepositoryUnreadable for a path at which nothing stands: a misspelt one must not pass."""
    for path in paths:
        if reader.view.objects.entry(tree, path) is None and path not in folders(reader.layout):
            raise RepositoryUnreadable(
                f"git sees nothing at {quoted(shown(path))}",
                "Name files and folders that are there, and not ignored.",
            )


def _whole_folders(reader: Reader, tree: str) -> None:
    """Raise RepositoryUnreadable where something else stands in a folder's place: such a board can't be read."""
    for path in folders(reader.layout):
        found = reader.view.objects.entry(tree, path)
        if found is not None and found[0] != FOLDER:
            raise RepositoryUnreadable(
                f"{quoted(shown(path))} is a file, a symlink or another repository, and has to be a folder",
                "Put a real folder there.",
            )


def _markdown(reader: Reader, tree: str, path: bytes) -> Iterable[Entry]:
    """The Markdown files at or below a path."""
    entry = reader.view.objects.entry(tree, path)
    below = list(reader.view.objects.walk(tree, path))
    files = below or ([(path, *entry)] if entry else [])
    return [file for file in files if is_markdown(file[0].rpartition(b"/")[2])]


def _within(finding: Finding, paths: Sequence[bytes]) -> bool:
    """Whether a finding is about one of some paths, or below it; without any, all are."""
    return _at(finding.path or b"", paths)


def _at(at: bytes, paths: Sequence[bytes]) -> bool:
    """Whether a path is one of some paths, or below it; without any, all are."""
    return not paths or any(not path or at == path or at.startswith(path + b"/") for path in paths)
