"""Derives the results of one iteration again from the samples in a bundle. Pure."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from kpd.evidence.archive import CANDIDATES, Bundle, iteration_file
from kpd.evidence.line import VerifiedLine, differences, told
from kpd.measure import audits, clocks, score
from kpd.measure.audits import MOST_AUDITS, AuditSamples
from kpd.measure.judge import FEWEST_WON, FINAL, HeldOutResult
from kpd.measure.rederive import rederive
from kpd.measure.samples import ProcessSample, all_quick, deciding, samples_from_json
from kpd.model import codec, events as e
from kpd.model.audits import AuditSummary
from kpd.model.detail import Detail
from kpd.model.profiles import CaseTime
from kpd.model.scores import Direction
from kpd.model.verdicts import Verdict
from kpd.text.gains import gain
from kpd.text.numbers import counted
from kpd.workspace.run_files import digest

T = TypeVar("T")
TIMING, AUDIT, REPEATS = "timing.json", "audit.json", "repeats.json"
FEWEST_ONCE = 5
"""The processes from which on a gain counted for an older kpd."""
MOST_PROCESSES = 500
"""More processes than this no contest takes: each costs the judge thousands of draws."""
BAD_FIGURES = (ArithmeticError, LookupError, TypeError, ValueError)
"""What arithmetic on figures of strangers raises."""
GIVEN = ("bytes", "flops", "roofline_us")
"""Figures of a case that follow from the task and the machine, not from samples."""


class _Broken(Exception):
    """The error that something does not hold, so that nothing after it can be derived."""


@dataclass(frozen=True, slots=True)
class Terms:
    """What applied when an iteration was judged.

    `worst_case` and `direction` are the task's; `least_pct` is the run's least gain at that time. `against` is
    the iteration that it had to be measured against: the incumbent then, or the baseline.
    """

    least_pct: float
    worst_case: float
    direction: Direction
    against: int


@dataclass(frozen=True, slots=True)
class _AuditFile:
    summary: AuditSummary
    samples: AuditSamples


@dataclass(frozen=True, slots=True)
class Derivation:
    """One iteration: its events as `found`, how it `began`, and the bundle that has its files."""

    bundle: Bundle
    began: e.IterationStarted
    found: Detail
    terms: Terms

    @property
    def about(self) -> str:
        return f"{self.began.run}.{self.began.iteration}"

    @property
    def is_baseline(self) -> bool:
        return self.began.parent == self.began.iteration

    def lines(self) -> Iterator[VerifiedLine]:
        """Yield what holds of the iteration and what does not."""
        try:
            for part in (
                self._parent,
                self._candidate,
                self._times,
                self._verdict,
                self._repeats,
                self._audit,
                self._outcome,
            ):
                if text := part():
                    yield VerifiedLine(True, self.about, text)
        except _Broken as err:
            yield VerifiedLine(False, self.about, str(err))

    def _parent(self) -> str:
        if self.began.parent != self.terms.against:
            said = f"it was measured against iteration {self.began.parent}"
            raise _Broken(f"{said}, and the incumbent was {self.terms.against}")
        return ""

    def _candidate(self) -> str:
        if self.found.proposed is None:
            return ""
        for path, sha256 in self.found.proposed.files.items():
            data = self.bundle.files.get(CANDIDATES + sha256)
            if data is None:
                raise _Broken(f"{path} of its candidate is missing: no file has the hash {sha256[:12]}…")
            if digest(data) != sha256:
                raise _Broken(f"{path} of its candidate has changed: its content has another hash than its name")
        accepted = self.found.accepted
        if accepted is not None and accepted.files != self.found.proposed.files:
            raise _Broken("the files that were accepted are not those that were proposed")
        return ""

    def _samples(self) -> tuple[ProcessSample, ...]:
        raw = self._file(TIMING)
        assert self.found.timed is not None
        kept = self.found.timed.samples
        if kept and digest(raw) != kept:
            raise _Broken(f"{TIMING} has changed: the log has another hash of it")
        samples = self._read(TIMING, lambda: samples_from_json(raw))
        if len(samples) > MOST_PROCESSES:
            raise _Broken(f"{TIMING} has {len(samples)} processes; no contest takes more than {MOST_PROCESSES}")
        return samples

    def _times(self) -> str:
        """Derive the score and the times of the cases."""
        timed = self.found.timed
        if timed is None:
            return ""
        samples = self._samples()
        tainted = sum(bool(sample.taint) for sample in samples)
        cases = self._read(TIMING, lambda: score.case_times(samples, {}))
        value = self._read(TIMING, lambda: score.score(samples, self.terms.direction))
        given = {case.case: {name: getattr(case, name) for name in GIVEN} for case in timed.cases}
        derived = replace(
            timed, score=value, processes=len(deciding(samples)), retaken=tainted,
            cases=tuple(replace(case, **given.get(case.case, {})) for case in cases),
            roofline_pct=_roofline_pct(timed.cases), quick=all_quick(samples),
        )  # fmt: skip
        if found := differences(timed, derived, optional=True):
            raise _Broken(f"its times do not follow from the samples: {told(found)}")
        return ""

    def _verdict(self) -> str:
        judged = self.found.judged
        if judged is None:
            return ""
        if self.found.timed is None:
            raise _Broken("it was judged, and never timed")
        samples, recorded = self._samples(), judged.verdict
        final = self._final()
        if recorded.held_out is not None and final is None:
            raise _Broken(f"{FINAL} is missing, though it was measured on held-out cases")
        self._check_terms(recorded)
        derived = self._read(TIMING, lambda: rederive(samples, self.terms.least_pct, recorded, final))
        found = differences(_figures(recorded), _figures(derived)) if recorded.told else differences(recorded, derived)
        if found:
            raise _Broken(f"its verdict does not follow from the samples: {told(found)}")
        return self._told(recorded)

    def _check_terms(self, verdict: Verdict) -> None:
        """Refuse terms that were never kpd's, or that are not the task's. Those of an older kpd were looser."""
        older = verdict.spread_pct is None
        if verdict.worst_case != self.terms.worst_case and not (older and verdict.worst_case == 0):
            said = f"it was judged with worst_case {verdict.worst_case:g}"
            raise _Broken(f"{said}, the task says {self.terms.worst_case:g}")
        if verdict.fewest != FEWEST_WON and not (older and verdict.fewest == FEWEST_ONCE):
            raise _Broken(f"its gain was confirmed from {verdict.fewest} processes on, kpd asks for {FEWEST_WON}")

    def _told(self, verdict: Verdict) -> str:
        text = f"{verdict.word.replace('_', ' ')}, {gain(verdict.gain)}, {counted(verdict.processes, 'process')}"
        if self.is_baseline or self.began.confirming == "floor":
            return f"{text}: the machine's noise"
        looser = verdict.fewest < FEWEST_WON or verdict.worst_case != self.terms.worst_case
        old = " by an older kpd's rule" if looser else ""
        if self.began.confirming:
            return f"{text}, against the baseline"
        audited = "" if self.found.judged and self.found.judged.audited else ", not audited"
        won = "accepted" if self.found.accepted else "won"
        return f"{text}: {won}{old}{audited}" if verdict.accepted else text

    def _final(self) -> HeldOutResult | None:
        raw = self.bundle.files.get(iteration_file(self.began.iteration, FINAL))
        return None if raw is None else self._read(FINAL, lambda: codec.decode(raw, HeldOutResult))

    def _repeats(self) -> str:
        """Count the calls before it could be accepted, on inputs that did not change and on new ones."""
        judged = self.found.judged
        if judged is None or not judged.repeats:
            return ""
        calls = sum(self._read(REPEATS, lambda: codec.decode(self._file(REPEATS), dict[str, int])).values())
        if calls != judged.repeats:
            raise _Broken(f"{REPEATS} has {calls} calls, the log says {judged.repeats}")
        return ""

    def _audit(self) -> str:
        """Derive the audits' findings; refuse a gain that they, or all samples of the contest, do not bear out."""
        judged = self.found.judged
        if judged is None or not judged.verdict.accepted or self.is_baseline:
            return ""
        samples = self._samples()
        if forged := self._read(TIMING, lambda: clocks.refuse_clock(samples)):
            raise _Broken(f"its samples do not fit the driver's own clock: {forged}")
        if judged.audited is None:
            return ""
        claimed = judged.verdict.gain
        if self._read(TIMING, lambda: audits.refuse_contest(samples, judged.verdict)):
            raise _Broken("all samples of its contest together do not bear out its gain, and it was accepted")
        audit = self._read(AUDIT, lambda: codec.decode(self._file(AUDIT), _AuditFile)).samples
        if len(audit.alone) > MOST_PROCESSES:
            raise _Broken(f"{AUDIT} has {len(audit.alone)} processes, more than an audit takes")
        if (taken := max((len(case.taken) for case in audit.fresh.values()), default=0)) > MOST_AUDITS:
            raise _Broken(f"{AUDIT} has {taken} audits; there are {MOST_AUDITS} at most")
        derived = self._read(AUDIT, lambda: audits.summary(audit, samples))
        if found := differences(judged.audited, derived, optional=True):
            older = ", which an older kpd estimated otherwise" if judged.audited.times is None else ""
            raise _Broken(f"its audit does not follow from the audit's samples{older}: {told(found)}")
        if self._read(AUDIT, lambda: audits.refuse_gain(derived, claimed)):
            raise _Broken("its audits do not bear out its gain, and it was accepted")
        return (
            f"audited: {derived.fresh.pct:.3g} % on fresh inputs, {derived.alone.pct:.3g} % in processes of their own"
        )

    def _outcome(self) -> str:
        """Compare the outcome with the verdict, and how a person decided."""
        ended, accepted, judged = self.found.ended, self.found.accepted, self.found.judged
        verdict = judged.verdict if judged is not None else None
        said = getattr(ended.cause, "verdict", None) if ended is not None else None
        if isinstance(said, Verdict) and (verdict is None or differences(said, verdict)):
            raise _Broken("the verdict with which it ended is not the one that was judged")
        noise = getattr(ended.cause, "gain", None) if ended is not None and ended.outcome == "baseline" else None
        if noise is not None and (verdict is None or differences(noise, verdict.gain)):
            raise _Broken("the noise with which the baseline ended is not the gain that was judged")
        outcome = ended.outcome if ended is not None else "under way"
        if outcome == "baseline" and not self.is_baseline:
            raise _Broken("it ended as the baseline, and was measured against another iteration")
        wins = verdict is not None and verdict.accepted
        override = accepted.override if accepted is not None else None
        if not self.is_baseline and not wins and override is None and (accepted is not None or outcome == "accepted"):
            raise _Broken("it was accepted, and no verdict and no person says so")
        if override is not None:
            return "a person accepted it against its verdict"
        return "" if judged is not None else f"not judged: {outcome}"

    def _file(self, name: str) -> bytes:
        raw = self.bundle.files.get(iteration_file(self.began.iteration, name))
        if raw is None:
            raise _Broken(f"{name} is missing")
        return raw

    def _read(self, name: str, compute: Callable[[], T]) -> T:
        """Compute something of a file that may hold anything. Raises _Broken."""
        try:
            return compute()
        except BAD_FIGURES as err:
            raise _Broken(f"{name} gives no result: {err}") from err


def _roofline_pct(cases: tuple[CaseTime, ...]) -> float | None:
    floors = [(case.roofline_us, case.candidate_us) for case in cases if case.roofline_us]
    whole = sum(us for _, us in floors)
    return 100 * sum(floor for floor, _ in floors) / whole if whole else None


def _figures(verdict: Verdict) -> dict[str, Any]:
    """Return what a verdict of an older kpd has besides its sentence."""
    return {"word": verdict.word, "gain": verdict.gain, "processes": verdict.processes, "accepted": verdict.accepted}
