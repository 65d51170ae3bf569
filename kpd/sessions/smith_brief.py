"""Writes what a session is told about tools: to look back, to build one, and what its checks found."""

import re
from pathlib import Path

from kpd.model.iteration import Iteration
from kpd.sessions.folder import SessionFolder
from kpd.text.endings import iteration_ended
from kpd.tools.manifest import MANIFEST, SKILL
from kpd.workspace.task import Task

NAMED = re.compile(r"[\s>#*_`-]{0,8}IMPROVEMENT[\s*_`]{0,4}:[\s*_`]{0,4}(.{0,500})", re.IGNORECASE)
NOTHING = re.compile(r"(nothing|none|no tool)( would have helped| (is |was )?needed)?\W*", re.IGNORECASE)

REFLECT = """\
Your work on the candidate is over{outcome}. Now look back at how you worked, not at the kernel.

What took long, what did you do by hand more than once, what could you not see? Sessions that come later on this task
know nothing of this one. You may build one tool for them: a skill, which is a text to read, or a server of the Model
Context Protocol, whose tools they can call, or both.

Build nothing yet. Answer in a few lines, and end your message with exactly one line, for the one improvement that would
have saved most:

IMPROVEMENT: what the tool does, and what it saves

or, if no tool would have helped:

IMPROVEMENT: nothing
"""

BUILD = """\
Build this now, and nothing else:

    {improvement}

Write the tool into the empty folder {tool}. Your current folder is a fresh copy of the task, as your candidate began;
what you had made there is in {worked}, which you can read. Leave the copy as it is.

{manifest}, at the top of the folder, must say:

    name = "short-name"                 # a-z, 0-9 and -
    summary = "what it does, in a line"
    server = ["python3", "server.py"]   # speaks MCP on stdin and stdout; leave it out for a skill alone
    self_test = ["python3", "server.py", "--self-test"]
    tests = ["python3", "tests/test_server.py"]
    call_s = 20                         # seconds that a call may take

    [samples.NAME]                      # arguments of a sample call, a table for each tool that needs some
    file = "{editable}"

A skill is a file {skill} beside it: when it helps, and what to do then. With a server, `self_test` and `tests` are
needed, and must end with status 0.

- Words of these commands that name files of the tool get their whole path. All of them run in a copy of the task, and
  so does the server in a session: name the task's files as they are called there, never by an absolute path.
- `python3` has the package `mcp`. Nothing else can be installed.
- A tool writes in its HOME alone, and changes nothing in the task's copy.
- A tool answers with text, and fails with an error that says what helps.

When you end your turn, kpd checks the tool in another copy of the task: it runs the self-test and the tests, starts the
server, lists its tools, and calls each one. Only a tool that passes all of it is given to later sessions.
"""

GO_ON = """\
kpd was stopped in the middle of your turn and runs again. All folders are as you left them. Go on where you were, and
end your turn as you were asked to.
"""
CHECKED_BEFORE = "what the checks said was told before kpd was stopped; they run again after your turn"

MEND = """\
Your tool did not pass its checks. kpd says:

{trouble}

Mend the cause in the tool's folder, then end your turn; kpd checks it again.
"""


def reflect(found: Iteration | None) -> str:
    """Ask what would have helped, after an iteration with this outcome."""
    ended = f": {found.outcome} ({iteration_ended(found.cause)})" if found is not None and found.outcome else ""
    return REFLECT.format(outcome=ended)


def improvement(said: str) -> str:
    """Return the improvement that a session names; empty where it names none. The last one counts."""
    found = [match[1].strip(" \t*_`") for line in said.splitlines() if (match := NAMED.match(line[:600]))]
    return "" if not found or NOTHING.fullmatch(found[-1]) else found[-1]


def build(what: str, folder: SessionFolder, task: Task) -> str:
    """Ask to build the improvement that was named."""
    return BUILD.format(
        improvement=what, tool=folder.tool, worked=folder.root / "worked", manifest=MANIFEST, skill=SKILL,
        editable=next(iter(task.editable), "..."),
    )  # fmt: skip


def mend(trouble: str) -> str:
    """Ask to repair a tool, with what its checks found."""
    return MEND.format(trouble=trouble.strip())


def restarted(brief: Path, prompt: str) -> str:
    """Return the prompt for an agent that does not remember its session, beside the task. Raises OSError."""
    return f"{brief.read_text()}\n\n# You have worked on this before\n\n{prompt}"
