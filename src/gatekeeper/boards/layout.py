"""What a layout of a board is: where its files stand, as data."""

from typing import NamedTuple

from gatekeeper.model import State


class Place(NamedTuple):
    """Where a task file stands: its state's folder and its name in it."""

    state: State
    name: bytes


class Layout(NamedTuple):
    """A board's folders and single files, all as bytes from the repository's root, folders with their slash."""

    name: str
    root: bytes
    tasks: bytes
    states: tuple[State, ...]
    plan: bytes
    manifest: bytes
    proposals: bytes
    decisions: bytes

    def folder(self, state: State) -> bytes:
        """The folder that is a state, with its slash."""
        return self.tasks + state.value.encode() + b"/"

    def place(self, path: bytes) -> Place | None:
        """The state and name of a task file's path; None for every other path.

        A task file is any `*.md` directly in a state's folder but a README, whatever it holds:
        a file that is none, or is broken, must not slip past as "no task".
        """
        if not path.startswith(self.tasks):
            return None
        folder, slash, name = path[len(self.tasks) :].partition(b"/")
        known = {state.value.encode(): state for state in self.states}
        if not slash or folder not in known or b"/" in name:
            return None
        if not name.endswith(b".md") or name.lower() == b"readme.md":
            return None
        return Place(known[folder], name)

    def proposal(self, path: bytes) -> bool:
        """Whether a path is a proposal's."""
        return self._file_in(self.proposals, path)

    def decision(self, path: bytes) -> bool:
        """Whether a path is a decision record's."""
        return self._file_in(self.decisions, path)

    @staticmethod
    def _file_in(folder: bytes, path: bytes) -> bool:
        name = path[len(folder) :]
        plain = path.startswith(folder) and b"/" not in name and name.endswith(b".md")
        return plain and name.lower() != b"readme.md"

    def never_in_scope(self, path: bytes) -> bool:
        """Whether no authority can hold a path of the board: the plan and the manifest (CONTRACT 2)."""
        return path in (self.plan, self.manifest)
