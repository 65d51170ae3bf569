"""Renders the flags of a candidate."""

from kpd.model import flags as f
from kpd.model.kinds import Told

_DOES: dict[f.Purpose, str] = {
    "system": "calls the system past its library",
    "clock": "reads a clock",
    "cache": "drops data from a cache",
    "modes": "changes how numbers are rounded or denormal ones are treated",
    "unfenced": "stores past the caches with no fence after it: another thread may read old values",
    "unordered": "reads what other blocks stored, as an atomic tells, with no fence between: it may read old values",
    "unsent": "sends what was stored in shared memory, with no fence of the copy engine between: perhaps old values",
    "hidden": "is not code as it stands",
}


def flag(found: f.Flag) -> str:
    """Say what looks wrong with a candidate, in one line."""
    match found:
        case f.Calls():
            return f"calls {found.symbol}, which no kernel needs"
        case f.Replaces():
            return f"replaces {found.symbol} for other code"
        case f.Executes():
            return f"has the instruction {found.instruction}, which {_DOES[found.purpose]}"
        case f.RunsAtLoad():
            return f"runs code when it is loaded: {found.function}"
        case f.HasSection():
            return f"has the section {found.section}, which no kernel needs"
        case f.NotInspected():
            return f"could not be inspected: {found.why}"
        case f.InSource():
            return f"{found.place} {found.what}"
        case Told():
            return found.text


def held(run: str, number: int) -> str:
    """Say that a winner with flags waits for a person, and what that person can do."""
    name = f"{run}.{number}"
    return f"{name} won, but it is flagged: kpd diff {name}, then kpd accept {name} or kpd decline {name}"


def flags(found: tuple[f.Flag, ...], most: int = 3) -> str:
    """Say what looks wrong, the first `most` flags, in one line."""
    told = "; ".join(map(flag, found[:most]))
    return f"{told}; and {len(found) - most} more" if len(found) > most else told
