"""Decides by rule on what an agent asks for. The sandbox holds in any case: this says what it is told."""

import json
import os
import re
import shlex
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from kpd.text.foreign import clean

MOST_REQUESTS = 2000
"""Requests of a turn: each is recorded, so a flood of them would fill the log."""
MOST_PATHS = 200
LONGEST_PATH = 4096
LONGEST_COMMAND = 64 << 10
"""Paths of one wish, and characters of each and of a command: a wish beyond that is refused unread."""
MOST_KEPT = 20
LONGEST = 300
"""Paths and characters of a text that are recorded."""
MOST_SHOWN = 1000
"""Characters of a wish that an operator is asked about: a longer one could hide something beyond what is shown."""
PATHS = ("file_path", "path", "notebook_path", "abs_path", "filePath")
RULED = ("think", "read", "search", "edit", "delete", "move", "execute", "switch_mode")
"""Kinds of actions on which their files or their command decide; of any other its arguments are shown."""
OPERATORS = re.compile(r"[;&|()<>\n]+")
SHELL = re.compile(r"((/usr(/local)?)?/bin/)?(ba|da|k|z)?sh")
OURS = "kpd"
"""The name of kpd's own server."""
TOOL = re.compile(r"mcp__([a-z0-9-]+)(?![a-z0-9-]).*|\S+ \(([a-z0-9-]+) MCP Server\)", re.DOTALL)
"""How agents name a tool of a server; the second way is Gemini CLI's."""


@dataclass(frozen=True, slots=True)
class AgentWish:
    """What an agent asks for: a kind of action of the protocol, a title, files, and the command if it is one.

    `arguments` are those of a tool that kpd does not know, as JSON. `once`: it can be allowed for this one time.
    """

    tool: str
    what: str
    paths: tuple[str, ...] = ()
    command: str = ""
    arguments: str = ""
    once: bool = True

    @property
    def whole(self) -> str:
        """All that is done if it is allowed: the command, or the title with the arguments."""
        return self.command or f"{self.what} {self.arguments}".strip()

    @property
    def shown_whole(self) -> bool:
        """Whether an operator sees all of it: it is not long, and has no character that a terminal does not show."""
        flat = self.whole.replace("\n", " ").replace("\t", " ")
        return len(flat) <= MOST_SHOWN and clean(flat) == flat

    @property
    def short(self) -> "AgentWish":
        """The wish as it is recorded: with the beginning of each text."""
        paths = tuple(path[:LONGEST] for path in self.paths[:MOST_KEPT])
        return AgentWish(self.tool[:LONGEST], self.what[:LONGEST], paths, self.command[:LONGEST], once=self.once)

    @property
    def readable(self) -> bool:
        longest = max(map(len, self.paths), default=0)
        return len(self.paths) <= MOST_PATHS and longest <= LONGEST_PATH and len(self.command) <= LONGEST_COMMAND


@dataclass(frozen=True, slots=True)
class Place:
    """Where an agent may act: it writes in `writes` but for `frozen`, and reads in `reads` as well; absolute paths.

    `servers` are the built tools of its session.
    """

    tree: Path
    writes: tuple[Path, ...]
    reads: tuple[Path, ...]
    frozen: tuple[str, ...]
    commands: tuple[str, ...]
    servers: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer to a wish. `open`: it is refused only because no rule allows it, so an operator may.

    `judge` is the file that judges the candidate, where the agent wanted to change one.
    """

    allowed: bool
    why: str = ""
    open: bool = False
    judge: str = ""


Asks = Callable[[AgentWish], Awaitable[Answer]]
"""Answers what an agent asks for."""


def wish_of(call: Mapping[str, Any]) -> AgentWish:
    """Read the wish from the tool call of a request, as the protocol has it; whatever it holds, this raises nothing."""
    raw = call.get("rawInput")
    given = raw if isinstance(raw, Mapping) else {}
    found = [_text(location.get("path")) for location in _mappings(call.get("locations"))]
    found += [_text(part.get("path")) for part in _mappings(call.get("content"))]
    found += [_text(given.get(key)) for key in PATHS]
    command = given.get("command")
    if isinstance(command, list | tuple):
        words = [_text(word) for word in command]
        command = words[2] if _is_shell(words) else shlex.join(words)
    paths = tuple(dict.fromkeys(path for path in found if path))
    kind = _text(call.get("kind"))
    tool = "use" if kind in ("", "other") else kind  # a verb: "asks to use: mcp__lint__check"
    arguments = json.dumps(raw) if raw and tool not in RULED else ""
    title = _text(call.get("title"))
    command = _text(command) or (title if tool == "execute" else "")  # Gemini CLI names a command in the title alone
    return AgentWish(tool, title, paths, command if tool in RULED else "", arguments)


def decide(wish: AgentWish, place: Place) -> Answer:
    """Answer a wish: inside the tree yes, elsewhere no, commands by the list. The reason is short."""
    answer = _decided(wish, place) if wish.readable else Answer(False, "ask for less at a time")
    is_open = answer.open and wish.once and wish.shown_whole
    return replace(answer, why=answer.why[:LONGEST], open=is_open)


def _decided(wish: AgentWish, place: Place) -> Answer:
    match wish.tool:
        case "think":
            return Answer(True)
        case "read" | "search":
            outside = [path for path in wish.paths if not _within(path, place.tree, (*place.writes, *place.reads))]
            return Answer(False, f"{outside[0]} is outside of what you may read") if outside else Answer(True)
        case "edit" | "delete" | "move":
            return _writing(wish, place)
        case "execute":
            return _running(wish, place)
        case "fetch":
            return Answer(False, "you may fetch nothing from the network", open=True)
        case "switch_mode":
            return Answer(False, "the mode is the operator's")
    tool = TOOL.fullmatch(wish.what)
    if tool is not None and (tool[1] or tool[2]) in (OURS, *place.servers):
        return Answer(True)
    return Answer(False, f"{wish.what or 'this tool'} is not among what you may use", open=True)


def _writing(wish: AgentWish, place: Place) -> Answer:
    if not wish.paths:
        return Answer(False, "it names no file")
    for path in wish.paths:
        if not _within(path, place.tree, place.writes):
            return Answer(False, f"{path} is outside of your tree, {place.tree}")
        if (at := _resolved(path, place.tree)) in [_resolved(name, place.tree) for name in place.frozen]:
            return Answer(False, f"{at.name} is not yours to change: it judges the candidate", judge=at.name)
    return Answer(True)


def _running(wish: AgentWish, place: Place) -> Answer:
    programs = programs_of(wish.command)
    if programs is None:
        why = "write the command without substitutions, so that it can be seen what it runs"
        return Answer(False, why, open=True)
    strange = [name for name in programs if name not in place.commands]
    if strange or not programs:
        why = f"{strange[0] if strange else 'nothing'} is not among the programs that you may run"
        return Answer(False, why, open=bool(strange))
    return Answer(True)


def programs_of(command: str) -> tuple[str, ...] | None:
    """Return the programs that a command line of a shell runs; None where that cannot be seen."""
    if re.search(r"\$\(|`|[<>]\(", command):
        return None
    try:
        lexer = shlex.shlex(command, posix=True, punctuation_chars=";&|()<>\n")
        lexer.whitespace = " \t\r"
        lexer.commenters = ""
        words = list(lexer)
    except ValueError:
        return None
    found, first, redirected = [], True, False
    for word in words:
        if OPERATORS.fullmatch(word):
            redirected = "<" in word or ">" in word
            first = first if redirected else True
        elif redirected:
            redirected = False
        elif first and not re.match(r"[A-Za-z_]\w*=", word):
            found.append(os.path.basename(word))  # noqa: PTH119 - a word, which need not be a path
            first = False
    return tuple(found)


def _within(path: str, tree: Path, folders: tuple[Path, ...]) -> bool:
    at = _resolved(path, tree)
    return any(at == folder or folder in at.parents for folder in folders)


def _resolved(path: str, tree: Path) -> Path:
    """Return where a path leads, with links resolved; one that cannot be resolved leads nowhere."""
    try:
        return (tree / path).resolve()
    except (OSError, RuntimeError, ValueError):
        return Path("/")


def _is_shell(words: list[str]) -> bool:
    """Return whether these are a shell of the system and a command line for it; any other program is shown as well."""
    return len(words) == 3 and words[1] in ("-c", "-lc") and SHELL.fullmatch(words[0]) is not None


def _mappings(found: object) -> list[Mapping[str, Any]]:
    return [each for each in found if isinstance(each, Mapping)] if isinstance(found, list) else []


def _text(found: object) -> str:
    return found if isinstance(found, str) else ""
