"""Declares the operations on tools that agents have built."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from kpd.operations.arguments import Arg, Text
from kpd.operations.operation import OnDaemon, Operation, Refused, UnknownName

if TYPE_CHECKING:
    from kpd.model.state import State
    from kpd.model.toolbox import ToolVersion

TOOL = Arg("TOOL", "a tool's name, which means its newest version, or name@version")


class OnTool(Operation["ToolVersion"]):
    """An operation on a version of a tool: the named one, else the newest of that name."""

    verb = "tools"

    tool: Annotated[Text, TOOL]

    def target(self, state: State) -> ToolVersion:
        return version_ref(state, self.tool)

    def answer(self, target: ToolVersion) -> dict[str, Any]:
        return {"tool": target.ref}


class QualifyTool(OnTool):
    """Check a tool in a clean copy of its task; if all checks pass, sessions that begin later get it."""

    name = "qualify_tool"
    emits = ("tool_checked",)
    done = "{tool} was checked: {state}"

    def why_not(self, state: State, target: ToolVersion) -> Refused | None:
        if target.stopped:
            return Refused(f"{target.ref} is {target.stopped}", f"kpd tools restore {target.ref}")
        return None


class QuarantineTool(OnTool):
    """Keep a tool from all sessions; one that has it already loses it with its next turn."""

    name = "quarantine_tool"
    emits = ("tool_quarantined",)
    done = "{tool} is quarantined"

    why: Annotated[str, Arg("WHY", "the reason", words=True)] = ""

    def why_not(self, state: State, target: ToolVersion) -> Refused | None:
        return Refused(f"{target.ref} is quarantined already") if target.stopped == "quarantined" else None


class RetireTool(OnTool):
    """Give a tool to no session any more, since it is not needed."""

    name = "retire_tool"
    emits = ("tool_retired",)
    done = "{tool} is retired"

    def why_not(self, state: State, target: ToolVersion) -> Refused | None:
        return Refused(f"{target.ref} is retired already") if target.stopped == "retired" else None


class RestoreTool(OnTool):
    """End a quarantine or a retirement; the tool is again what its last checks made it."""

    name = "restore_tool"
    emits = ("tool_restored",)
    done = "{tool} is {state} again"

    def why_not(self, state: State, target: ToolVersion) -> Refused | None:
        if target.stopped:
            return None
        remedy = f"kpd tools qualify {target.ref}" if target.state != "qualified" else ""
        return Refused(f"nobody has quarantined or retired {target.ref}", remedy)


class ImportTool(OnDaemon):
    """Bring in a tool's folder for runs of a task, and check it."""

    name = "import_tool"
    verb = "tools"
    emits = ("tool_built", "tool_checked")
    done = "{tool} was brought in: {state}"

    folder: Annotated[Text, Arg("DIR", "a folder with a tool.toml")]
    task: Annotated[Text, Arg("TASK", "the task whose runs may use it", "--task")]


def version_ref(state: State, tool: str) -> ToolVersion:
    """Return the version that a person means. Raises UnknownName."""
    found = [one for one in state.tools.values() if tool in (one.ref, one.tool)]
    if not found:
        known = ", ".join(sorted({one.tool for one in state.tools.values()}))
        raise UnknownName(f"no tool {tool!r}", f"tools: {known or 'none; see docs/toolsmith.md'}")
    return max(found, key=lambda one: one.built)
