"""Describes the incumbent's measurements for the user message: bottleneck, cases, findings, counters."""

import math
from collections.abc import Collection, Iterable, Iterator, Mapping

from kpd.agents.prompt.quoting import fenced
from kpd.knowledge.efficacy import NEVER, Efficacy, by_efficacy
from kpd.model.metrics import METRICS, grouped, of_case, parted
from kpd.model.profiles import Advice, Finding
from kpd.text.foreign import plain
from kpd.text.gains import brief

ALWAYS = (
    "sm_pct", "dram_pct", "l2_pct", "sectors_per_load", "sectors_per_store", "shared_conflict_pct", "occupancy_pct",
    "issue_pct", "hot_vector_pct", "hot_vector_bits", "cache_mpki", "loops_missed",
)  # fmt: skip
"""Counters that are always told, as far as they were measured, beside those that findings look at."""
ELSEWHERE = frozenset(
    ("call_us", "event_us", "device_us", "roofline_pct", "gbs", "grid", "block_threads", "registers", "shared_bytes",
     "ptxas_registers", "waves", "limit_registers", "limit_shared", "limit_warps", "limit_blocks", "instructions",
     "shared_conflicts_load", "shared_conflicts_store", "local_requests", "tensor_instructions")
)  # fmt: skip
"""Counters that are told elsewhere: with the bottleneck, the cases, the launch, or by a finding."""
STALLS = 2
"""How many of the largest stalls are told, whether a rule looks at them or not."""
SPREAD = 0.5
"""A range over the cases that is smaller than this share of the value is not told."""
LAUNCHING_PCT = 5.0
"""If launching takes at least this share of a call, the time on the device is told, too."""
MOST_CASES = 16
MOST_FINDINGS = 4
MOST_ACTIONS = 2
"""How many findings are told with what they saw, and with what to do; of others only the rule's name is told."""
MOST_ADVICE = 3
LONGEST_ADVICE = 120
LEAST_ADVICE_PCT = 5.0
"""Advice that promises less, of the time or of anything else, or gives no figure, is left out."""


def cases(metrics: Mapping[str, float]) -> str:
    """List each case's time and the share of its roofline that it reaches; empty where nothing was timed."""
    names = [case for metric, case in map(parted, metrics) if metric == "call_us" and case]
    told = [_case(metrics, case) for case in names[:MOST_CASES]]
    more = f"; and {len(names) - MOST_CASES} more" if len(names) > MOST_CASES else ""
    return f"Cases (µs a call, % of roofline, as measured then): {'; '.join(told)}{more}." if told else ""


def _case(metrics: Mapping[str, float], case: str) -> str:
    share = metrics.get(of_case("roofline_pct", case))
    text = f"{_name(case)} {number(metrics[of_case('call_us', case)])}"
    if metrics.get(of_case("launch_overhead_pct", case), 0.0) >= LAUNCHING_PCT:
        text += f" (on the device {number(metrics[of_case('device_us', case)])})"
    return text if share is None else f"{text}, {share:.0f} %"


def launch(metrics: Mapping[str, float]) -> str:
    """Describe the launch of the case that takes longest, and what limits it; empty where nothing was counted."""
    times = {case: us for name, us in metrics.items() if parted(name)[0] == "call_us" and (case := parted(name)[1])}
    case = max(times, key=lambda name: times[name], default="")
    of = {name: metrics.get(of_case(name, case), metrics.get(name, math.nan)) for name in ELSEWHERE}
    if not all(math.isfinite(of[name]) for name in ("grid", "block_threads", "registers", "shared_bytes", "waves")):
        return ""
    limits = {what: of[f"limit_{what}"] for what in ("registers", "shared", "warps", "blocks")}
    known = {what: value for what, value in limits.items() if math.isfinite(value)}
    tightest = min(known, key=lambda what: known[what], default="")
    sms = of["grid"] / (of["waves"] * min(known.values())) if known and of["waves"] and all(known.values()) else 0.0
    return (
        f"Launch of {_name(case)}: {of['grid']:,.0f} blocks of {of['block_threads']:.0f} threads,"
        f" {of['waves']:.3g} waves{f' on {sms:.0f} SMs' if sms else ''}; {of['registers']:.0f} registers a thread,"
        f" {of['shared_bytes']:,.0f} bytes of shared memory a block"
        f"{f'; {tightest} let {known[tightest]:.0f} blocks onto an SM' if tightest else ''}."
    )


def findings(
    fired: Iterable[Finding],
    known: Mapping[str, Efficacy],
    advice: Iterable[Advice] = (),
    first: Collection[str] = (),
) -> Iterator[str]:
    """Yield the findings, the most severe first, and of equal ones those whose skill has helped most before.

    The first few say what they saw, the very first also what to do; the rest are listed by their rules. Findings of the
    rules in `first` come before all others. A ✓ marks those that the vendor's profiler confirms, with the share of the
    time that it expects to be saved, if it gives one.
    """
    agreed: dict[str, float] = {}
    for piece in advice:
        if piece.agrees:
            agreed[piece.agrees] = max(agreed.get(piece.agrees, 0.0), _saved(piece))
    ordered = _ordered(fired, known, first)
    for at, finding in enumerate(ordered[:MOST_FINDINGS], 1):
        text = f"{at}. [{finding.rule}] {finding.severity}: {plain(finding.message, 300)}"
        text += f" → {plain(finding.action, 300)}" if at <= MOST_ACTIONS else ""
        text += _tried(known.get(finding.rule, NEVER))
        if finding.rule in agreed:
            share = agreed[finding.rule]
            text += f" ✓ NVIDIA{f' {share:.0f} %' if share >= LEAST_ADVICE_PCT else ''}"
        yield text
    if rest := ordered[MOST_FINDINGS:]:
        yield f"Fired, too: {', '.join(finding.rule for finding in rest)}"


def _name(case: str) -> str:
    """Return a case's name, made safe for the beginning of a line: a task with its own benchmark chooses it."""
    return plain(case, 60).replace("`", "'")


def _tried(found: Efficacy) -> str:
    if not found.tried:
        return ""
    gain = "" if found.median_pct is None else f", median gain {brief(found.median_pct)}"
    return f" (attempts at it: {found.tried}, accepted {found.accepted}{gain})"


def _ordered(fired: Iterable[Finding], known: Mapping[str, Efficacy], first: Collection[str]) -> tuple[Finding, ...]:
    return tuple(sorted(by_efficacy(fired, known), key=lambda finding: finding.rule not in first))


def counters(
    metrics: Mapping[str, float],
    fired: Iterable[Finding],
    known: Mapping[str, Efficacy],
    first: Collection[str] = (),
) -> Iterator[str]:
    """Yield a line per group of counters: some that are always told, the largest stalls, and those of some findings.

    These are the findings that `findings` names only by their rule; the others give their own figures. The range over
    the cases is added where it is wide.
    """
    stalls = {name: value for name, value in metrics.items() if name.startswith("stall_") and not parted(name)[1]}
    waits = [name for name in stalls if name not in ("stall_selected", "stall_not_selected")]
    most = sorted(waits, key=lambda name: -stalls[name])[:STALLS]
    rest = _ordered(fired, known, first)[MOST_FINDINGS:]
    wanted = {*ALWAYS, *most, *(name for finding in rest for name in finding.evidence)}
    there = (name for name in METRICS if name in wanted - ELSEWHERE and math.isfinite(metrics.get(name, math.nan)))
    for group, of_group in grouped(there).items():
        told = [_told(metric.name, metric.unit, metrics) for metric in of_group if _tells(metric.name, metrics)]
        if told:
            yield f"- {group}: {' · '.join(told)}"


def _tells(name: str, metrics: Mapping[str, float]) -> bool:
    """Return whether a counter is worth telling: not where it is zero, unless it is a share of a peak."""
    return metrics[name] != 0 or METRICS[name].unit == "% of peak"


def _told(name: str, unit: str, metrics: Mapping[str, float]) -> str:
    value = metrics[name]
    of_cases = [found for each, found in metrics.items() if parted(each)[0] == name and parted(each)[1]]
    least, most = min(of_cases, default=value), max(of_cases, default=value)
    spread = f" ({number(least)} to {number(most)})" if most - least > SPREAD * abs(value) else ""
    return f"{name} {number(value)}{'' if unit in ('', '% of peak', '%') else f' {unit}'}{spread}"


def advice(pieces: Iterable[Advice]) -> str:
    """Return the first sentence of each piece of the profiler's advice that no finding covers; empty without any.

    An estimate that is not about the run time is told without its figure, which a model would take for a gain.
    """
    beyond = [piece for piece in pieces if not piece.agrees and (piece.speedup_pct or 0) >= LEAST_ADVICE_PCT]
    return fenced("\n".join(map(_piece, beyond[:MOST_ADVICE]))) if beyond else ""


def _piece(piece: Advice) -> str:
    gain = f" ({_saved(piece):.0f} %)" if piece.scope == "global" else ""
    return f"{plain(piece.rule, 60)}{gain}: {_sentence(piece.text)}"


def _saved(piece: Advice) -> float:
    """Return the share of the time, in percent, that the vendor's profiler expects to be saved; 0 without one."""
    return (piece.speedup_pct or 0.0) if piece.scope == "global" else 0.0


def _sentence(text: str) -> str:
    line = plain(text, 4 * LONGEST_ADVICE)
    end = line.find(". ")
    return plain(line[: end + 1] if 0 < end < LONGEST_ADVICE else line, LONGEST_ADVICE)


def number(value: float) -> str:
    """Format a number with three digits, or with all digits before the point."""
    if not math.isfinite(value):
        return "?"
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"
