"""Renders comparisons of built tools: the name of a run, why one does not count, and what all of them show."""

from kpd.model.run import Run
from kpd.model.side import ComparedRun
from kpd.text.endings import of_iteration, of_run
from kpd.text.gains import times

SIDES = {"plain": "without tools", "tools": "with tools"}
_INVALID = {
    "": "",
    "stopped": "it was stopped",
    "failed": "no attempt of it was measured",
    "held": "its winner was held for a person",
    "unconfirmed": "its best was not measured against the baseline",
    "inactive": "no tool was active in its session",
}
_STOPPED = {
    "operator": "it was stopped",
    "settings": "settings were changed: those of its agent, in config.toml or in kpd's preset, or [run] approve",
    "agent": "its agent's program was replaced by another version; kpd compare begins anew with that",
    "tools": "one of its tools may not be given any more",
}


def name(place: ComparedRun) -> str:
    """Name a run of a comparison: `trial 3 of c1, with tools`."""
    return f"trial {place.number} of {place.of}, {SIDES[place.side]}"


def invalid(why: str, run: Run) -> str:
    """Say why a run has no score, and how its last attempt ended where none was measured; empty where it has one."""
    if why != "failed":
        return _INVALID[why]
    ended = [of_iteration(it) for it in run.iterations if it.session is not None] or [of_run(run)]
    return f"{_INVALID[why]}: {ended[-1]}"


def stopped(why: str) -> str:
    """Say why a comparison ended early."""
    return _STOPPED[why]


def interval(middle: float | None, low: float | None, high: float | None) -> str:
    """Format a ratio with its interval: `1.25× [1.10×, 1.40×]`, with – for one that is not bounded."""
    of, *ends = ("–" if ratio is None else times(ratio) for ratio in (middle, low, high))
    return f"{of} [{', '.join(ends)}]"


def conclusion(what: str, trials: int, p: float | None, stop: str = "") -> str:
    """Say what a comparison shows; `p` is that of its rank test, `stop` why it ended early."""
    chance = "" if p is None else f" (p = {p:.2g})"
    match what:
        case "under_way":
            return "it is under way: nothing is concluded before its end"
        case "stopped":
            return f"{stopped(stop)}: nothing is concluded"
        case "too_few":
            return f"no difference shown: with {trials} on each side none can be, with 4 it can"
        case "invalid":
            return "nothing shown: one side has no valid run"
        case "none":
            return f"no difference shown{chance}"
        case "tools":
            return f"runs with the tools ended faster{chance}"
    return f"runs with the tools ended slower{chance}"
