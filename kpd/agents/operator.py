"""Proposes files as they are: the operator's own edit, or a candidate that is measured again."""

import difflib
from dataclasses import replace

from kpd.agents import space
from kpd.agents.agent import Agent, AgentKind, Context, Proposal
from kpd.workspace.candidate_tree import read_tree


class OperatorEdit(Agent):
    """An agent that proposes the files prepared for it.

    These are the task's own for the baseline, and the saved edit for an operator iteration.
    """

    async def propose(self, context: Context) -> Proposal:
        files = read_tree(context.folder, context.task)
        point = space.point_of(context.task, files)
        memo = "baseline: the task as it is"
        if context.run.incumbent is not None:
            memo = f"operator edit: {describe_edit(context.incumbent, files)}"
        return replace(Proposal.of_tree(files, context.incumbent, memo), point=point)


def describe_edit(before: dict[str, bytes], after: dict[str, bytes]) -> str:
    """List the changed files with their counts of added and removed lines: `kernel.c +3 −1`."""
    changed = []
    for path in sorted(before.keys() | after.keys()):
        data = after.get(path, b"")
        old, new = (text.decode(errors="replace").splitlines() for text in (before.get(path, b""), data))
        lines = list(difflib.unified_diff(old, new, lineterm="", n=0))[2:]
        added = sum(line.startswith("+") for line in lines)
        removed = sum(line.startswith("-") for line in lines)
        if path not in after:
            changed.append(f"{path} removed")
        elif data != before.get(path):
            changed.append(f"{path} {'new, ' if path not in before else ''}+{added} −{removed}")
    return ", ".join(changed) or "the incumbent again"


AGENT = AgentKind(lambda config, of: OperatorEdit(), alone=True, operators=True, waits=True)
"""It proposes nothing by itself: the run waits for edits of the task folder."""


class RemeasureAgent(Agent):
    """An agent that proposes once more exactly what the iteration to be repeated had proposed."""

    async def propose(self, context: Context) -> Proposal:
        own = context.run.iteration(context.number)
        assert own is not None and own.again is not None
        first = own
        while first.again is not None:
            found = context.run.iteration(first.again)
            assert found is not None
            first = found
        files = read_tree(context.folder, context.task)
        how = "noise floor" if own.measures_floor else "against the baseline" if own.confirming else "again"
        proposal = Proposal.of_tree(files, context.incumbent, f"{how}: {first.memo}")
        return replace(proposal, expected=first.expected, point=first.point)
