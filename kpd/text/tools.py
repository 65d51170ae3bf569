"""Renders what came of the work on tools, and what the checks of built ones found."""

from collections.abc import Iterable

from kpd.model.toolbox import SHOWN_DIGITS, ToolCheck, ToolCheckName
from kpd.model.tools import SmithEnded

_OF: dict[ToolCheckName, str] = {
    "files": "its files",
    "manifest": "tool.toml",
    "skill": "SKILL.md",
    "self_test": "its self-test",
    "tests": "its tests",
    "start": "the start of its server",
    "inventory": "the list of its tools",
    "sample": "the sample call",
    "writes": "what it leaves behind",
}


def of_check(found: ToolCheck) -> str:
    """Name what was checked."""
    return f"{_OF[found.name]}{f' of {found.of}' if found.of else ''}"


def trouble(found: ToolCheck) -> str:
    """Say what a failed check found."""
    return f"{of_check(found)}: {found.said or 'it failed without a word'}"


def troubles(checks: Iterable[ToolCheck]) -> str:
    """List what failed, a line each."""
    return "\n".join(f"- {trouble(one)}" for one in checks if not one.ok)


def shown(ref: str) -> str:
    """Return the name of a version, `tool@version`, as people see it and may give it."""
    name, _, version = ref.partition("@")
    return f"{name}@{version[:SHOWN_DIGITS]}"


def worse(tool: str, chance: float) -> str:
    """Suggest to retire a tool whose attempts rank lower than those without it; `chance` might explain that."""
    often = f"{100 * chance:.1f} %" if chance >= 0.001 else "less than 0.1 %"
    chances = f"chance explains it in {often} of cases"
    return f"attempts with {tool} rank lower than those without; {chances}: kpd tools retire {tool}"


def smith_end(found: SmithEnded) -> str:
    """Say what came of a session's work on a tool."""
    tool = shown(found.tool)
    end = {
        "nothing": "no tool was built", "unusable": "what was built is no tool",
        "broken_off": "the work on a tool ended",
        "qualified": f"{tool} is qualified: later sessions get it",
        "quarantined": f"{tool} did not pass its checks: it is quarantined",
    }[found.end]  # fmt: skip
    return f"{end}: {found.why}" if found.why else end
