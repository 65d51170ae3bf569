"""Tools that measure: the trials of an agent in its session."""

import asyncio
import random
from collections.abc import Mapping
from dataclasses import replace
from itertools import islice, product
from typing import Annotated, Any

from msgspec import Meta

from kpd.agents import space
from kpd.agents.agent import BadReply, Proposal
from kpd.engine import trials
from kpd.engine.attempt import CandidateFailed
from kpd.engine.proposing import start_of, usable
from kpd.engine.tools.desk import Desk, Workplace
from kpd.engine.tools.tool import Answer
from kpd.engine.trials import MOST_PROCESSES, PROCESSES, Spent, TrialProfile, Wish
from kpd.model.trials import Tried
from kpd.operations.operation import Refused
from kpd.text import trials as told
from kpd.text.faults import fault
from kpd.text.gains import gain
from kpd.workspace.candidate_tree import read_tree, refused
from kpd.workspace.task import TaskError

FINISH = "end your turn: kpd then measures what lies in the tree"
MEND = "mend the tree, then try again"
MOST_POINTS = 16
LARGEST_SPACE = 100_000
Processes = Annotated[
    int, Meta(ge=2, le=MOST_PROCESSES, description="fresh processes to time in; more narrow the interval")
]
WithProfile = Annotated[bool, Meta(description="also collect counters, and the rules that fire on them")]
Points = Annotated[int, Meta(ge=1, le=MOST_POINTS, description="the most points to try; each costs a trial")]
Value = Annotated[str, Meta(max_length=100)]
Tune = Annotated[
    dict[Value, Annotated[tuple[Value, ...], Meta(max_length=32)]],
    Meta(max_length=8, description="values by parameter: a #define, a JSON key or a constant; else the task's own"),
]


async def measure(desk: Desk, processes: Processes = PROCESSES, profile: WithProfile = False) -> Answer:
    """Measure the tree as it stands: build it, check its results, time it in pairs against the incumbent.

    It costs one of your trials, and seconds on the device. A trial decides nothing: only the full measurement of what
    lies in the tree at the end of your turn counts. Times are in microseconds a call; a gain is in percent of the
    incumbent's time, with its 95 % interval.
    """
    place = workplace(desk)
    async with place.measuring:
        tried, profiled = await _tried(place, await candidate(place), Wish(processes, profile))
        return _answer(place, tried, profiled, await _strangers(place))


async def profile(desk: Desk) -> Answer:
    """Profile the tree as it stands: counters, the rules that fire on them, the bottleneck. It costs one trial.

    The tree is also built, checked and timed as by `try`. What is known of the incumbent is free: see `findings`.
    """
    return await measure(desk, processes=2, profile=True)


async def sweep(desk: Desk, tune: Tune | None = None, points: Points = 8) -> Answer:
    """Try points of a parameter space on the tree: a trial for each. The tree stays as it is, whatever happens.

    The space is `tune`, else the [tune] table of the task. A space with more points than `points` is sampled, and the
    tree's own point comes first. The points are ranked by their gain over the incumbent in percent of its time, with
    its 95 % interval; set the best one in the tree by yourself, and `try` it again: the best of many looks too good.
    """
    place = workplace(desk)
    async with place.measuring:
        files = await candidate(place)
        parameters = tune or place.attempt.task.tune
        found: list[tuple[space.Point, Tried]] = []
        stopped = ""
        for point in _points(place, files, parameters, points):
            try:
                tried, _ = await _tried(place, _checked(place, _at(files, point)), Wish(2))
            except Refused as err:
                if not found:
                    raise
                stopped = str(err)
                break
            found.append((point, tried))
    ranked = sorted(found, key=lambda one: -one[1].gain.pct if one[1].gain else float("inf"))
    left = trials.left(place.attempt, place.budget)
    lines = [_point_line(point, tried) for point, tried in ranked]
    rows = [{"point": point, **trial_json(tried)} for point, tried in ranked]
    text = "\n".join([*lines, *([stopped] if stopped else []), "your tree is unchanged", told.left(left)])
    return {"text": text, "points": rows, "stopped": stopped, "left": left}


def _points(
    place: Workplace, files: Mapping[str, bytes], tune: Mapping[str, tuple[str, ...]], most: int
) -> list[space.Point]:
    """Choose the points to try; the tree's own comes first if it is one. Raises Refused."""
    if not tune:
        raise Refused("the task has no [tune] table", 'name parameters: {"tune": {"BLOCK": ["128", "256"]}}')
    if (size := space.size(dict(tune))) > LARGEST_SPACE or not size:
        raise Refused(f"the space has {size} points; 1 to {LARGEST_SPACE} are possible", "name fewer values")
    try:
        own = space.read_point(replace(place.attempt.task, tune=dict(tune)), dict(files))
    except space.SpaceError as err:
        raise Refused(str(err), "mend the parameter's name or its values") from err
    every = [dict(zip(tune, values, strict=True)) for values in product(*tune.values())]
    others = [point for point in every if point != own]
    random.Random(len(others)).shuffle(others)
    first = [own] if own in every else []
    return list(islice((*first, *others), most))


def _at(files: dict[str, bytes], point: space.Point) -> dict[str, bytes]:
    try:
        return space.write_point(files, point)
    except space.SpaceError as err:
        raise Refused(str(err), "mend the values") from err


def _point_line(point: space.Point, tried: Tried) -> str:
    at = ", ".join(f"{name} = {value}" for name, value in point.items())
    return f"{at}: {gain(tried.gain)}" if tried.gain else f"{at}: {told.tried(tried).partition(chr(10))[0]}"


async def _tried(place: Workplace, files: dict[str, bytes], wish: Wish) -> tuple[Tried, TrialProfile | None]:
    try:
        return await trials.measure_trial(place.attempt, files, wish, place.budget)
    except Spent as err:
        raise Refused(str(err), FINISH) from err


def _answer(place: Workplace, tried: Tried, profiled: TrialProfile | None, strangers: tuple[str, ...]) -> Answer:
    left = trials.left(place.attempt, place.budget)
    lines = [told.tried(tried), *_profile_lines(profiled)]
    lines += [f"not taken, as only the editable files are yours: {', '.join(strangers[:8])}"] if strangers else []
    text = "\n".join([*lines, told.left(left)])
    return {"text": text, "trial": trial_json(tried), "profile": profiled, "not_taken": strangers, "left": left}


def trial_json(tried: Tried) -> dict[str, Any]:
    """Return a trial's data with their units in the names, as agents get it."""
    return {
        "trial": tried.trial, "end": tried.end, "against": tried.against, "device_s": tried.device_s,
        "gain_pct": tried.gain, "processes": tried.processes, "cases_us": tried.cases, "fault": tried.fault,
        "trouble": tried.trouble, "flags": tried.flags, "is_trial": True,
    }  # fmt: skip


def _profile_lines(profiled: TrialProfile | None) -> list[str]:
    if profiled is None:
        return []
    found = [f"[{one.rule}] {one.severity}: {one.message} → {one.action}" for one in profiled.findings]
    return [f"bottleneck: {profiled.bottleneck}", *found]


def workplace(desk: Desk) -> Workplace:
    """Return where the agent of a session works. Raises Refused outside of sessions."""
    if desk.session is None:
        raise Refused("only an agent in a session of kpd can measure", "kpd run TASK --agent NAME starts one")
    return desk.session


async def candidate(place: Workplace) -> dict[str, bytes]:
    """Read all files of the candidate that lies in the tree now. Raises Refused."""
    try:
        return _checked(place, await asyncio.to_thread(read_tree, place.tree, place.attempt.task))
    except TaskError as err:
        raise Refused(err.message, err.remedy) from err
    except OSError as err:
        raise Refused(f"cannot read {err.filename or place.tree}: {err.strerror or err}", MEND) from err


async def _strangers(place: Workplace) -> tuple[str, ...]:
    """Name what was changed in the tree that no candidate may change. Raises Refused."""
    try:
        return await asyncio.to_thread(refused, place.tree, place.attempt.task)
    except (TaskError, OSError) as err:
        raise Refused(f"the tree cannot be read: {err}", MEND) from err


def _checked(place: Workplace, files: dict[str, bytes]) -> dict[str, bytes]:
    """Return all files of a candidate as a proposal of exactly these would have them. Raises Refused."""
    start, task = start_of(place.attempt), place.attempt.task
    if gone := [path for path in start if path not in files and not task.may_remove(path)]:
        raise Refused(f"{gone[0]} is missing in the tree, and this task needs it", "put it back, then try again")
    try:
        return usable(place.attempt, Proposal.of_tree(files, start, "trial"))[0]
    except CandidateFailed as err:
        raise Refused(fault(err.what), "change only the editable files") from err
    except BadReply as err:
        raise Refused(str(err), MEND) from err
