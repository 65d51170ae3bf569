"""Cases that a task holds out: what they say of a candidate that the verdict would accept. Pure, and so derived again.

They are run once, A B B A: enough to see that a gain on the known cases was bought with a loss on others, not to
measure one.
"""

from dataclasses import dataclass, replace

from kpd.model.nouns import Verdict

FINAL = "final.json"
"""What was found, in the iteration's folder."""


@dataclass(frozen=True, slots=True)
class Final:
    """The candidate's score on the held-out cases, the incumbent's (None: it is the baseline), and the gain.

    `name` is the score's; the gain is in percent of time, positive when the candidate is quicker.
    """

    name: str
    score: float
    incumbent: float | None
    gain_pct: float


def held_out(verdict: Verdict, final: Final, min_gain_pct: float) -> Verdict:
    """The verdict with what the held-out cases say: none is accepted that is slower on them by `min_gain_pct`."""
    if final.incumbent is None:
        return replace(verdict, reason=f"{verdict.reason}; held out: {final.name} {final.score:.4g}")
    compared = f"{final.name} {final.score:.4g} against {final.incumbent:.4g} ({final.gain_pct:+.1f} %)"
    if final.gain_pct < -min_gain_pct:
        reason = f"slower on the held-out cases: {compared}; on the known ones {verdict.reason}"
        return replace(verdict, accepted=False, reason=reason)
    return replace(verdict, reason=f"{verdict.reason}; held out: {compared}")
