"""Gathers the background of a prompt, and turns an answer into files, for all agents that are prompted."""

from collections.abc import Mapping
from dataclasses import replace

from kpd.agents import space
from kpd.agents.agent import Context, Proposal
from kpd.agents.handlers import hints, tidy
from kpd.agents.precheck import precheck
from kpd.agents.prompt.background import Background, is_shown
from kpd.agents.prompt.compose import compose
from kpd.agents.reply import FORMAT, SEARCH, TREE, ParsedReply, parse
from kpd.knowledge import memory, patterns
from kpd.knowledge.efficacy import efficacy
from kpd.knowledge.skills import Skills, load_skills
from kpd.workspace.task import Task

PATTERNS = 1500
"""The most characters of patterns from other tasks."""


def gather_background(context: Context, earlier: str) -> Background:
    """Gather the background of a prompt. `earlier` is the text of `earlier_runs`. Raises OSError."""
    task = context.task.name
    avoid, wanted = memory.guidance(context.workspace, task)
    fired = [finding.rule for finding in context.findings]
    return Background(
        FORMAT + _additions(context),
        Skills({id: skill for id, skill in load_skills(context.workspace).by_id.items() if is_shown(context.run, id)}),
        earlier,
        avoid,
        wanted,
        patterns.matching(context.workspace, fired, context.arch, PATTERNS, besides=task),
        efficacy(context.runs),
        hints(context.task, context.incumbent),
    )


def _additions(context: Context) -> str:
    """Return what the form of a reply has besides, in this task and this run."""
    places = " and ".join(f"`{area}`" for area in context.task.areas)
    found = (f"\n{TREE % places}" if places else "", f"{SEARCH}" if "sweep" in context.run.agents else "")
    return "".join(found)


def whole_prompt(context: Context) -> str:
    """Return the prompt that Claude would get, as one text for people and other agents. Raises OSError."""
    return compose(context, gather_background(context, earlier_runs(context))).markdown()


def earlier_runs(context: Context) -> str:
    """Return what memory has of earlier runs of the task. Raises OSError."""
    begun = context.run.started or context.run.queued
    return memory.past(context.workspace, context.task.name, context.run.id, begun=begun)


def proposal_of(text: str, context: Context) -> Proposal:
    """Read an answer into a proposal; after a failure its files replace those of the failed candidate.

    Raises BadReply.
    """
    failed = context.failure.files if context.failure else {}
    reply = read_reply(text, context.task, context.incumbent, failed)
    start = failed or context.incumbent
    files = {path: data for path, data in {**start, **reply.files}.items() if path not in reply.removed}
    point = space.point_of(replace(context.task, tune=reply.tune or context.task.tune), files)
    proposal = Proposal.of_tree(files, context.incumbent, reply.memo)
    return replace(proposal, expected=reply.expected, point=point, aims=reply.aims, tune=reply.tune)


def read_reply(
    text: str, task: Task, incumbent: Mapping[str, bytes], failed: Mapping[str, bytes] | None = None
) -> ParsedReply:
    """Read and check a reply, which repairs the candidate `failed` if that is given.

    A long reply takes a second: call this in a thread. Raises BadReply.
    """
    reply = parse(text, task, incumbent, failed)
    files = tidy(reply.files)
    precheck(task, failed or incumbent, files, reply.removed)
    return replace(reply, files=files)
