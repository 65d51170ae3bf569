"""Renders a verdict."""

from kpd.model.verdicts import HeldOut, Rule, Verdict
from kpd.text.gains import brief, gain
from kpd.text.numbers import counted

BASELINE_IS_TRUTH = "the outputs of the baseline, as the task has no reference"
UNCHECKED = "unchecked: nothing compares the results of this task, so they may be wrong"


def verdict(found: Verdict) -> str:
    """Say why a candidate was accepted, or not."""
    if found.rule == "told":
        return found.told
    if found.rule == "worst_case" and found.worst is not None:
        slow = f"the case {found.worst.case} is slower than the task allows: {gain(found.worst.gain)}"
        floor = f"each has to keep {found.worst_case:g}× of the incumbent's speed"
        return f"{slow}, but {floor}; all cases together {_known(found, found.before or found.rule)}"
    if found.held_out is None:
        return _known(found, found.rule)
    known, told = _known(found, found.before or found.rule), _held_out(found.held_out, found.least_pct)
    if found.rule != "held_out":
        return f"{known}; held out: {told}"
    luck = f"both times and by more than the {found.held_out.noise_pct:.1f} % of the noise"
    return f"slower on the held-out cases: {_compared(found.held_out)}, {luck}; on the known ones {known}"


def interval(found: Verdict) -> str:
    """Format the gain as `3.1 % less time [2.4, 3.8] over 5 processes, which differ by 0.3 %`."""
    return f"{gain(found.gain)} over {counted(found.processes, 'process')}{spread(found)}"


def spread(found: Verdict) -> str:
    """Say by how much processes differ, each with another code layout; empty where an older kpd did not note it."""
    return (
        ""
        if found.spread_pct is None
        else f", which differ by {found.spread_pct:.{1 if found.spread_pct >= 0.05 else 2}f} %"
    )


def _known(found: Verdict, rule: Rule) -> str:
    """Say what the known cases show, under one of the rules."""
    measured, asked = interval(found), f"{found.least_pct:g} %"
    match rule:
        case "confirmed":
            of_all = " on average, as a few calls take much longer" if found.on_average else ""
            return f"faster: {measured}{of_all}, confirmed by a second look"
        case "unconfirmed":
            return f"faster: {measured}, but the look before did not agree; two in a row are needed"
        case "too_little":
            return f"faster, but by less than the {asked} asked for: {measured}"
        case "slower":
            return f"slower: {measured}"
        case "same":
            return f"no difference of {asked} or more either way: {measured}"
        case "no_gain":
            return f"a gain of {asked} is ruled out, a loss is not: {measured}"
        case "undecided":
            seen = f"only a gain of {found.visible_pct:.1f} % or more could have been seen"
            return f"cannot be told apart from code layout and noise, which differ by process; {seen}: {measured}"
    return found.told or measured


def _held_out(final: HeldOut, least_pct: float) -> str:
    if final.incumbent is None:
        return f"{final.score_name} {final.score:.4g}"
    compared = _compared(final)
    if final.gain_pct >= -least_pct:
        return compared
    return (
        f"{compared}, within the {final.noise_pct:.1f} % of the noise"
        if final.both
        else f"{compared}, but not both times"
    )


def _compared(final: HeldOut) -> str:
    return f"{final.score_name} {final.score:.4g} against {final.incumbent:.4g} ({brief(final.gain_pct)})"
