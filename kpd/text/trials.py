"""Renders trials, and what their agent has left of its budget."""

from collections.abc import Iterable

from kpd.model.profiles import CaseTime
from kpd.model.trials import TrialBudget, Tried
from kpd.text.faults import fault
from kpd.text.flags import flags
from kpd.text.gains import brief, gain, signed
from kpd.text.numbers import counted
from kpd.text.waits import trouble

MOST_CASES = 16
NO_VERDICT = "a trial decides nothing: kpd measures what lies in the tree at the end"


def tried(found: Tried) -> str:
    """Say what a trial found, on a line or, with its cases, several."""
    lines = [f"trial {found.trial} against iteration {found.against}: {_ended(found)}"]
    lines += cases(found.cases)
    lines += [f"flags: {flags(found.flags)}"] if found.flags else []
    return "\n".join([*lines, found.feedback] if found.feedback else lines)


def headline(found: Tried) -> str:
    """Say what a trial found, in short."""
    ended = gain(found.gain) if found.gain is not None else _ended(found)
    return f"trial {found.trial} against iteration {found.against}: {ended}"


def _ended(found: Tried) -> str:
    if found.gain is not None:
        sure = f"{100 * found.gain.confidence:.0f} % interval of {counted(found.processes, 'process')}"
        return f"{gain(found.gain)}, {sure}; {NO_VERDICT}"
    if found.fault is not None:
        return fault(found.fault)
    if found.trouble is not None:
        return f"not measured: {trouble(found.trouble)}"
    return "cut off before it was measured"


def cases(found: Iterable[CaseTime]) -> list[str]:
    """List the cases of a contest, a line each; of many only the first."""
    listed = tuple(found)
    told = [_case(one) for one in listed[:MOST_CASES]]
    return [*told, f"and {len(listed) - MOST_CASES} more"] if len(listed) > MOST_CASES else told


def _case(found: CaseTime) -> str:
    rest = ""
    if found.roofline_us:
        rest = f"; {signed(100 * found.roofline_us / found.candidate_us)} % of the roofline"
    return (
        f"- {found.case}: {found.candidate_us:.4g} µs, incumbent {found.incumbent_us:.4g} µs"
        f" ({brief(found.gain_pct)}){rest}"
    )


def left(found: TrialBudget) -> str:
    """Say what is left for trials."""
    return f"left: {found.trials} trials, {found.device_s:.0f} s on the device"
