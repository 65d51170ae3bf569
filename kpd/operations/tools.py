"""Declares the operations on tools that agents have built."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated, Any

from kpd.operations.arguments import Arg, Text
from kpd.operations.operation import OnDaemon, Operation, Refused, UnknownName

if TYPE_CHECKING:
    from kpd.model.state import State
    from kpd.model.toolbox import ToolVersion

TOOL = Arg("TOOL", "a tool's name, or name@version, of which the first digits will do")


class OnTool(Operation["ToolVersion"]):
    """An operation on a version of a tool: the named one, else the newest of that name."""

    verb = "tools"

    tool: Annotated[Text, TOOL]

    def target(self, state: State) -> ToolVersion:
        found = versions(state, self.tool)
        return found[0] if "@" not in self.tool else one_of(found)

    def answer(self, target: ToolVersion) -> dict[str, Any]:
        return {"tool": target.shown}


class OnVersions(Operation["tuple[ToolVersion, ...]"]):
    """An operation on all versions of a tool, or on the named one."""

    verb = "tools"

    tool: Annotated[Text, TOOL]

    def target(self, state: State) -> tuple[ToolVersion, ...]:
        return versions(state, self.tool)

    def answer(self, target: tuple[ToolVersion, ...]) -> dict[str, Any]:
        return {"tool": refs(target)}


class QualifyTool(OnTool):
    """Check a tool in a clean copy of its task; if all checks pass, sessions that begin later get it."""

    name = "qualify_tool"
    emits = ("tool_checked",)
    done = "{tool} was checked: {state}"

    def why_not(self, state: State, target: ToolVersion) -> Refused | None:
        if target.stopped:
            return Refused(f"{target.shown} is {target.stopped}", f"kpd tools restore {target.shown}")
        return None


class QuarantineTool(OnVersions):
    """Keep a tool from all sessions; one that has it already loses it with its next turn."""

    name = "quarantine_tool"
    emits = ("tool_quarantined",)
    done = "{tool}: quarantined"

    why: Annotated[str, Arg("WHY", "the reason", words=True)] = ""

    def why_not(self, state: State, target: tuple[ToolVersion, ...]) -> Refused | None:
        return already(target, "quarantined")


class RetireTool(OnVersions):
    """Give a tool to no session any more, since it is not needed."""

    name = "retire_tool"
    emits = ("tool_retired",)
    done = "{tool}: retired"

    def why_not(self, state: State, target: tuple[ToolVersion, ...]) -> Refused | None:
        return already(target, "retired")


class RestoreTool(OnTool):
    """End a quarantine or a retirement; the tool is again what its last checks made it."""

    name = "restore_tool"
    emits = ("tool_restored",)
    done = "{tool} is {state} again"

    def target(self, state: State) -> ToolVersion:
        found = versions(state, self.tool)
        return one_of(tuple(one for one in found if one.stopped) or found[:1])

    def why_not(self, state: State, target: ToolVersion) -> Refused | None:
        if target.stopped:
            return None
        remedy = f"kpd tools qualify {target.shown}" if target.state != "qualified" else ""
        return Refused(f"nobody has quarantined or retired {target.shown}", remedy)


class ImportTool(OnDaemon):
    """Bring in a tool's folder for runs of a task, and check it."""

    name = "import_tool"
    verb = "tools"
    emits = ("tool_built", "tool_checked")
    done = "{tool} was brought in: {state}"

    folder: Annotated[Text, Arg("DIR", "a folder with a tool.toml")]
    task: Annotated[Text, Arg("TASK", "the task whose runs may use it", "--task")]


def versions(state: State, tool: str) -> tuple[ToolVersion, ...]:
    """Return the versions that a person means, all of one task, the newest first. Raises UnknownName, Refused."""
    found = [one for one in state.tools.values() if tool == one.tool or ("@" in tool and one.ref.startswith(tool))]
    if not found:
        known = ", ".join(sorted({one.tool for one in state.tools.values()}))
        raise UnknownName(f"no tool {tool!r}", f"tools: {known or 'none; see docs/toolsmith.md'}")
    if len(tasks := sorted({one.task for one in found})) > 1:
        raise Refused(f"{' and '.join(tasks)} have a tool {tool}", f"name a version: {refs(found)}")
    return tuple(sorted(found, key=lambda one: one.built, reverse=True))


def one_of(found: tuple[ToolVersion, ...]) -> ToolVersion:
    """Return the only version. Raises Refused where there are more."""
    if len(found) > 1:
        raise Refused("several versions may be meant", f"name one: {refs(found)}")
    return found[0]


def refs(found: Iterable[ToolVersion]) -> str:
    return ", ".join(one.shown for one in found)


def already(found: tuple[ToolVersion, ...], stopped: str) -> Refused | None:
    """Return the refusal to stop versions of which all are stopped in that way; None where one is not."""
    if any(one.stopped != stopped for one in found):
        return None
    return Refused(f"{refs(found)}: {stopped} already")
