"""From what an agent said to files that are fit to be built: read, tidied, and through the gate."""

from collections.abc import Mapping
from dataclasses import replace

from kpd.agents import space
from kpd.agents.agent import Context, Proposal
from kpd.agents.handlers.catalogue import tidy
from kpd.agents.hygiene import gate
from kpd.agents.reply import Reply, parse
from kpd.workspace.task import Task


def proposal(text: str, context: Context) -> Proposal:
    """What the answer to a question proposes; after a failure, over the candidate that failed. Raises BadReply."""
    start = {**context.incumbent, **(context.failure.files if context.failure else {})}
    reply = read(text, context.task, start)
    files = {**start, **reply.files}
    point = space.point_of(replace(context.task, tune=reply.tune or context.task.tune), files)
    return Proposal(files, reply.memo, reply.expected, point, reply.aims, reply.tune)


def read(text: str, task: Task, incumbent: Mapping[str, bytes]) -> Reply:
    """The reply. A long one takes a second: call it in a thread. Raises BadReply."""
    reply = parse(text, task, incumbent)
    files = tidy(task, incumbent, reply.files)
    gate(task, incumbent, files)
    return replace(reply, files=files)
