"""What agents that are asked in words have in common: what they are told, and how their answer becomes files."""

from collections.abc import Mapping
from dataclasses import replace

from kpd.agents import space
from kpd.agents.agent import Context, Proposal
from kpd.agents.handlers import hints, tidy
from kpd.agents.hygiene import gate
from kpd.agents.prompt.compose import compose
from kpd.agents.prompt.known import Known, heard
from kpd.agents.reply import FORMAT, SEARCH, Reply, parse
from kpd.knowledge import memory, patterns
from kpd.knowledge.efficacy import efficacy
from kpd.knowledge.skills import Skills, load_skills
from kpd.workspace.task import Task

PATTERNS = 1500
"""Characters of what was found on other tasks."""


def known(context: Context, earlier: str) -> Known:
    """`earlier` are the earlier runs of the task, as `past` tells them. Raises OSError."""
    task = context.task.name
    avoid, wanted = memory.guidance(context.workspace, task)
    fired = [finding.rule for finding in context.findings]
    return Known(
        FORMAT + (SEARCH if "sweep" in context.run.agents else ""),
        Skills({id: skill for id, skill in load_skills(context.workspace).by_id.items() if heard(context.run, id)}),
        earlier,
        avoid,
        wanted,
        patterns.matching(context.workspace, fired, context.arch, PATTERNS, besides=task),
        efficacy(context.runs),
        hints(context.task, context.incumbent),
    )


def whole_prompt(context: Context) -> str:
    """All that Claude would be asked, as one text for anybody. Raises OSError."""
    return compose(context, known(context, past(context))).markdown()


def past(context: Context) -> str:
    """What memory has of earlier runs of the task. Raises OSError."""
    begun = context.run.started or context.run.queued
    return memory.past(context.workspace, context.task.name, context.run.id, begun=begun)


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
    files = tidy(reply.files)
    gate(task, start, files)
    return replace(reply, files=files)
