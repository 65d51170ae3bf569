"""What is known apart from the run, gathered for a prompt: read anew for each, so that people's edits count at once."""

from kpd.agents.agent import Context
from kpd.agents.handlers.catalogue import hints
from kpd.agents.prompt.compose import compose
from kpd.agents.prompt.known import Known
from kpd.agents.reply import FORMAT, SEARCH
from kpd.agents.stands import heard
from kpd.knowledge import memory, patterns
from kpd.knowledge.efficacy import efficacy
from kpd.knowledge.skills import Skills, load_skills

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
