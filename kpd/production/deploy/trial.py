"""Runs a program with its old and its new binaries: are the results the same, and is it faster?"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from kpd.measure.judge import decide, judge
from kpd.measure.samples import CaseSample, ProcessSample
from kpd.model.deployments import DeployCause
from kpd.model.projects import ProgramRun
from kpd.model.verdicts import Verdict
from kpd.production.deploy.runs import NEW, OLD, RunFails, TakenBack, ran
from kpd.production.place import OpenChange

PROGRAM = "program"
QUAD = OLD + NEW + NEW + OLD


@dataclass(frozen=True, slots=True)
class ProgramTrial:
    """A program under a change, with the hashes of its binaries by path: of the old ones, and of the new ones."""

    change: OpenChange
    old: Mapping[str, str]
    new: Mapping[str, str]

    async def results(self) -> dict[str, str]:
        """Run the old program twice and then the new one, each with the project's own check of what it has left.

        Return the old one's outputs.

        Raises TakenBack where one of them fails, or the results differ; HostError, PlaceError.
        """
        reference: dict[str, str] | None = None
        for order in (OLD + OLD, NEW):
            runs = await self._runs(order, check=True)
            reference = runs[0].outputs if reference is None else reference
            self._compare(runs, reference)
        assert reference is not None
        return reference

    async def timed(
        self, reference: Mapping[str, str], min_gain_pct: float, told: Callable[[int], None]
    ) -> tuple[Verdict, tuple[ProcessSample, ...]]:
        """Time both in quads A B B A until the verdict is settled; each quad counts as one observation.

        Every run's result is compared, too. Raises TakenBack, BadSamples, HostError, PlaceError.
        """
        samples: list[ProcessSample] = []
        while missing := decide(samples, min_gain_pct) if samples else 2:
            for _ in range(missing):
                runs = await self._runs(QUAD, check=False)
                self._compare(runs, reference)
                samples.append(quad(len(samples), runs))
                told(len(samples))
        return judge(samples, min_gain_pct), tuple(samples)

    async def _runs(self, order: str, check: bool) -> list[ProgramRun]:
        try:
            return await ran(self.change, order, {OLD: self.old, NEW: self.new}, check)
        except RunFails as err:
            new: DeployCause = "wrong_result" if err.checks else "run_fails"
            raise TakenBack("program_fails" if err.side == OLD else new, str(err)) from err

    def _compare(self, runs: Sequence[ProgramRun], reference: Mapping[str, str]) -> None:
        """Compare the outputs of all runs; the program as it was has to give the same ones every time."""
        for side in (OLD, NEW):  # an unsteady program would look as if the new one were wrong
            for run in (run for run in runs if run.side == side):
                missing = [path for path in self.change.place.project.outputs if path not in run.outputs]
                if missing:
                    raise TakenBack("program_fails" if side == OLD else "wrong_result", f"{missing[0]} is not written")
                differ = [path for path, sha in run.outputs.items() if reference[path] != sha]
                if differ:
                    raise TakenBack("unsteady" if side == OLD else "wrong_result", differ[0])


def quad(number: int, runs: Sequence[ProgramRun]) -> ProcessSample:
    """Return four runs A B B A as one observation of the whole program."""
    old, new = (tuple(float(run.ns) for run in runs if run.side == side) for side in (OLD, NEW))
    return ProcessSample(number, {PROGRAM: CaseSample(1, old, new)})
