"""Derives a recorded verdict again from its samples: pure, with today's judge and the terms of then."""

from collections.abc import Iterable
from dataclasses import replace

from kpd.measure.averages import on_average
from kpd.measure.judge import HeldOutResult, held_out, judge
from kpd.measure.samples import ProcessSample
from kpd.model.verdicts import Verdict


def rederive(
    samples: Iterable[ProcessSample], least_pct: float, recorded: Verdict | None, final: HeldOutResult | None
) -> Verdict:
    """Compute the verdict of the samples, with the terms of the recorded one if there is one. Raises BadSamples."""
    terms = (recorded.worst_case, recorded.fewest) if recorded is not None else ()
    samples = tuple(samples)
    verdict = judge(samples, least_pct, *terms)
    if recorded is None or recorded.on_average:
        verdict = on_average(verdict, samples)
    if recorded is not None and recorded.spread_pct is None:  # by an older kpd, which did not note it
        verdict = replace(verdict, spread_pct=None)
    return verdict if final is None else held_out(verdict, final, least_pct)
