"""Cases that a task holds out: what they say of a candidate that the verdict would accept. Pure, and so derived again.

They are run once, A B B A: enough to see that a gain on the known cases was bought with a loss on others, not to
measure one. So only a loss that is larger than the machine's noise, and is there both times, speaks against it.
"""

from dataclasses import dataclass, replace

from kpd.model.verdicts import HeldOut, Verdict

FINAL = "final.json"
"""What was found, in the iteration's folder."""


@dataclass(frozen=True, slots=True)
class HeldOutResult:
    """The candidate's score on the held-out cases, the incumbent's (None: it is the baseline), and the gain.

    `name` is the score's; the gain is in percent of time, positive when the candidate is quicker. `halves` are those of
    A B and of B A by themselves.
    """

    name: str
    score: float
    incumbent: float | None
    gain_pct: float
    halves: tuple[float, ...] = ()


def held_out(verdict: Verdict, final: HeldOutResult, min_gain_pct: float) -> Verdict:
    """The verdict with what the held-out cases say.

    None is accepted that is slower on them in both halves, and by more than `min_gain_pct` and twice the half-width of
    the verdict's own interval: so much a single A B B A can be off by luck.
    """
    if final.incumbent is None:
        return replace(verdict, held_out=HeldOut(final.name, final.score))
    noise = max(min_gain_pct, verdict.gain.high - verdict.gain.low)
    both = all(half < 0 for half in final.halves)
    said = HeldOut(final.name, final.score, final.incumbent, final.gain_pct, noise, both)
    if final.gain_pct < -noise and both:
        return replace(verdict, accepted=False, rule="held_out", before=verdict.rule, held_out=said)
    return replace(verdict, held_out=said)
