"""This machine, as if a scheduler had lent it."""

from pathlib import PurePath

from kpd.hosts.link import RunOnNode
from kpd.hosts.local import Local
from kpd.model.hosts import Check


class LentMachine(Local):
    """This machine, as if a scheduler had lent it."""

    idle_s = 1.0

    def left_s(self) -> float | None:
        return None

    def whole_s(self) -> float:
        return 0.0

    async def checks(self, run: RunOnNode, root: PurePath) -> tuple[Check, ...]:
        return ()

    async def give_back(self) -> None: ...
