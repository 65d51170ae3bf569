"""Writes what a session is told: the task with its evidence, what is wrong with a candidate, and how to go on."""

import importlib.util
import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from kpd.agents.agent import Context
from kpd.agents.prompt.compose import compose
from kpd.agents.prompting import earlier_runs, gather_background
from kpd.agents.reply_notes import ReplyNotes, read_notes
from kpd.model.run import Steering, TaskState
from kpd.model.toolbox import ToolVersion
from kpd.model.tools import still_active
from kpd.sessions.given import OWN_SERVER
from kpd.text.foreign import plain
from kpd.text.numbers import counted
from kpd.tools.manifest import SKILL

_NUMBER = r"(\d{1,9}(?:\.\d{1,6})?)\s?(ns|us|µs|μs|ms|s)\b"
CLAIM = re.compile(rf"[\s>#*_`-]{{0,8}}CLAIM[\s*_`]{{0,4}}:[\s*_`~]{{0,4}}{_NUMBER}", re.IGNORECASE)
UNITS = {"ns": 1e-3, "us": 1.0, "µs": 1.0, "μs": 1.0, "ms": 1e3, "s": 1e6}

FORM = """\
You work in a folder that is a copy of the task, {start}. Change {editable} there, and nothing else: all
other files judge the candidate, and what you change in them is thrown away. There is no reply to write: what lies in
these files when you end your turn, or when your {limit} are over, is your candidate. kpd builds, checks and measures it
by itself; nothing else counts. So save a version early that is right, and then better ones.

- You may read your folder, the task again in {brief}, what helps against each finding in {skills}, and the system's
  files; you may write in your folder and in {scratch}. Everything else is closed to you, whatever the tools say.
- The device that kpd measures on is not yours: times that you take here say little.
- Keep every function that other files call, with its signature.
{tools}
End your last message with these lines; the third only if you have measured a time:

MEMO: [rule-id, ...] what you changed and why, in one line
EXPECT: metric up|down, gain N %
CLAIM: N us
"""


STARTS: dict[TaskState, str] = {
    "continue": "as the incumbent has it",
    "reset": "with its own files: begin anew. The incumbent above is what your candidate has to beat",
}
"""What the folder holds at first, by the run's `task_state`."""


@dataclass(frozen=True, slots=True)
class Words:
    """What stands in the form of a session: its editable files, its limit, where its files are, and its built tools."""

    editable: str
    limit: str
    brief: str
    skills: str
    scratch: str
    tools: str = ""
    state: TaskState = "continue"


def built_tools(given: Iterable[str], tools: Mapping[str, ToolVersion], folder: Path, servers_too: bool) -> str:
    """Say which built tools a session has: what their servers list, if it starts them, and where their skills are."""
    lines = []
    for one in still_active(given, tools):
        parts = [f"its server has {', '.join(map(plain, one.inventory))}"] if one.server and servers_too else []
        parts += [f"read {folder / one.tool / SKILL}"] if one.skill else []
        origin = "built in an earlier session" if one.run else "brought in by a person"
        lines.append(f"- {one.tool}, {origin}, says of itself: {plain(one.summary)} ({'; '.join(parts)}).\n")
    return "".join(lines)


def kpd_tools(trials: int) -> str:
    """Say what kpd's own tools are for, of which an agent that starts servers has the descriptions."""
    tries = f" `try` measures your tree as it stands, {counted(trials, 'time')} at most." if trials else ""
    return f"- kpd's tools tell what is known (`inspect`, `findings`, `history` and others).{tries}\n"


def own_tools() -> str:
    """Say how a program that is given no servers reaches kpd's tools; empty where their library is missing."""
    if importlib.util.find_spec("mcp") is None:
        return ""
    return (
        "- kpd's tools (`inspect`, `findings`, `try` and others) are a server of the Model Context Protocol on stdin"
        f" and stdout. If you can use one, start `{shlex.join(OWN_SERVER)}` with your own environment.\n"
    )


def first_prompt(context: Context, words: Words) -> str:
    """Return the whole task, evidence first. Raises OSError, OutsideFolder."""
    fresh = replace(context, failure=None)
    known = gather_background(fresh, earlier_runs(context))
    form = FORM.format(
        editable=words.editable, limit=words.limit, brief=words.brief, skills=words.skills, scratch=words.scratch,
        tools=words.tools, start=STARTS[words.state],
    )  # fmt: skip
    return compose(fresh, replace(known, format=form, works=True)).markdown()


def repair_prompt(context: Context) -> str:
    """Return what went wrong with the candidate that lies in the tree."""
    failure = context.failure
    assert failure is not None
    told = failure.message.strip() + (f"\n\n{failure.feedback.strip()}" if failure.feedback.strip() else "")
    what = "could not be used" if failure.step == "propose" else f"failed in the step {failure.step}"
    return (
        f"Your candidate {what}. kpd says:\n\n{told}\n\nYour tree is as you left it. Mend the cause there and keep the"
        " idea; end your message with the lines MEMO, EXPECT and, if you measured, CLAIM, as before.\n"
    )


def resumed_prompt(sent: Sequence[Steering] = ()) -> str:
    """Return how to go on after the daemon has ended; `sent` are messages that the agent may not have got."""
    operator = f"\n\nThe operator had just said:\n\n{_lines(sent)}" if sent else ""
    return (
        "kpd was stopped in the middle of your turn and runs again. Your tree is as you left it. Go on where you were,"
        f" and end your message with the lines MEMO, EXPECT and, if you measured, CLAIM.{operator}\n"
    )


def message_prompt(notes: Sequence[Steering]) -> str:
    """Return what the operator tells the agent in the middle of a session."""
    return (
        f"The operator says:\n\n{_lines(notes)}\n\nYour tree is as you left it. Go on with this in mind, and end your"
        " message with the lines MEMO, EXPECT and, if you measured, CLAIM, as before.\n"
    )


def _lines(notes: Sequence[Steering]) -> str:
    return "\n".join(f"- {line.text}" for line in notes)


def restarted_prompt(brief: str, repair: str) -> str:
    """Return a repair for an agent that does not remember the session, beside the task."""
    return f"{brief}\n\n# You have worked on this before\n\n{repair}"


def notes_of(said: str) -> ReplyNotes:
    """Read memo and expectation from an agent's last message."""
    return read_notes(said.splitlines()[-200:])


def claimed_us(said: str) -> float | None:
    """Return the time in µs that an agent claims to have measured; the last one counts, None without one."""
    found = [match for line in said.splitlines() if (match := CLAIM.match(line[:200]))]
    return float(found[-1][1]) * UNITS[found[-1][2].lower()] if found else None
