"""Computes the costs and the remaining budget of a run, and its verdicts again from their samples."""

import time
from collections import defaultdict
from collections.abc import Iterable
from contextlib import suppress
from typing import Any

from kpd.daemon.store import EventStore
from kpd.engine.rotation import without_gain
from kpd.hosts.errors import HostError
from kpd.hosts.gpu_hours import GpuHours, hours_file
from kpd.hosts.shares import by_run
from kpd.measure.judge import FINAL, BadSamples, HeldOutResult
from kpd.measure.rederive import rederive
from kpd.measure.samples import samples_from_json
from kpd.model import codec
from kpd.model.acts import BudgetChanged
from kpd.model.deployments import DeploymentCard
from kpd.model.events import Event
from kpd.model.facts.calls import Billed
from kpd.model.facts.runs import RunQueued
from kpd.model.facts.steps import Judged
from kpd.model.headline import paired_score
from kpd.model.run import Run
from kpd.model.scores import Direction
from kpd.model.spending import Purpose, Spend
from kpd.model.state import State
from kpd.model.status import Ended
from kpd.model.verdicts import Verdict
from kpd.wire import DaemonError
from kpd.workspace.paths import Workspace
from kpd.workspace.run_files import IterationFolder


def account(run: Run, events: Iterable[Event], deployments: Iterable[DeploymentCard] = ()) -> dict[str, Any]:
    """Return a run's costs. `iterations` has those that cost something.

    `cut` counts the calls that broke off, `unseen` those whose end nobody saw. `phases` are those before the first
    iteration, and the deployments of its winner, by purpose: they are beside the run's own spending.
    """
    phases: dict[str, dict[Purpose, Spend]] = {phase.name: phase.spend for phase in run.phases if phase.spend}
    phases |= {card.key: {"fix": card.deployment.spend} for card in deployments if card.deployment.spend.calls}
    bills = [event.fact for event in events if isinstance(event.fact, Billed) and not event.fact.refused]
    sums: dict[str, dict[str, Spend]] = {"purposes": defaultdict(Spend), "models": defaultdict(Spend)}
    for bill in bills:
        for by, name in (("purposes", bill.purpose), ("models", bill.model)):
            sums[by][name] = sums[by][name].with_call(bill.usage, bill.usd, not bill.cut)
    return {
        "run": run.id,
        "task": run.task,
        "spend": run.spend,
        "limit_usd": run.budget.usd,
        "cut": sum(bill.cut and not bill.unseen for bill in bills),
        "unseen": sum(bill.unseen for bill in bills),
        **sums,
        "phases": phases,
        "iterations": {it.number: it.spend for it in run.iterations if it.spend.calls},
    }


def gpu_hours(workspace: Workspace, state: State, now: float) -> dict[str, float]:
    """Return the GPU hours of allocations of each run that had some. Raises DaemonError (infra)."""
    try:
        return by_run(GpuHours(hours_file(workspace)).read(), state.runs.values(), now)
    except HostError as err:
        raise DaemonError("infra", err.message, err.remedy) from err


def terms(run: Run, direction: Direction, gpu_hours: float) -> dict[str, Any]:
    """Return a run's budget and how much of it is used, and what its operator chose."""
    return {
        "run": run.id,
        "status": run.status.name,
        "agent": run.agent,
        "model": run.model,
        "stands": run.stands,
        "budget": run.budget,
        "counted": len(run.counted),
        "in_vain": without_gain(run),
        "spend": run.spend,
        "hours": _hours(run),
        "gpu_hours": gpu_hours,
        "score": paired_score(run, direction),
    }


def _hours(run: Run) -> float:
    """Return how many hours of its budget a run has used."""
    if run.clock is None:
        return 0.0
    return ((run.status.at if isinstance(run.status, Ended) else time.time()) - run.clock) / 3600


def rederived(log: EventStore | None, folder: IterationFolder, run: Run, number: int) -> Verdict:
    """Compute an iteration's verdict again from its samples. Raises DaemonError, StoreError."""
    least = least_gain(log, run, number) if log is not None else run.budget.min_gain_pct
    iteration = run.iteration(number)
    recorded = iteration.verdict if iteration is not None else None
    try:
        samples = samples_from_json(folder.read("timing.json"))
        final = None
        with suppress(FileNotFoundError):
            final = codec.decode(folder.read(FINAL), HeldOutResult)
        return rederive(samples, least, recorded, final)
    except FileNotFoundError as err:
        raise _no_samples(folder, run, number) from err
    except (OSError, codec.CodecError, BadSamples) as err:
        raise DaemonError("infra", f"timing.json of {run.id}.{number} gives no verdict: {err}") from err


def _no_samples(folder: IterationFolder, run: Run, number: int) -> DaemonError:
    iteration = run.iteration(number)
    if iteration is None or iteration.score is None:
        return DaemonError("unknown", f"{run.id}.{number} was not timed")
    message = f"timing.json of {run.id}.{number} is missing, though it was timed: its place is {folder.folder}"
    return DaemonError("infra", message, "put it back if it was moved away")


def least_gain(log: EventStore, run: Run, number: int) -> float:
    """Return the least gain in percent that applied when an iteration was judged; the budget may have changed since.

    Raises StoreError.
    """
    judged = [event.seq for event in log.read(run=run.id, iteration=number, kind=Judged.kind())]
    least = run.budget.min_gain_pct
    for kind in (RunQueued, BudgetChanged):
        for event in log.read(run=run.id, kind=kind.kind()):
            if isinstance(event.fact, RunQueued | BudgetChanged) and judged and event.seq < judged[-1]:
                least = event.fact.budget.min_gain_pct
    return least
