"""The policy: what a repository has decided about its gate, read from `.github/gatekeeper.yml`.

The classes here are the one definition (CONTRACT 6): `parse_policy` reads by them, the
defaults are theirs, and `json_schema` and `rows` say the same to editors and readers. Every key
that is not known is an error at every level, so that a misspelt safeguard is never a silent gap.
"""

from collections.abc import (
    Collection,
    Mapping,
)
from datetime import date
from typing import Annotated, Any, NamedTuple

from gatekeeper import header, scope
from gatekeeper.errors import PolicyInvalid
from gatekeeper.model import NOTHING
from gatekeeper.options import (
    Day,
    Flag,
    ListOf,
    Maybe,
    Named,
    OneOf,
    UnfitError,
    Whole,
    Words,
    nearest,
)
from gatekeeper.settings import Clash, Row, Setting, Table
from gatekeeper.text import quoted

POLICY_PATH = ".github/gatekeeper.yml"
"""Where the policy stands in a tree."""

LAYOUTS = ("swarm",)
"""The board layouts that this version understands."""

LATER = ("inbox", "ownership", "task-queue", "handovers")
"""Layouts that have a name already, and that this version does not understand."""

OPERATORS = "@operators"
"""In a maintenance entry's `authors`: everyone who administers the repository, or `operators`."""

_LOGIN = r"[A-Za-z0-9][A-Za-z0-9_-]{0,99}(\[bot\])?"
_TEAM = r"@[A-Za-z0-9][A-Za-z0-9_-]{0,99}/[A-Za-z0-9_.-]{1,255}"
_SEGMENTS = r"(?![/:!])(?!(.*/)?\.\.?(/|$))"

_PATTERNS = ListOf(
    Words("a path pattern from the repository's root", rf"{_SEGMENTS}[\s\S]+", scope.invalid),
    "path patterns from the repository's root",
)
_SOME_PATTERNS = ListOf(_PATTERNS.kind, "path patterns from the repository's root", least=1)
_CAP = Whole(0, 1_000_000)


class _Layout(OneOf):
    """A layout that this version supports; of the others it says so."""

    def read(self, node: header.Node) -> str:
        """See `Kind.read`."""
        if isinstance(node, header.Text) and node.value in LATER:
            what = f"is {node.value}, which this version of gatekeeper does not support"
            raise UnfitError(node.line, what, f"write {self.wanted}, or use a version that does")
        return super().read(node)


class Maintenance(NamedTuple):
    """Who may change what without a task: logins, `@org/team` or `@operators`, and path patterns."""

    authors: Annotated[
        tuple[str, ...],
        Setting(
            ListOf(
                Words("a login, @org/team or @operators", rf"{_LOGIN}|{_TEAM}|{OPERATORS}"),
                "logins, @org/team or @operators",
                least=1,
            ),
            "Who may: logins, `@org/team`, or `@operators` for whoever is an operator.",
        ),
    ]
    paths: Annotated[
        tuple[str, ...],
        Setting(
            _SOME_PATTERNS,
            "What they may change. A protected path only by a pattern that begins with its protected "
            "folder, or is that very path.",
        ),
    ]


class Caps(NamedTuple):
    """How many live claims of a kind there may be at once; 0 is no cap."""

    implementation: Annotated[int, Setting(_CAP, "Claims on tasks of active milestones.")] = 3
    integration: Annotated[int, Setting(_CAP, "Claims on milestones' integration tasks.")] = 1
    planning: Annotated[int, Setting(_CAP, "Claims on planning tasks.")] = 1
    amendment: Annotated[int, Setting(_CAP, "Claims on amendments of the plan.")] = 1


class Lease(NamedTuple):
    """How long a claim stands before it has to be renewed."""

    minutes: Annotated[int, Setting(Whole(1, 120), "Minutes until a new claim expires.")] = 30


class Audit(NamedTuple):
    """What `audit` looks at."""

    since: Annotated[
        date | None,
        Setting(Maybe(Day()), "The first day that counts; null is the day of the first claim ever made."),
    ] = None


class Triage(NamedTuple):
    """How a labelled issue is turned into a proposal or a task."""

    label: Annotated[
        str, Setting(Words("a label's name", r"\S(.{0,98}\S)?"), "The label that asks for it.")
    ] = "agent-triage"
    classifier: Annotated[
        str,
        Setting(OneOf("builtin", "claude", "codex", "command"), "What classifies: built in, or a program."),
    ] = "builtin"
    set_label: Annotated[bool, Setting(Flag(), "Whether the outcome is put on the issue as a label.")] = False
    command: Annotated[
        tuple[str, ...] | None,
        Setting(
            Maybe(ListOf(Words("an argument", r"[\s\S]+"), "arguments, the program first", least=1)),
            "The program that `classifier: command` runs, one item an argument; no shell is involved.",
        ),
    ] = None
    env: Annotated[
        tuple[str, ...],
        Setting(
            ListOf(Words("a variable's name", r"[A-Za-z_][A-Za-z0-9_]*"), "variables' names"),
            "Environment variables that the program may see, beside PATH, HOME and the like.",
        ),
    ] = ()
    timeout: Annotated[int, Setting(Whole(1, 86_400), "Seconds that the program may take.")] = 300


def _triage_clash(triage: Triage) -> Clash | None:
    """A classifier that is a command needs one."""
    if triage.classifier == "command" and triage.command is None:
        return Clash("classifier", "is command, but there is no triage.command", "add triage.command")
    return None


_TRIAGE_RULE: dict[str, Any] = {
    "if": {"properties": {"classifier": {"const": "command"}}, "required": ["classifier"]},
    "then": {"properties": {"command": {"type": "array"}}, "required": ["command"]},
}
_CODES = Words("codes (GK134) to error, warning, notice or off", r"GK[0-9]{3}")
_FOLDER = Words("a folder from the repository's root", rf"{_SEGMENTS}(?!.*//)[^*?\[\\]+")


class Policy(NamedTuple):
    """A repository's policy. `Policy()` is what holds where there is no file.

    `operators` is None where the file names none: then whoever administers the repository is one.
    `severity` maps codes to `error`, `warning`, `notice` or `off`, for the codes named alone.
    """

    version: Annotated[int, Setting(Whole(1, 1), "The version of this file's format.", required=True)] = 1
    enforce: Annotated[
        bool,
        Setting(Flag(), "false: verdict and findings stay, but a failed check exits 0. For trying it out."),
    ] = True
    layout: Annotated[str, Setting(_Layout(*LAYOUTS), "How the board is kept.")] = "swarm"
    classifications: Annotated[
        tuple[str, ...],
        Setting(ListOf(Words("a word"), "words", least=1), "What a task's `classification` may be."),
    ] = ("feature", "bug-fix", "simplification", "architecture", "process", "testing", "docs")
    operators: Annotated[
        tuple[str, ...] | None,
        Setting(
            ListOf(Words("a login or @org/team", rf"{_LOGIN}|{_TEAM}"), "logins or @org/team", least=1),
            "Who may plan, revert and maintain. Without it: whoever administers the repository.",
        ),
    ] = None
    evidence: Annotated[
        str,
        Setting(OneOf("optional", "required"), "Whether a finished task must show evidence (GK135)."),
    ] = "optional"
    protected: Annotated[
        tuple[str, ...],
        Setting(_PATTERNS, "Paths in scope only where an authority names that very path. Case is ignored."),
    ] = (".github/**", ".agents/**", ".gitmodules", ".gitattributes", "**/CODEOWNERS")
    always_allowed: Annotated[
        tuple[str, ...],
        Setting(_PATTERNS, "New files that any task may bring along."),
    ] = (".agents/proposals/*.md",)
    maintenance: Annotated[
        tuple[Maintenance, ...],
        Setting(ListOf(Table(Maintenance), "mappings of authors and paths"), "Changes that need no task."),
    ] = ()
    caps: Annotated[
        Caps, Setting(Table(Caps), "How many live claims of a kind there may be; 0 is no cap.")
    ] = Caps()
    lease: Annotated[Lease, Setting(Table(Lease), "How long claims stand.")] = Lease()
    retention_days: Annotated[
        int, Setting(Whole(1, 36_500), "Days that an ended task's file is kept on the board.")
    ] = 30
    audit: Annotated[Audit, Setting(Table(Audit), "What the audit looks at.")] = Audit()
    comment: Annotated[
        bool, Setting(Flag(), "Whether the verdict is a comment on the pull request, edited in place.")
    ] = False
    triage: Annotated[
        Triage, Setting(Table(Triage, _triage_clash, _TRIAGE_RULE), "How labelled issues are sorted.")
    ] = Triage()
    signatures: Annotated[
        str,
        Setting(
            OneOf("optional", "required"),
            "Whether claims must be signed, by keys in `.github/allowed_signers`.",
        ),
    ] = "optional"
    projects: Annotated[
        Mapping[str, str],
        Setting(Named(Words("a project's name"), _FOLDER, "projects to folders"), "Folders of projects."),
    ] = NOTHING
    severity: Annotated[
        Mapping[str, str],
        Setting(
            Named(
                _CODES, OneOf("error", "warning", "notice", "off"), "codes to error, warning, notice or off"
            ),
            "How much a finding weighs, for the codes that may be adjusted.",
        ),
    ] = NOTHING


DEFAULT = Policy()
"""The policy of a repository that has no file."""

_TABLE = Table(Policy)


def parse_policy(data: bytes, adjustable: Collection[str], known: Collection[str]) -> Policy:
    """The policy that the file's bytes hold.

    `adjustable` are the codes whose severity a policy may set, `known` all codes there are.
    Raises `PolicyInvalid`: one line that says what is wrong and where, its hint how to mend it,
    its `line` the line from 1.
    """
    try:
        root = _root(data)
        policy = _TABLE.read(root)
        _check_codes(root, adjustable, known)
    except UnfitError as why:
        what = f"{why.name or 'the policy'} {why.what}"
        raise _invalid(why.line, what, why.hint) from None
    return policy


def json_schema() -> dict[str, Any]:
    """The JSON Schema (draft 2020-12) of the policy file."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"The policy of gatekeeper, {POLICY_PATH}",
    } | _TABLE.schema()


def rows() -> tuple[Row, ...]:
    """Every setting with what it takes, its default and its meaning, for the docs."""
    return tuple(_TABLE.rows())


def _invalid(line: int, what: str, hint: str) -> PolicyInvalid:
    """The error of a file that can't be used, at a line."""
    error = PolicyInvalid(f"{POLICY_PATH}:{line}: {what}", hint)
    error.line = line
    return error


def _root(data: bytes) -> header.Map:
    """The file's one mapping. Raises `UnfitError`."""
    try:
        text = header.decode(data)
        if all(not line.strip() or line.lstrip().startswith("#") for line in text.splitlines()):
            raise UnfitError(
                1, "says nothing", "write `version: 1`, or delete the file: the defaults hold without it"
            )
        return header.read_mapping(text)
    except header.HeaderError as why:
        defect = why.defect
        raise UnfitError(
            defect.line or 1, f"can't be read: {defect.message}", defect.help or "write `version: 1`"
        ) from None


def _check_codes(root: header.Map, adjustable: Collection[str], known: Collection[str]) -> None:
    """Every code under `severity` is one that a policy may set. Raises `UnfitError`."""
    node = root.get("severity")
    for key, _ in node.items if isinstance(node, header.Map) else ():
        if key.value not in adjustable:
            raise _fixed(key, adjustable, known).inside("severity")


def _fixed(code: header.Text, adjustable: Collection[str], known: Collection[str]) -> UnfitError:
    """What to raise of a code whose severity no policy sets."""
    may = "the codes that may be set are " + ", ".join(sorted(adjustable))
    if code.value in known:
        return UnfitError(code.line, f"may not set {code.value}: how much it weighs is fixed", may)
    near = nearest(code.value, adjustable)
    return UnfitError(
        code.line,
        f"names {quoted(code.value)}, which is no code",
        f"did you mean {near}?" if near else may,
    )
