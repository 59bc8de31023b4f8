"""What is asked of the gate."""

from datetime import datetime
from typing import NamedTuple

from gatekeeper.model import Tip


class Question(NamedTuple):
    """What is asked: two commits, and who asks. None is "not known".

    `head_repo` is the empty text where the forge says that the head's repository is gone.
    `operators` are the logins that `--operator` names, in place of the forge's answer.
    """

    base: Tip
    head: Tip
    now: datetime
    branch: str | None = None
    author: str | None = None
    pusher: str | None = None
    operators: tuple[str, ...] = ()
    base_repo: str | None = None
    head_repo: str | None = None
    in_ci: bool = False

    @property
    def foreign(self) -> bool:
        """Whether head is known to live in another repository than base (GK119)."""
        if self.base_repo is None or self.head_repo is None:
            return self.head_repo == ""
        return self.base_repo.casefold() != self.head_repo.casefold()

    @property
    def homeless(self) -> bool:
        """Whether it can't be told where head lives, and has to be: in CI, or where only head's repository is named."""
        if self.foreign or None not in (self.base_repo, self.head_repo):
            return False
        return self.in_ci or self.head_repo is not None
