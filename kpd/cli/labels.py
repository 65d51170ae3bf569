"""Formats values for reports: outcomes with their signs, durations, scores. Readable without colour."""

from collections.abc import Mapping
from typing import Any

from kpd.model import scores
from kpd.model.verdicts import Gain
from kpd.text import numbers
from kpd.text.gains import column

HELD = "‖ held"
"""The sign of a held queue, as `kpd.text.signs.HELD`; that module would import all of the state."""
COLOURS = {"strong": "cyan", "good": "green", "warn": "yellow", "bad": "red", "accent": "green", "muted": "dim"}
"""The colour of each tone of a sign."""
NO_DAEMON = "○ no daemon; kpd start, or kpd daemon to keep it in the foreground"
LEVELS = {"info": "i", "warning": "!", "error": "✗"}


def unit(card: Mapping[str, Any]) -> str:
    """Return the unit of a task's scores; microseconds where the card does not say."""
    return scores.unit(card.get("score", "us"))


def sign(shown: Mapping[str, Any]) -> str:
    """Return the sign and the word of a run's or an iteration's outcome: `▲ accepted`."""
    return f"{shown['sign']['glyph']} {shown['sign']['word']}"


def gain(verdict: dict[str, Any] | None) -> str:
    """Format a gain as a factor with its interval, for a column: `1.034× [1.025, 1.043]`."""
    return "" if verdict is None else column(Gain(**verdict["gain"]).speedup)


def outcome(iteration: dict[str, Any]) -> str:
    """Return the iteration's outcome as a word with its sign, or the step it is at."""
    if iteration["outcome"] is None:
        return f"{iteration['sign']['glyph']} {iteration['step'] or 'starting'}"
    return sign(iteration)


def now(run: dict[str, Any], at: float, held: bool = False) -> str:
    """Say what the run does: the step of its iteration, or of each on several devices, for how long; or why it waits.

    `held` means that the whole queue is held.
    """
    asks = "; ".join(text for it in run["open"] if (text := approval(run["id"], it)))
    if run["status"] == "paused":
        return "; ".join(filter(None, (run["reason"], f"kpd resume {run['id']} goes on", asks)))
    if asks:
        return f"waits: {asks}"
    if run["waits"]:
        return f"waits: {run['waits']}"
    if run["status"] == "queued":
        return str(run["prepares"])
    if not run["open"]:
        return "between iterations" if run["count"] else "making the task ready"
    return "; ".join(_at(it, at, held) for it in run["open"])


def _at(it: dict[str, Any], at: float, held: bool) -> str:
    attempt = f", attempt {it['attempt']}" if it["attempt"] > 1 else ""
    since = f" for {numbers.duration(at - it['step_started'])}" if it["step"] and not held else ""
    return f"iteration {it['number']}: {it['step'] or 'starting'}{since}{attempt}"


def approval(run_id: str, iteration: dict[str, Any]) -> str:
    """Say that the iteration's candidate waits for a person, and how to let it go on; empty for others."""
    if iteration["review"] != "waits" or iteration["outcome"] is not None:
        return ""
    from kpd.text.waits import approval as told

    return told(run_id, iteration["number"])


def held(run_id: str, iteration: dict[str, Any]) -> str:
    """Say that a winner with flags waits for a person, and how to decide; empty for others."""
    if iteration["hold"] != "waits":
        return ""
    from kpd.text.flags import held as told

    return told(run_id, iteration["number"])


def run_state(run: dict[str, Any], held: bool = False) -> str:
    """Return the run's state as a word with its sign; `held` means that the whole queue is held."""
    return HELD if held and run["status"] == "running" and run["waiting"] is None else sign(run)
