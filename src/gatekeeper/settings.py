"""Named tuples as the one definition of a settings file.

A field's annotation carries its kind and its docs, its default is the class's own:

    class Lease(NamedTuple):
        minutes: Annotated[int, Setting(Whole(1, 120), "how long a claim stands")] = 30

`Table(Lease)` reads such a mapping from YAML nodes, says the same in JSON Schema and lists the
settings for the docs; so parser, defaults, schema and docs cannot drift apart.
"""

from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from typing import Any, NamedTuple, TypeVar, get_type_hints

from gatekeeper import header
from gatekeeper.header import Node
from gatekeeper.options import Kind, Maybe, Schema, UnfitError, nearest
from gatekeeper.text import quoted

T = TypeVar("T")


class Setting(NamedTuple):
    """What stands in the annotation of a settings class's field: its kind, and a sentence of docs.

    A `required` one must stand in the file, whatever default the class has for its own use.
    """

    kind: Kind[Any]
    doc: str
    required: bool = False


class Row(NamedTuple):
    """One setting as the docs list it: dotted name, what it takes, default (JSON values), meaning."""

    name: str
    takes: str
    default: object
    required: bool
    doc: str


class Clash(NamedTuple):
    """Two settings of one table that do not go together: the name to blame, what, how to mend it."""

    name: str
    what: str
    hint: str


class Table(Kind[T]):
    """A mapping with known keys, read into the named tuple `made`.

    `clash` looks at a read value for settings that contradict each other; `rule` is a fragment
    that says the same in JSON Schema.
    """

    wanted = "a mapping"

    def __init__(
        self, made: type[T], clash: Callable[[T], Clash | None] | None = None, rule: Schema | None = None
    ) -> None:
        self.made = made
        self.clash = clash
        self.rule = rule or {}

    @property
    def defaults(self) -> Mapping[str, Any]:
        """The defaults of the fields that have one."""
        return self.made._field_defaults  # type: ignore[attr-defined, no-any-return]

    @cached_property
    def settings(self) -> dict[str, Setting]:
        """What the annotations say of each field; worked out late, for most runs need few tables."""
        hints = get_type_hints(self.made, include_extras=True)
        return {name: hint.__metadata__[0] for name, hint in hints.items()}

    def read(self, node: Node) -> T:
        """See `Kind.read`. Unknown keys are errors, and so are required ones that are absent."""
        if not isinstance(node, header.Map):
            raise self.unfit(node)
        values: dict[str, Any] = {}
        lines: dict[str, int] = {}
        for key, child in node.items:
            name = key.value
            if name not in self.settings:
                raise self.unknown(key)
            lines[name] = child.line
            try:
                values[name] = self.settings[name].kind.read(child)
            except UnfitError as why:
                raise why.inside(name) from None
        for name in self.settings:
            if self.required(name) and name not in values:
                raise UnfitError(
                    node.line, "is missing", f"add {name}: {self.settings[name].kind.wanted}"
                ).inside(name)
        return self.whole(self.made(**values), lines, node.line)

    def whole(self, value: T, lines: dict[str, int], line: int) -> T:
        """The value, where no two of its settings clash. Raises `UnfitError`."""
        if self.clash and (found := self.clash(value)):
            raise UnfitError(lines.get(found.name, line), found.what, found.hint).inside(found.name)
        return value

    def unknown(self, key: header.Text) -> UnfitError:
        """What to raise of a key that no setting has."""
        near = nearest(key.value, self.settings)
        known = "the keys here are " + ", ".join(self.settings)
        return UnfitError(
            key.line,
            f"has an unknown key, {quoted(key.value)}",
            f"did you mean {near}? {known}" if near else known,
        )

    def required(self, name: str) -> bool:
        """Whether the setting has no default that may stand in for it."""
        return self.settings[name].required or name not in self.defaults

    def default(self, name: str) -> Any:
        """The default of a setting that has one."""
        return self.defaults[name]

    def schema(self) -> Schema:
        """See `Kind.schema`."""
        required = [name for name in self.settings if self.required(name)]
        return {
            "type": "object",
            "properties": {name: self.described(name) for name in self.settings},
            **({"required": required} if required else {}),
            "additionalProperties": False,
            **self.rule,
        }

    def described(self, name: str) -> Schema:
        """The schema of one setting, with its docs and its default."""
        setting = self.settings[name]
        schema: Schema = {"description": setting.doc} | setting.kind.schema()
        if not self.required(name) and (self.default(name) is not None or isinstance(setting.kind, Maybe)):
            schema["default"] = self.shown_default(name)
        return schema

    def shown_default(self, name: str) -> object:
        """A default as JSON has it; None also where absence means something that no value says."""
        if self.required(name) or self.default(name) is None:
            return None
        return self.settings[name].kind.plain(self.default(name))

    def plain(self, value: T) -> dict[str, object]:
        """See `Kind.plain`."""
        return {name: s.kind.plain(getattr(value, name)) for name, s in self.settings.items()}

    def rows(self, above: str = "") -> Iterator[Row]:
        """Every setting, tables within this one after the row of their own name."""
        for name, setting in self.settings.items():
            default = self.shown_default(name)
            yield Row(above + name, setting.kind.wanted, default, self.required(name), setting.doc)
            if isinstance(setting.kind, Table):
                yield from setting.kind.rows(f"{above}{name}.")
