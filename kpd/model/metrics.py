"""Every metric that a profile may hold: its name, what to call it, its unit, and which way is better."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal

Group = Literal["speed", "counters", "hot loop", "compiler"]
GROUPS: tuple[Group, ...] = ("speed", "counters", "hot loop", "compiler")


@dataclass(frozen=True, slots=True)
class Metric:
    """`better` is None where neither way is; `ceiling` is the value that nothing can pass, where there is one."""

    name: str
    label: str
    unit: str
    group: Group
    better: Literal["up", "down"] | None
    ceiling: float | None = None


_CATALOGUE = (
    Metric("call_us", "time of a call", "µs", "speed", "down"),
    Metric("roofline_pct", "share of roofline", "%", "speed", "up", 100),
    Metric("memory_roofline_pct", "share of roofline, cases that memory limits", "%", "speed", "up", 100),
    Metric("compute_roofline_pct", "share of roofline, cases that arithmetic limits", "%", "speed", "up", 100),
    Metric("worst_roofline_pct", "share of roofline, worst case", "%", "speed", "up", 100),
    Metric("best_roofline_pct", "share of roofline, best case", "%", "speed", "up", 100),
    Metric("gbs", "memory traffic", "GB/s", "speed", "up"),
    Metric("gflops", "arithmetic", "GFLOP/s", "speed", "up"),
    Metric("intensity", "arithmetic intensity", "FLOP/byte", "speed", None),
    Metric("ipc", "instructions a cycle", "", "counters", "up"),
    Metric("clock_ghz", "clock", "GHz", "counters", None),
    Metric("branch_miss_pct", "branches mispredicted", "%", "counters", "down", 100),
    Metric("branch_mpki", "mispredictions a 1000 instructions", "", "counters", "down"),
    Metric("cache_miss_pct", "last-level cache references missed", "%", "counters", "down", 100),
    Metric("cache_mpki", "last-level cache misses a 1000 instructions", "", "counters", "down"),
    Metric("hot_instructions", "instructions", "", "hot loop", None),
    Metric("hot_vector_fp", "packed FP instructions", "", "hot loop", None),
    Metric("hot_scalar_fp", "scalar FP instructions", "", "hot loop", "down"),
    Metric("hot_vector_pct", "FP instructions that are packed", "%", "hot loop", "up", 100),
    Metric("hot_vector_bits", "widest vector", "bit", "hot loop", "up"),
    Metric("machine_vector_bits", "widest vector of the machine", "bit", "hot loop", None),
    Metric("hot_stack", "loads and stores of the stack", "", "hot loop", "down"),
    Metric("hot_calls", "calls", "", "hot loop", "down"),
    Metric("hot_element_loads", "gathers and single-lane loads", "", "hot loop", "down"),
    Metric("hot_divisions", "divisions and square roots", "", "hot loop", "down"),
    Metric("loops_vectorised", "loops vectorised", "", "compiler", "up"),
    Metric("loops_missed", "loops not vectorised", "", "compiler", "down"),
    Metric("missed_call", "not vectorised: a call", "", "compiler", "down"),
    Metric("missed_reduction", "not vectorised: order of additions", "", "compiler", "down"),
    Metric("missed_alias", "not vectorised: possible overlap", "", "compiler", "down"),
    Metric("missed_control", "not vectorised: branches or loop count", "", "compiler", "down"),
    Metric("missed_access", "not vectorised: access pattern", "", "compiler", "down"),
    Metric("missed_other", "not vectorised: other reasons", "", "compiler", "down"),
)

METRICS: dict[str, Metric] = {metric.name: metric for metric in _CATALOGUE}
PER_CASE = ("call_us", "roofline_pct", "gbs", "gflops")
"""These also exist for each case of a task, as `gbs[case]`."""

_OF_CASE = re.compile(r"(\w+)\[(.+)\]", re.DOTALL)


def of_case(name: str, case: str) -> str:
    """The name of metric `name` for one case."""
    return f"{name}[{case}]"


def describe(name: str) -> Metric | None:
    """The catalogue's entry for `name`; for a metric of one case, its entry with the case in the label."""
    if (found := _OF_CASE.fullmatch(name)) is None:
        return METRICS.get(name)
    base = METRICS[found[1]] if found[1] in PER_CASE else None
    return base and replace(base, name=name, label=f"{base.label}, {found[2]}")


def grouped(names: Iterable[str]) -> dict[Group, list[Metric]]:
    """The metrics among `names` by group, in the catalogue's order; a name that no catalogue knows is left out."""
    order = {name: at for at, name in enumerate(METRICS)}
    found = [metric for name in names if (metric := describe(name)) is not None]
    found.sort(key=lambda metric: (order[metric.name.split("[")[0]], metric.name))
    return {group: [metric for metric in found if metric.group == group] for group in GROUPS}
