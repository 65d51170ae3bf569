"""A candidate that was proposed before, as an agent: to measure it once more."""

from kpd.agents.agent import Context, Proposal
from kpd.workspace.runfolder import read_files

MEMO = "again: "


class Again:
    """Proposes to the letter what the iteration that its own names as `again` had proposed."""

    repairs = False
    reads_steering = False

    async def propose(self, context: Context) -> Proposal:
        own = context.run.iteration(context.number)
        assert own is not None and own.again is not None
        first = context.run.iteration(own.again)
        assert first is not None
        files = read_files(context.folder, context.task.editable)
        return Proposal(files, MEMO + first.memo.removeprefix(MEMO), first.expected, first.point)

    async def close(self) -> None:
        """Holds nothing."""
