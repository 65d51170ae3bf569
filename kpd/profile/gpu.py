"""Profiles a candidate on a GPU: times with and without launching, Nsight Compute's counters, ptxas's resources."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from kpd.hosts.errors import HostError
from kpd.measure.bench import Bench, LaunchFilter
from kpd.measure.cuda import ptxas
from kpd.model.codec import CodecError
from kpd.model.facts.steps import Timed
from kpd.model.metrics import METRICS, PER_CASE, of_case, parted
from kpd.model.profiles import CaseTime, Finding
from kpd.profile import rules, speed, triton
from kpd.profile.gpu_rules import GPU_RULES
from kpd.profile.ncu import advice, cases, child, collect
from kpd.profile.ncu.launches import ProfiledLaunch
from kpd.profile.ncu.metrics import NAMES, STALLS
from kpd.profile.ncu.read import DETAILS, RAW, REPORT, has_reader
from kpd.profile.profile import Profile
from kpd.profile.rules import Rule

LAUNCH_PCT = 20.0
"""From this share of a call on, launching may be the bottleneck; see `_launch_bound`."""
HALF_BUSY_PCT = 60.0
"""Like Nsight Compute, kpd calls a kernel latency bound when neither arithmetic nor memory reaches this share."""
HALF_ROOFLINE_PCT = 50.0
"""Without counters, what limits a kernel is known only from this share of the roofline on."""
TRAFFIC = ("dram_read_mb", "dram_write_mb")
COMPILED = ("ptxas_registers", "spill_store_bytes", "spill_load_bytes", "stack_bytes", "static_shared_bytes")


async def measured(
    bench: Bench, built: str, timed: Timed, job: str, say: Callable[[str], None], advised: bool = True
) -> Profile:
    """Profile a candidate on a GPU: see `profile.ProfileCandidate`.

    Without ncu, or without the permission to count, all other metrics are still there.
    """
    return await _measured(bench, built, timed, job, say, "advice" if advised else "counters")


async def in_full(
    bench: Bench, built: str, timed: Timed, job: str, say: Callable[[str], None], advised: bool = True
) -> Profile:
    """Profile as `measured` does, with everything that ncu can collect: for a person to open, and for more advice."""
    found = await _measured(bench, built, timed, job, say, "full")
    return replace(found, files={name.replace(".", "_full.", 1): content for name, content in found.files.items()})


async def uncounted(bench: Bench, built: str, timed: Timed) -> dict[str, float]:
    """Read the metrics that need no counters: ptxas's resources, and times with and without launching.

    See `profile.TimedMetrics`.
    """
    compiled = ptxas.parse((await bench.listing(built)).remarks)
    speeds, _ = speed.read(timed.cases, bench.work)
    return concluded((), "not asked for", timed.cases, speeds, compiled, bench.launches).metrics


async def _measured(
    bench: Bench, built: str, timed: Timed, job: str, say: Callable[[str], None], depth: collect.Depth
) -> Profile:
    compiled = ptxas.parse((await bench.listing(built)).remarks)
    files, reason = await _report(bench, built, job, say, depth)
    launches: tuple[ProfiledLaunch, ...] = ()
    if files:
        try:
            launches = await child.launches(files)
        except child.UnreadableReport as err:
            reason = f"the report of ncu cannot be read: {err}"
    said, known = (b"", None) if compiled else await _triton(bench, job)
    times, untimed = speed.read(timed.cases, bench.work)
    found = concluded(launches, reason, timed.cases, times, compiled, bench.launches, known)
    files |= {triton.FILE: said} if known else {}
    return replace(found, missing=untimed | found.missing, files=files, trouble=reason)


async def _triton(bench: Bench, job: str) -> tuple[bytes, triton.TritonKernels | None]:
    """Read what the runner for Python wrote of Triton's kernels; None where there is nothing that can be read."""
    try:
        said = await bench.output(job, triton.FILE, triton.LARGEST)
        return said, triton.parse(said)
    except CodecError:  # a candidate can write this file
        return b"", None
    except HostError as err:
        if err.kind not in ("not_found", "too_large"):
            raise
        return b"", None


async def _report(
    bench: Bench, built: str, job: str, say: Callable[[str], None], depth: collect.Depth
) -> tuple[dict[str, bytes], str]:
    """Run ncu; return the files of its report by name, or why there are none. Raises HostError."""
    export = not has_reader()

    def script(calls: Callable[[int], str]) -> str:
        return collect.script(calls, bench.device.arch, bench.launches, depth, export)

    ran = await bench.counted(built, job, script, say)
    if reason := collect.refused(ran):
        return {}, reason
    try:
        names = (REPORT, RAW, DETAILS) if export else (REPORT,)
        return {name: await bench.output(job, name, collect.LARGEST) for name in names}, ""
    except HostError as err:
        if err.kind != "too_large":
            raise
        return {}, f"the report of ncu is too large: {err.message}"


def concluded(
    launches: Sequence[ProfiledLaunch],
    reason: str,
    timed: Sequence[CaseTime],
    speeds: Mapping[str, float],
    compiled: Sequence[ptxas.FunctionResources],
    asked: LaunchFilter,
    known: triton.TritonKernels | None = None,
) -> Profile:
    """Combine the metrics of the launches with what is known about a candidate's speed and resources.

    `reason` says why there are no launches, `asked` which launches were asked for. `known` are Triton's kernels.
    """
    weights = {case.case: case.device_us or case.candidate_us for case in timed}
    by_case, odd = cases.assigned(launches, tuple(weights), asked)
    counted, missing = cases.read(by_case, weights, cases.cut(by_case, launches, asked))
    if reason:
        missing = dict.fromkeys(NAMES, reason)
    times, untimed = _times(timed)
    built = triton.metrics(known) if known else ptxas.metrics(compiled)
    metrics = {**speeds, **counted, **times, **built}
    missing |= untimed | ({} if built else dict.fromkeys(COMPILED, "ptxas said nothing about this candidate"))
    own = {function.name for function in compiled if function.registers is not None}
    own |= {kernel.name for kernel in known.kernels} if known else set()
    said = advice.marked(advice.read(by_case, weights), {finding.rule for finding in findings(metrics)})
    checks = (*odd, *cases.warnings(launches, asked), *cases.strangers(by_case, own))
    return Profile(metrics, missing, (*said, *checks))


def _times(timed: Sequence[CaseTime]) -> tuple[dict[str, float], dict[str, str]]:
    """Compute the times as launched, on the device alone, and with the data in the L2.

    Each is given as the mean over the cases, and for each case. The reasons for missing ones come with them.
    """
    metrics: dict[str, float] = {}
    missing: dict[str, str] = {}
    whole: dict[str, list[float | None]] = {
        "event_us": [case.candidate_us for case in timed],
        "device_us": [case.device_us for case in timed],
        "warm_us": [case.warm_us for case in timed],
    }
    for name, times in whole.items():
        known = {case.case: us for case, us in zip(timed, times, strict=True) if us is not None}
        metrics |= {of_case(name, case): us for case, us in known.items()}
        if timed and len(known) == len(timed):
            metrics[name] = sum(known.values()) / len(known)
        else:
            missing[name] = "this task's timing does not measure it separately"
    if timed and all(case.host_us is not None for case in timed):  # of kernels in Python only
        hosts = {case.case: case.host_us or 0.0 for case in timed}
        metrics |= {"host_us": sum(hosts.values()) / len(hosts)}
        metrics |= {of_case("host_us", case): us for case, us in hosts.items()}
    for suffix in ("", *(f"[{case.case}]" for case in timed)):
        event, device = (metrics.get(f"{name}{suffix}") for name in ("event_us", "device_us"))
        if event and device is not None:
            metrics[f"launch_overhead_pct{suffix}"] = 100 * max(0.0, event - device) / event
    if "launch_overhead_pct" not in metrics:
        missing["launch_overhead_pct"] = missing.get("device_us") or missing["event_us"]
    return metrics, missing


def findings(metrics: Mapping[str, float], known: Sequence[Rule] = GPU_RULES) -> tuple[Finding, ...]:
    """Return the findings of the known rules that fire in any case, the severest first.

    Counters that could not be assigned to a case are taken as those of all cases together. Their traffic is then left
    out: it is a sum over the cases, and the rules compare it with the traffic of one call.
    """
    by_case: dict[str, dict[str, float]] = {}
    shared: dict[str, float] = {}
    for name, value in metrics.items():
        plain, case = parted(name)
        if case:
            by_case.setdefault(case, {})[plain] = value
        elif plain not in PER_CASE:
            shared[plain] = value
    weights = {case: of.get("call_us", 0.0) for case, of in by_case.items()}
    fired = rules.apply_cases(known, {case: {**shared, **of} for case, of in by_case.items()}, weights)
    if any(name in NAMES for of in by_case.values() for name in of):
        return fired
    whole = {name: value for name, value in metrics.items() if not parted(name)[1] and name not in TRAFFIC}
    told = {finding.rule for finding in fired}
    together = (finding for finding in rules.apply(known, whole) if finding.rule not in told)
    order = {rule.id: (rules.ORDER[rule.severity], at) for at, rule in enumerate(known)}
    return tuple(sorted((*fired, *together), key=lambda finding: order[finding.rule]))


def limit(metrics: Mapping[str, float]) -> str:
    """Name what limits the candidate: launching, memory, arithmetic, or else latency; empty if unknown."""
    known = {name: value for name, value in metrics.items() if math.isfinite(value)}
    if _launch_bound(known):
        return "launch bound"
    units = _units(known)
    if "sm_pct" not in known or not units:
        return f"{speed.limited_by(known)} bound" if known.get("roofline_pct", 0.0) >= HALF_ROOFLINE_PCT else ""
    if max(*units.values(), known["sm_pct"]) < HALF_BUSY_PCT:
        return "latency bound"
    return "compute bound" if known["sm_pct"] > max(units.values()) else "memory bound"


def bottleneck(metrics: Mapping[str, float]) -> str:
    """Describe in one line what limits the candidate."""
    known = {name: value for name, value in metrics.items() if math.isfinite(value)}
    what, units, compute = limit(known), _units(known), known.get("sm_pct")
    if what == "launch bound":
        return (
            f"launch bound: a call takes {known['event_us']:.3g} µs,"
            f" of which the device works {known['device_us']:.3g} µs"
            f" ({known['launch_overhead_pct']:.0f} % is launching){_roofline(known)}"
        )
    if compute is None or not units:
        return _by_roofline(known, what)
    busiest = max(units, key=lambda unit: units[unit])
    if what == "latency bound":
        return f"latency bound: {_busy(units)}, SMs at {compute:.0f} %{_waiting(known)}{_roofline(known)}"
    if what == "compute bound":
        return f"compute bound: SMs at {compute:.0f} % of their peak, {_busy(units)}{_roofline(known)}"
    others = {unit: share for unit, share in units.items() if unit != busiest}
    return (
        f"memory bound: {busiest} at {units[busiest]:.0f} % of its peak, {_busy({**others, 'SMs': compute})}"
        f"{_roofline(known)}"
    )


_UNITS = {"DRAM": "dram_pct", "L2": "l2_pct"}


def _units(m: Mapping[str, float]) -> dict[str, float]:
    return {unit: m[name] for unit, name in _UNITS.items() if name in m}


def _launch_bound(m: Mapping[str, float]) -> bool:
    """Return whether launching costs more than a better kernel could save.

    That is half of a call, or all that the roofline leaves.
    """
    lost = m.get("launch_overhead_pct", 0.0)
    if not {"event_us", "device_us"} <= m.keys():
        return False
    if lost < LAUNCH_PCT or "roofline_pct" not in m:
        return lost >= 50
    return lost >= 100 - lost - m["roofline_pct"]


def _by_roofline(m: Mapping[str, float], what: str) -> str:
    if "roofline_pct" not in m:
        return "unknown: no counters, and the task gives no roofline"
    return f"{what}{_roofline(m)}; no counters" if what else f"unknown without counters{_roofline(m)}"


def _busy(units: Mapping[str, float]) -> str:
    return ", ".join(f"{unit} at {share:.0f} %" for unit, share in units.items())


def _waiting(m: Mapping[str, float]) -> str:
    """Describe what warps wait for most, apart from their turn to issue."""
    stalls = {name: m[f"stall_{name}"] for name in STALLS if f"stall_{name}" in m}
    waits = {name: share for name, share in stalls.items() if name not in ("selected", "not_selected")}
    if not waits:
        return ""
    most = max(waits, key=lambda name: waits[name])
    return f"; {METRICS[f'stall_{most}'].label} ({100 * waits[most]:.0f} % of their time)"


def _roofline(m: Mapping[str, float]) -> str:
    return f"; {m['roofline_pct']:.0f} % of the roofline{speed.rates(m)}" if "roofline_pct" in m else ""
