"""Formats values for reports: outcomes with their signs, durations, scores. Readable without colour."""

from collections.abc import Mapping
from typing import Any

from kpd.model import scores

OUTCOMES = {
    "baseline": ("◆ baseline", "cyan"),
    "accepted": ("✓ accepted", "green"),
    "rejected": ("✗ rejected", "red"),
    "failed": ("✗ failed", "red"),
    "skipped": ("– skipped", "dim"),
    "interrupted": ("– interrupted", "yellow"),
    "infra": ("! infra", "yellow"),
}
RUN_OUTCOMES = {
    "improved": ("✓ improved", "green"),
    "no_gain": ("≈ no gain", "dim"),
    "failed": ("✗ failed", "red"),
    "stopped": ("■ stopped", "yellow"),
    "infra": ("! infra", "yellow"),
}
HELD = "⏸ held"
STATUSES = {"queued": ("… queued", "dim"), "running": ("● running", "green"), "paused": ("⏸ paused", "yellow")}
WAITING = "◔ waiting"
NO_DAEMON = "○ no daemon; kpd start, or kpd daemon to keep it in the foreground"
LEVELS = {"info": "i", "warning": "!", "error": "✗"}
MINUS = "−"


def unit(card: Mapping[str, Any]) -> str:
    """Return the unit of a task's scores; microseconds where the card does not say."""
    return scores.unit(card.get("score", "us"))


def speedup(card: Mapping[str, Any], old: float | None, new: float | None) -> float | None:
    """Compute how many times as good `new` is as `old` for that task; None where that cannot be told."""
    return scores.speedup(old, new, card.get("direction", "lower"))


def signed(pct: float) -> str:
    """Format percent with a sign and a real minus: +3.1, −0.4."""
    return f"{pct:+.1f}".replace("-", MINUS)


def gain(verdict: dict[str, Any] | None) -> str:
    """Format ▲ +3.1 % [+2.4, +3.8]; the sign follows the verdict's word, not the number."""
    if verdict is None:
        return ""
    found = verdict["gain"]
    sign = {"faster": "▲", "slower": "▼", "same": "≈", "no_gain": "≈", "undecided": "?"}.get(verdict["word"], "?")
    return f"{sign} {signed(found['pct'])} % [{signed(found['low'])}, {signed(found['high'])}]"


def number(value: float | None) -> str:
    """Format a number with about four significant digits, and an exponent only for very large or small ones."""
    if value is None:
        return ""
    if value and not 1e-3 <= abs(value) < 1e7:
        return f"{value:.3e}"
    digits = 0 if abs(value) >= 1000 else 1 if abs(value) >= 100 else 2 if abs(value) >= 10 else 3
    text = f"{value:,.{digits}f}"
    return text if value % 1 or digits == 0 else f"{value:,.0f}"


def counted(count: int, what: str) -> str:
    """Format a count with its noun: 1 call, 2 calls."""
    return f"{count} {what}" if count == 1 else f"{count} {what}s"


def duration(seconds: float) -> str:
    """Format a duration: 0.4 s, 12 s, 3 min 20 s, 2 h 5 min, 3 d 4 h."""
    if seconds < 10:
        return f"{max(seconds, 0):.1f} s"
    whole = round(seconds)
    for big, small, size in (("d", "h", 86_400), ("h", "min", 3600), ("min", "s", 60)):
        if whole >= size:
            rest = whole % size // {"h": 3600, "min": 60, "s": 1}[small]
            return f"{whole // size} {big}" + (f" {rest} {small}" if rest else "")
    return f"{whole} s"


def outcome(iteration: dict[str, Any]) -> str:
    """Return the iteration's outcome as a word with its sign, or the step it is at."""
    if iteration["outcome"] is None:
        return f"● {iteration['step'] or 'starting'}"
    return "✓ accepted by hand" if iteration["override"] else OUTCOMES[iteration["outcome"]][0]


def now(run: dict[str, Any], at: float, held: bool = False) -> str:
    """Say what the run does: its iteration's step and for how long, or why it waits.

    `held` means that the whole queue is held.
    """
    current = run["current"]
    asks = approval(run["id"], current) if current else ""
    if run["status"] == "paused":
        return f"{run['reason']}; {asks}" if asks else str(run["reason"])
    if asks:
        return f"waits: {asks}"
    if run["waits"]:
        return f"waits: {run['waits']}"
    if run["status"] == "queued":
        return ""
    if current is None:
        return "between iterations" if run["count"] else "making the task ready"
    attempt = f", attempt {current['attempt']}" if current["attempt"] > 1 else ""
    since = f" for {duration(at - current['step_started'])}" if current["step"] and not held else ""
    return f"iteration {current['number']}: {current['step'] or 'starting'}{since}{attempt}"


def approval(run_id: str, iteration: dict[str, Any]) -> str:
    """Say that the iteration's candidate waits for a person, and how to let it go on; empty for others."""
    if iteration["review"] != "waits" or iteration["outcome"] is not None:
        return ""
    from kpd.text.waits import approval as told

    return told(run_id, iteration["number"])


def run_state(run: dict[str, Any], held: bool = False) -> str:
    """Return the run's state as a word with its sign; `held` means that the whole queue is held."""
    if run["status"] == "ended":
        return RUN_OUTCOMES.get(run["outcome"] or "", ("ended", ""))[0]
    if run["status"] == "running" and run["waiting"] is not None:
        return WAITING
    if run["status"] == "running" and held:
        return HELD
    return STATUSES[run["status"]][0]
