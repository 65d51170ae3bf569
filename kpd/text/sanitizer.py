"""Renders what the last checks of an accepted candidate saw."""

from collections.abc import Iterable

from kpd.model.iteration import Iteration
from kpd.model.sanitizer import ToolReport


def provisional(it: Iteration) -> str:
    """Say why the acceptance of the iteration is provisional; empty where it is not."""
    if it.unsanitized:
        return "provisional until it has passed its last checks"
    if not it.provisional:
        return ""
    saw = "; ".join(f"{_name(one)} saw {_seen(one)}" for one in it.sanitized[:1])
    return f"provisional: {saw}; {reports(it.sanitized)}; [check] sanitizer = false in task.toml asks for no look"


def reports(found: Iterable[ToolReport]) -> str:
    """Say on one line what each tool saw, and for how long; empty where none has looked."""
    return "; ".join(_report(one, number == 0) for number, one in enumerate(found))


def _name(found: ToolReport) -> str:
    return "other sizes" if found.tool == "overflow" else found.tool


def _seen(found: ToolReport) -> str:
    return f"{found.cases} of {found.of}{'' if found.tool == 'overflow' else ' cases'}"


def _report(found: ToolReport, decides: bool) -> str:
    """Say what one tool saw: `memcheck: no error in 5 of 5 cases, 2.1 s`."""
    name, seen = _name(found), f"{_seen(found)}, {found.seconds:.1f} s"
    shared = "; the baseline has the same, or was not seen as far, so it does not count" if found.baseline else ""
    if found.trouble and not decides:
        shared = "; it need not see all"
    if found.errors:
        return f"{name}: {found.errors} error{'s' * (found.errors > 1)} in {seen}{shared}: {found.said}"
    if found.trouble and not found.of:
        return f"{name}: did not run{shared}: {found.trouble}"
    if found.trouble:
        return f"{name}: broken off after {seen}{shared}: {found.trouble}"
    where = " in shared memory" if found.tool == "racecheck" else ""
    return f"{name}: no error{where} in {seen}"
