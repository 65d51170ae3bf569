"""Summarises the attempts of this run: a line per iteration, the progress, and what changed in the last one."""

from collections.abc import Iterable, Iterator
from itertools import islice

from kpd.agents.agent import Context
from kpd.agents.prompt.blocks import PromptBlock
from kpd.agents.prompt.quoting import fenced
from kpd.model.causes import Flagged
from kpd.model.headline import headline
from kpd.model.iteration import Iteration
from kpd.model.profiles import Change
from kpd.model.run import Run
from kpd.text.changes import change
from kpd.text.endings import of_iteration
from kpd.text.flags import flags
from kpd.text.foreign import plain
from kpd.text.gains import brief, gain as gain_of, speedup

LONGEST_MEMO = 160
LONGEST_REASON = 100
MOST_CHANGES = 3
LAST = 3
"""How many of the last iterations stay when the prompt has to be shorter."""


def so_far(run: Run, number: int) -> Iterator[PromptBlock]:
    """Yield a block for each iteration before `number` that has ended, except the baseline; nothing without any.

    The block of an iteration never changes, so that the service can cache it.
    """
    now = run.iteration(number)
    tried = [
        it for it in run.iterations if it.number < number and it.outcome not in (None, "baseline") and not it.confirming
    ]
    if tried:
        yield PromptBlock("run", "## What this run has tried")
    for it in tried:
        line = f"{it.number} {' · '.join(_parts(it, it.agent if now and now.agent != it.agent else ''))}"
        yield PromptBlock(f"run:{it.number}", fenced(line), None if it in tried[-LAST:] else "")


def standing(context: Context) -> str:
    """Return how far the run has come, and how many iterations are left."""
    run = context.run
    left = max(run.budget.iterations - len(run.counted), 1)
    text = f"Iteration {context.number}; with this one at most {left} {'is' if left == 1 else 'are'} left."
    if (won := headline(run)) is not None:
        first = f"the speed of iteration {won.first}, the first right candidate"
        base = "the baseline's speed" if won.first is None else first
        text += f" So far {speedup(won.speedup)} {base}."
    if (vain := len(run.without_gain)) >= 2:
        text += f" The last {vain} gained nothing: leave their direction."
    return text


def moved(changes: Iterable[Change]) -> str:
    """Return how the counters changed, one per line."""
    return fenced("\n".join(plain(change(one)) for one in islice(changes, MOST_CHANGES)))


def _parts(it: Iteration, agent: str) -> Iterator[str]:
    word: str = it.verdict.word if it.verdict is not None and it.outcome == "rejected" else ""
    word = "flagged" if isinstance(it.cause, Flagged) and it.outcome == "rejected" else word
    word = "declined by a person" if it.hold == "declined" else word
    yield f"{it.outcome}{' by hand' if it.override else ''}{f' ({word})' if word else ''}"
    if agent:
        yield plain(agent, 40)
    if it.aims:
        yield f"[{', '.join(plain(rule, 40) for rule in it.aims)}]"
    yield plain(it.memo, LONGEST_MEMO) or "no memo"
    if it.expected is not None:
        gain = "" if it.expected.gain_pct is None else f", {brief(it.expected.gain_pct)}"
        yield f"expected {plain(it.expected.metric, 60)} {it.expected.direction}{gain}"
    if isinstance(it.cause, Flagged) and not it.override:  # its gain may be no gain
        yield plain(f"it {flags(it.cause.flags)}", LONGEST_REASON)
    elif it.verdict is not None:
        yield gain_of(it.verdict.gain)
    elif it.cause is not None:
        yield plain(of_iteration(it), LONGEST_REASON)
