"""GK201 to GK264: what can be said of one task file by looking at it alone.

Reading a file (`taskfile.py`) brings the defects up; each rule here gives out those of its code.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gatekeeper.model import Severity
from gatekeeper.rules.base import Found, Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gatekeeper.boards.board import Board


def _defects(board: Board, code: str) -> Iterator[Found]:
    for task in board.tasks:
        for defect in task.defects:
            if defect.code == code:
                yield Found(defect.message, path=task.path, line=defect.line, help=defect.help)


def front_matter_unreadable(board: Board) -> Iterator[Found]:
    """A task file is a regular UTF-8 file whose front matter is one strict YAML mapping between two `---` lines.

    Why: what two readers read differently lets one of them be fooled: anchors, tags and odd line ends are errors.

    Fails: the closing `---` is missing, or `title: &t Retry` sets an anchor.

    Mend: write the header as plain `name: value` lines; quote values that begin with `*`, `&`, `@`, `!` or `%`.
    """
    yield from _defects(board, "GK201")


def duplicate_key(board: Board) -> Iterator[Found]:
    """No key stands twice in a mapping of the header.

    Why: most readers let the last one win, and some the first: a second `authority` could hide behind the first.

    Fails: `classification: docs` and, a line below, `classification: feature`.

    Mend: keep one of the two.
    """
    yield from _defects(board, "GK202")


def field_missing(board: Board) -> Iterator[Found]:
    """The header holds `id`, `status`, `title`, `classification` and `authority`.

    Why: without them nobody can say which task this is, or what it may change.

    Fails: the `title:` line is left out.

    Mend: add the field; `gatekeeper new` writes a file that has them all.
    """
    yield from _defects(board, "GK203")


def field_invalid(board: Board) -> Iterator[Found]:
    """Every field of the header holds a value of its kind.

    Why: a list that is a word, or a date that is none, is read as nothing by whoever relies on it.

    Fails: `locks: schema`, which is no list.

    Mend: write what the message asks for, such as `locks: [schema]`.
    """
    yield from _defects(board, "GK204")


def field_unknown(board: Board) -> Iterator[Found]:
    """The header holds no field that a task does not have.

    Why: a misspelt `lock:` locks nothing.

    Fails: `lock: [schema]`.

    Mend: spell the field as it is meant, or move the text into the body.
    """
    yield from _defects(board, "GK205")


def lifecycle_disagrees(board: Board) -> Iterator[Found]:
    """The header's `status` is the folder that the file stands in.

    Why: the state is written twice so that a half-made move shows.

    Fails: a file in done/ says `status: queued`.

    Mend: move file and header together: gatekeeper done, fail, block or cancel.
    """
    yield from _defects(board, "GK211")


def classification_unknown(board: Board) -> Iterator[Found]:
    """The `classification` is one of the closed set that the policy names.

    Why: a set that grows by spelling mistakes sorts nothing.

    Fails: `classification: chore`.

    Mend: use one of the set, or have an operator extend `classifications` in the policy.
    """
    yield from _defects(board, "GK213")


def id_malformed(board: Board) -> Iterator[Found]:
    """An `id` is `T-YYYYMMDD-` and eight lower-case hex digits.

    Why: ids are ref names and file names, and are made without asking anyone.

    Fails: `id: T-20260814-ABCDEF02`.

    Mend: take a fresh id from gatekeeper new.
    """
    yield from _defects(board, "GK221")


def id_date_impossible(board: Board) -> Iterator[Found]:
    """The day in an `id` is a real one, not after today, and `created`, where it is there, is that day.

    Why: the date says when the task was made; one in the future was made up.

    Fails: `id: T-20260230-abcdef02`.

    Mend: take a fresh id, or set `created` to the id's day.
    """
    yield from _defects(board, "GK222")


def id_filename_differs(board: Board) -> Iterator[Found]:
    """The file is called `<id>.md`, or `<id>-` and a slug.

    Why: who looks for a task looks for its name.

    Fails: `T-20260814-abcdef77.md` holds `id: T-20260814-abcdef02`.

    Mend: rename the file.
    """
    yield from _defects(board, "GK223")


def authority_invalid(board: Board) -> Iterator[Found]:
    """Every authority pattern is a `:(top,glob)` pathspec from the root, and holds something.

    A leading `/`, `:` or `!`, an empty pattern, `.` and `..` segments hold nothing, or something else than they say.

    Why: a pattern that matches nothing, or means something else to git, guards nothing.

    Fails: `paths: ['/docs/', '!docs']`.

    Mend: write paths from the repository's root, such as `docs/` or `src/**/*.py`.
    """
    yield from _defects(board, "GK251")


def failure_unclassified(board: Board) -> Iterator[Found]:
    """A task in failed/ says of which kind its failure is.

    Why: only an invalid premise is regenerated; the other kinds are mended elsewhere.

    Fails: a file in failed/ without `failure:`.

    Mend: add one of the five kinds, such as `failure: spec-gap`.
    """
    yield from _defects(board, "GK263")


def reason_missing(board: Board) -> Iterator[Found]:
    """A task in blocked/ or cancelled/ says why, in one line.

    Why: whoever finds it later has to know whether it can go on.

    Fails: a file in blocked/ without `reason:`.

    Mend: add `reason: ` and one line.
    """
    yield from _defects(board, "GK264")


RULES: tuple[Rule[Board], ...] = (
    Rule("GK201", "front-matter-unreadable", front_matter_unreadable, one_file=True),
    Rule("GK202", "duplicate-key", duplicate_key, one_file=True),
    Rule("GK203", "field-missing", field_missing, one_file=True),
    Rule("GK204", "field-invalid", field_invalid, one_file=True),
    Rule("GK205", "field-unknown", field_unknown, Severity.WARNING, adjustable=True, one_file=True),
    Rule("GK211", "lifecycle-disagrees", lifecycle_disagrees, one_file=True),
    Rule("GK213", "classification-unknown", classification_unknown, one_file=True),
    Rule("GK221", "id-malformed", id_malformed, one_file=True),
    Rule("GK222", "id-date-impossible", id_date_impossible, one_file=True),
    Rule("GK223", "id-filename-differs", id_filename_differs, one_file=True),
    Rule("GK251", "authority-invalid", authority_invalid, one_file=True),
    Rule("GK263", "failure-unclassified", failure_unclassified, one_file=True),
    Rule("GK264", "reason-missing", reason_missing, one_file=True),
)
