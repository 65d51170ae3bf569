"""Renders what the checks of built tools found."""

from collections.abc import Iterable

from kpd.model.toolbox import ToolCheck, ToolCheckName

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
