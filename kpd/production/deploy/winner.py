"""Finds what a run has won: the accepted files, the baseline's, and the gain of which its verdicts are sure."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import exp, log1p

from kpd.model.run import Run
from kpd.workspace.paths import Workspace
from kpd.workspace.run_files import IterationFolder, digest


class NoWinner(Exception):
    """The error that an iteration cannot be deployed.

    `why` is "baseline", "unknown", "not_accepted", or "changed": files `about` are not what the log says.
    """

    def __init__(self, why: str, about: str = "") -> None:
        super().__init__(f"{why} {about}".strip())
        self.why = why
        self.about = about


@dataclass(frozen=True, slots=True)
class AcceptedKernel:
    """An accepted iteration of a run, with its editable files and the baseline's.

    `sure_pct` is the gain over the baseline in percent of time that the lower ends of the verdicts' intervals support.
    """

    run: str
    iteration: int
    baseline: dict[str, bytes]
    candidate: dict[str, bytes]
    sure_pct: float


def winner(
    ws: Workspace, run: Run, hashes: Mapping[int, Mapping[str, str]], number: int | None = None
) -> AcceptedKernel:
    """Return the run's incumbent, or another accepted iteration of it.

    `hashes` are those of the files of each iteration that was accepted, as the log has them: by iteration and path.
    Raises NoWinner, OSError.
    """
    found = run.best if number is None else run.iteration(number)
    if found is None or run.baseline is None:
        raise NoWinner("unknown")
    if found == run.baseline:
        raise NoWinner("baseline")
    lows: list[float] = []
    one = found
    while one != run.baseline:
        before = run.iteration(one.parent)
        if one.outcome != "accepted" or one.verdict is None or not one.verdict.accepted or before is None:
            raise NoWinner("not_accepted")
        lows.append(one.verdict.gain.low)
        one = before
    baseline, number = run.baseline.number, found.number

    def files(of: int) -> dict[str, bytes]:
        found = IterationFolder(ws.iteration_folder(run.task, run.id, of)).read_candidate()
        logged = hashes.get(of, {})
        differ = [path for path in {*found, *logged} if path not in found or digest(found[path]) != logged.get(path)]
        if differ:
            raise NoWinner("changed", f"iteration {of}: {min(differ)}")
        return found

    return AcceptedKernel(run.id, number, files(baseline), files(number), sure_pct(lows))


def sure_pct(lows: list[float]) -> float:
    """Return the gain in percent that gains one after the other make, each at least as large as given."""
    return 100 * (1 - exp(sum(log1p(-min(low, 99.999) / 100) for low in lows)))
