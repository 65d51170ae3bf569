"""Runs Optuna behind a pipe: a JSON request per line on stdin, a JSON point per line on stdout.

Optuna and numpy take a second to import and some 90 MB; a child that lives as long as the run keeps the daemon small.
Nothing is remembered between requests: the study is rebuilt from the history, so a restart changes nothing.
"""

import json
import os
import random
import sys
import warnings
from collections.abc import Iterable, Sequence
from typing import Any

import optuna
from optuna.distributions import BaseDistribution, CategoricalDistribution, IntDistribution
from optuna.trial import TrialState, create_trial

from kpd.workspace import expr

Space = dict[str, list[str]]
Point = dict[str, str]
STARTUP_TRIALS = 5
ASKS = 20


def suggest(
    space: Space, history: list[tuple[Point, float | None]], seed: int, where: Sequence[str] = ()
) -> Point | None:
    """Choose a point that is not in `history`, by TPE's ask-and-tell; None when every point has been proposed.

    `history` holds each point with its log time relative to the baseline (lower is better), None where it failed. All
    conditions in `where` hold for the point.
    """
    conditions = tuple(map(expr.condition, where))
    seen = {_key(point) for point, _ in history if all(point.get(name) in space[name] for name in space)}
    total = 1
    for values in space.values():
        total *= len(values)
    if len(seen) >= total:
        return None
    distributions = {name: _distribution(values) for name, values in space.items()}
    sampler = optuna.samplers.TPESampler(seed=seed + len(history), n_startup_trials=STARTUP_TRIALS, multivariate=True)
    study = optuna.create_study(direction="minimize", sampler=sampler)
    for point, value in history:
        if all(point.get(name) in values for name, values in space.items()):
            study.add_trial(_trial(space, distributions, point, value))
    for _ in range(ASKS):
        trial = study.ask(distributions)
        point = {name: _value(values, trial.params[name]) for name, values in space.items()}
        if _is_new(point, seen, conditions):
            return point
        study.tell(trial, state=TrialState.FAIL)
    return _unseen(space, seen, total, random.Random(seed + len(history)), conditions)


def _is_new(point: Point, seen: set[str], conditions: Iterable[expr.PointCondition]) -> bool:
    return _key(point) not in seen and all(condition.holds(point) for condition in conditions)


def _unseen(
    space: Space, seen: set[str], total: int, rng: random.Random, conditions: Sequence[expr.PointCondition]
) -> Point | None:
    """Return a new point, searched from a random start, for when TPE keeps repeating itself; None if there is none."""
    start = rng.randrange(total)
    for offset in range(total):
        index, point = (start + offset) % total, {}
        for name, values in space.items():
            index, digit = divmod(index, len(values))
            point[name] = values[digit]
        if _is_new(point, seen, conditions):
            return point
    return None


def _key(point: Point) -> str:
    return json.dumps(point, sort_keys=True)


def _ordered(values: list[str]) -> bool:
    return all(value.lstrip("-").isdigit() for value in values)


def _distribution(values: list[str]) -> BaseDistribution:
    """Return how a parameter is searched: numbers by rank, so that the model knows that 64 lies between 32 and 128."""
    return IntDistribution(0, len(values) - 1) if _ordered(values) else CategoricalDistribution(values)


def _value(values: list[str], param: Any) -> str:
    return values[param] if _ordered(values) else str(param)


def _trial(space: Space, distributions: dict[str, BaseDistribution], point: Point, value: float | None) -> Any:
    params = {name: values.index(point[name]) if _ordered(values) else point[name] for name, values in space.items()}
    state = TrialState.FAIL if value is None else TrialState.COMPLETE
    return create_trial(params=params, distributions=distributions, value=value, state=state)


def main() -> None:
    warnings.filterwarnings("ignore", category=optuna.exceptions.ExperimentalWarning)
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    serve(sys.stdin, sys.stdout.fileno())


def serve(requests: Iterable[str], answers: int) -> None:
    """Answer each request on a descriptor, until there are no more, or until whoever asks has been killed."""
    for line in requests:
        request = json.loads(line)
        point = suggest(request["space"], [(p, v) for p, v in request["history"]], request["seed"], request["where"])
        try:
            os.write(answers, json.dumps(point).encode() + b"\n")
        except BrokenPipeError:
            return


if __name__ == "__main__":
    main()
