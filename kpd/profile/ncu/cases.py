"""Assigns launches to cases, and computes their metrics for each case and for all.

Every case counts by its time. That ncu measured the right kernels is checked, not assumed.
"""

import math
import re
from collections.abc import Collection, Mapping, Sequence

from kpd.measure.bench import LaunchFilter
from kpd.model.metrics import of_case
from kpd.model.profiles import Advice
from kpd.profile.ncu.launches import ProfiledLaunch
from kpd.profile.ncu.metrics import CURATED, DURATION, Counter
from kpd.text.foreign import plain
from kpd.text.numbers import counted

NONE = "the kernel makes no such request"
CHECK = "LaunchCheck"
"""The rule's name in kpd's own advice about what ncu has measured."""
MOST_NAMED = 3
CUT = "ncu stopped before the last launch"
NARROW = "name the candidate's with kernel in [profile] of task.toml, or mark them (marked = true)"

Values = dict[str, float | str]
"""Metric → its value, or why there is none."""


def read(
    by_case: Mapping[str, Sequence[ProfiledLaunch]], weights: Mapping[str, float], cut: str | None = None
) -> tuple[dict[str, float], dict[str, str]]:
    """Compute the metrics of all cases together and of each case, and the reason for each metric that is missing.

    `weights` has each case's time. Launches of a case without a name count for all cases together only. The case `cut`
    lacks some launches: it has no sums.
    """
    values = {case: _joined(of) for case, of in by_case.items() if of}
    if cut in values:
        values[cut] |= {counter.name: CUT for counter in CURATED if counter.join == "sum"}
    metrics: dict[str, float] = {}
    missing: dict[str, str] = {}
    for counter in CURATED:
        whole = _over_cases(counter, {case: found[counter.name] for case, found in values.items()}, weights)
        if isinstance(whole, str):
            missing[counter.name] = whole
        else:
            metrics[counter.name] = whole
    for case, of in values.items():
        for name, found in of.items() if case else ():
            if not isinstance(found, str):
                metrics[of_case(name, case)] = found
            elif name not in missing:
                missing[of_case(name, case)] = found
    if values and "" not in values:
        for case in weights:
            if case not in values:
                missing[of_case("duration_us", case)] = (
                    CUT if cut is not None else "ncu saw no kernel launch in this case"
                )
    return metrics, missing


def assigned(
    launches: Sequence[ProfiledLaunch], cases: Sequence[str], asked: LaunchFilter
) -> tuple[dict[str, list[ProfiledLaunch]], tuple[Advice, ...]]:
    """Assign the launches to cases: by NVTX range, else by their order, else by their names. Also return warnings.

    The order decides only where nothing but the cases' launches was `asked` for, or where every case launches the same
    kernels. When nothing tells the cases apart, all launches belong to one case without a name.
    """
    ranged = [(next((name for name in launch.ranges if name in cases), ""), launch) for launch in launches]
    if any(case for case, _ in ranged):
        outside = [launch for case, launch in ranged if not case]
        text = f"ncu measured {_kernels(outside)} outside every case: left out" if outside else ""
        return {case: [one for of, one in ranged if of == case] for case in cases}, _odd(text)
    each, rest = divmod(len(launches), len(cases)) if cases else (0, 1)
    if each and not rest and len(launches) < asked.most:
        split = {case: list(launches[at * each : (at + 1) * each]) for at, case in enumerate(cases)}
        if asked.marked or len({tuple(launch.kernel for launch in of) for of in split.values()}) == 1:
            return split, ()
    named = {case: [launch for launch in launches if _word(case, launch.kernel)] for case in cases}
    if any(named.values()):
        return named, ()
    if not launches:
        return {}, ()
    measured = f"{counted(len(launches), 'launch')} for {counted(len(cases), 'case')}"
    text = f"ncu measured {measured}, and nothing tells which are whose"
    return {"": list(launches)}, _odd(text)


def cut(
    by_case: Mapping[str, Sequence[ProfiledLaunch]], launches: Sequence[ProfiledLaunch], asked: LaunchFilter
) -> str | None:
    """Return the case in which ncu stopped after as many launches as it was `asked` for; None if it did not."""
    if len(launches) < asked.most:
        return None
    whose = {id(launch): case for case, of in by_case.items() for launch in of}
    return next((whose[id(launch)] for launch in reversed(launches) if id(launch) in whose), None)


def warnings(launches: Sequence[ProfiledLaunch], asked: LaunchFilter) -> tuple[Advice, ...]:
    """Return warnings if the numbers may be those of other kernels, or of only a part of the launches `asked` for."""
    found: tuple[Advice, ...] = ()
    if len(launches) >= asked.most:
        found += _odd(f"ncu stopped after {asked.most} launches, so what comes after them is not known: {NARROW}")
    if launches and not asked.kernel and not asked.marked:
        found += _odd(f"ncu took every kernel of the process for the candidate's: {NARROW}")
    return found


def value(counter: Counter, metrics: Mapping[str, float]) -> float | str:
    """Compute the counter's value by the first way that the metrics allow, or return why there is none."""
    reason = ""
    for way in counter.ways:
        lacking = next((name for name in (*way.top, *way.bottom) if name not in metrics), None)
        if lacking is not None:
            reason = reason or f"ncu reports no {lacking}"
            continue
        if way.given and not sum(metrics.get(name, 1.0) for name in way.given):
            return NONE
        below = sum(metrics[name] for name in way.bottom)
        if way.bottom and not below:
            return NONE
        above = way.scale * way.fold(metrics[name] for name in way.top)
        found = above / below if way.bottom else above
        return found if math.isfinite(found) else f"what ncu reports as {way.top[0]} makes no sense"
    return reason


def _word(case: str, kernel: str) -> bool:
    return re.search(rf"(?<![A-Za-z0-9]){re.escape(case)}(?![A-Za-z0-9])", kernel) is not None


def _joined(launches: Sequence[ProfiledLaunch]) -> Values:
    """Combine several launches of one case into one."""
    longest = max(launches, key=_duration)
    added = _added(launches)
    found: Values = {}
    for counter in CURATED:
        if counter.join == "lead" or len(launches) == 1:
            found[counter.name] = value(counter, longest.metrics)
        elif counter.join == "sum" or all(name.endswith(".sum") for name in counter.sources):
            found[counter.name] = value(counter, added)
        else:
            found[counter.name] = _mean([(value(counter, one.metrics), _duration(one)) for one in launches])
    return found


def _added(launches: Sequence[ProfiledLaunch]) -> dict[str, float]:
    """Sum each metric that every launch has."""
    names = set(launches[0].metrics).intersection(*(launch.metrics for launch in launches))
    return {name: sum(launch.metrics[name] for launch in launches) for name in names}


def _over_cases(counter: Counter, values: Mapping[str, float | str], weights: Mapping[str, float]) -> float | str:
    pairs = [(found, weights.get(case, 1.0)) for case, found in values.items()]
    if not pairs:
        return "ncu saw no kernel launch"
    if counter.join == "mean":
        return _mean(pairs)
    known = [(weight, found) for found, weight in pairs if not isinstance(found, str)]
    lacking = [(case, found) for case, found in values.items() if isinstance(found, str)]
    if not known:
        return lacking[0][1]
    if counter.join == "lead":
        return max(known)[1]
    return ": ".join(lacking[0]) if lacking else sum(found for _, found in known)


def _mean(pairs: Sequence[tuple[float | str, float]]) -> float | str:
    """Compute the weighted mean of those that have a value; return the first one's reason when none has."""
    known = [(found, weight) for found, weight in pairs if not isinstance(found, str)]
    if not known:
        return next(found for found, _ in pairs if isinstance(found, str))
    total = sum(weight for _, weight in known)
    if not total:
        return sum(found for found, _ in known) / len(known)
    return sum(found * weight for found, weight in known) / total


def _duration(launch: ProfiledLaunch) -> float:
    return launch.metrics.get(DURATION, 0.0)


def strangers(by_case: Mapping[str, Sequence[ProfiledLaunch]], own: Collection[str]) -> tuple[Advice, ...]:
    """Warn of kernels that are not the candidate's: a library's, a fill, or a measurement of something else."""
    launches = [launch for of in by_case.values() for launch in of]
    foreign = list(dict.fromkeys(launch.kernel for launch in launches if launch.kernel not in own))
    if not own or not foreign:
        return ()
    cases = tuple(case for case, of in by_case.items() if case and any(launch.kernel in foreign for launch in of))
    only = all(launch.kernel in foreign for launch in launches)
    what = "only kernels that are not" if only else "also kernels that are not"
    return (Advice(CHECK, "WRN", f"ncu measured {what} the candidate's own: {_names(foreign)}", cases=cases),)


def _odd(text: str) -> tuple[Advice, ...]:
    return (Advice(CHECK, "WRN", text),) if text else ()


def _kernels(launches: Sequence[ProfiledLaunch]) -> str:
    count = f"{len(launches)} launches" if len(launches) > 1 else "a launch"
    return f"{count} ({_names(list(dict.fromkeys(launch.kernel for launch in launches)))})"


def _names(names: Sequence[str]) -> str:
    more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    return ", ".join(plain(name, 60) for name in names[:MOST_NAMED]) + more
