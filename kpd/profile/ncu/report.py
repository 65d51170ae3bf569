"""Reads a report with NVIDIA's `ncu_report`, which needs neither ncu nor a GPU."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import ncu_report

from kpd.model.profiles import Scope
from kpd.profile.ncu.launches import Level, ProfiledLaunch, VendorAdvice, base
from kpd.profile.ncu.metrics import SOURCES

_LEVELS: dict[int, Level] = {
    ncu_report.MsgType_OK: "INF",
    ncu_report.MsgType_OPTIMIZATION: "OPT",
    ncu_report.MsgType_WARNING: "WRN",
    ncu_report.MsgType_ERR: "WRN",
}
_SCOPES: dict[int, Scope] = {ncu_report.SpeedupType_GLOBAL: "global", ncu_report.SpeedupType_LOCAL: "local"}
_NUMBERS = (
    ncu_report.IMetric.ValueKind_DOUBLE,
    ncu_report.IMetric.ValueKind_FLOAT,
    ncu_report.IMetric.ValueKind_UINT32,
    ncu_report.IMetric.ValueKind_UINT64,
)


def launches(path: Path) -> Iterator[ProfiledLaunch]:
    """Yield every kernel launch of the report, in its order."""
    report = ncu_report.load_report(str(path))
    for at in range(report.num_ranges()):
        collected = report.range_by_idx(at)
        for number in range(collected.num_actions()):
            yield _launch(collected.action_by_idx(number))


def _launch(action: Any) -> ProfiledLaunch:
    return ProfiledLaunch(
        action.name(action.NameBase_FUNCTION),
        tuple(_ranges(action.nvtx_state())),
        _dims(action, "launch__grid_dim"),
        _dims(action, "launch__block_dim"),
        {name: value for name in sorted(SOURCES) if (value := _value(action, name)) is not None},
        tuple(_advice(action)),
    )


def _value(action: Any, name: str) -> float | None:
    metric = action.metric_by_name(name)
    if metric is None or not metric.has_value() or metric.kind() not in _NUMBERS:
        return None
    return base(float(metric.value()), metric.unit())


def _dims(action: Any, name: str) -> tuple[int, ...]:
    found = [_value(action, f"{name}_{axis}") for axis in "xyz"]
    return tuple(int(size) for size in found if size is not None)


def _ranges(state: Any) -> Iterator[str]:
    if state is not None:
        for id in state.domains():
            yield from state.domain_by_id(id).push_pop_ranges()


def _advice(action: Any) -> Iterator[VendorAdvice]:
    for found in action.rule_results_as_dicts():
        message = found.get("rule_message", {})
        level = _LEVELS.get(message.get("type", ncu_report.MsgType_NONE))
        if level is not None and message.get("message"):
            estimate = found.get("speedup_estimation", {})
            scope = _SCOPES.get(estimate.get("type"), "")
            yield VendorAdvice(found["rule_identifier"], level, message["message"], estimate.get("speedup"), scope)
