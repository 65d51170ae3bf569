"""A candidate that was proposed before, as an agent: to measure it once more."""

from kpd.agents.agent import Context, Proposal
from kpd.workspace.runfolder import read_files


class Again:
    """Proposes to the letter what was proposed first of all by what its own iteration repeats."""

    repairs = False
    reads_steering = False

    async def propose(self, context: Context) -> Proposal:
        own = context.run.iteration(context.number)
        assert own is not None and own.again is not None
        first = own
        while first.again is not None:
            found = context.run.iteration(first.again)
            assert found is not None
            first = found
        files = read_files(context.folder, context.task.editable)
        return Proposal(files, f"again: {first.memo}", first.expected, first.point)

    async def close(self) -> None:
        """Holds nothing."""
