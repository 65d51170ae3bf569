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
    failed = context.failure.files if context.failure else {}
    reply = read(text, context.task, context.incumbent, failed)
    files = {**context.incumbent, **failed, **reply.files}
    point = space.point_of(replace(context.task, tune=reply.tune or context.task.tune), files)
    return Proposal(files, reply.memo, reply.expected, point, reply.aims, reply.tune)


def read(text: str, task: Task, incumbent: Mapping[str, bytes], failed: Mapping[str, bytes] | None = None) -> Reply:
    """The reply, which repairs `failed` if that is given. A long one takes a second: call it in a thread.

    Raises BadReply.
    """
    reply = parse(text, task, incumbent, failed)
    start = {**incumbent, **(failed or {})}
    files = tidy(task, start, reply.files)
    gate(task, start, files)
    return replace(reply, files=files)
