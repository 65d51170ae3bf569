"""A verdict once more from the samples it was made of: the same, or something of the folder is not what it was."""

from contextlib import suppress

from kpd.daemon.store import Store
from kpd.measure.final import FINAL, Final, held_out
from kpd.measure.judge import BadSamples, judge
from kpd.measure.samples import samples_from_json
from kpd.model import codec
from kpd.model.events import BudgetChanged, Judged, RunQueued
from kpd.model.nouns import Run, Verdict
from kpd.wire import DaemonError
from kpd.workspace.runfolder import IterationFolder


def rederived(log: Store | None, folder: IterationFolder, run: Run, number: int) -> Verdict:
    """Raises DaemonError, StoreError."""
    least = least_gain(log, run, number) if log is not None else run.budget.min_gain_pct
    try:
        verdict = judge(samples_from_json(folder.read("timing.json")), least)
        with suppress(FileNotFoundError):
            final = codec.decode(folder.read(FINAL), Final)
            verdict = held_out(verdict, final, least)
    except FileNotFoundError as err:
        raise _no_samples(folder, run, number) from err
    except (OSError, codec.CodecError, BadSamples) as err:
        raise DaemonError("infra", f"timing.json of {run.id}.{number} gives no verdict: {err}") from err
    return verdict


def _no_samples(folder: IterationFolder, run: Run, number: int) -> DaemonError:
    iteration = run.iteration(number)
    if iteration is None or iteration.score is None:
        return DaemonError("unknown", f"{run.id}.{number} was not timed")
    message = f"timing.json of {run.id}.{number} is missing, though it was timed: it belongs into {folder.folder}"
    return DaemonError("infra", message, "put it back if it was moved away")


def least_gain(log: Store, run: Run, number: int) -> float:
    """The gain in percent that an iteration had to have when it was judged: the budget may be another now.

    Raises StoreError.
    """
    judged = [event.seq for event in log.read(run=run.id, iteration=number, kind=Judged.kind())]
    least = run.budget.min_gain_pct
    for kind in (RunQueued, BudgetChanged):
        for event in log.read(run=run.id, kind=kind.kind()):
            if isinstance(event.fact, RunQueued | BudgetChanged) and judged and event.seq < judged[-1]:
                least = event.fact.budget.min_gain_pct
    return least
