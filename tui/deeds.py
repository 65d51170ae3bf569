"""What a person has done, as a sentence about them: so that several operators see each other's acts."""

import re
from dataclasses import dataclass

from kpd.model import events as e
from kpd.model.fact import Fact
from kpd.model.nouns import Budget
from tui.money import dollars
from tui.numbers import figure
from tui.text import clean, clip

MOST_WORDS = 60
"""Cells of what a person wrote that a sentence repeats."""
_STOPPED, _SKIPPED = re.compile(r"stop(?:ped)? by (.+)"), re.compile(r"skip by (.+)")
_STANDS = {"pinned": "pins", "banned": "bans", "plain": "leaves to its severity"}


@dataclass(frozen=True, slots=True)
class Deed:
    """`by` and then `says`, as in "ada@laptop:pts/3" "pauses r3", is a whole sentence; both are safe to show."""

    by: str
    says: str

    def __str__(self) -> str:
        return f"{self.by} {self.says}"


def deed(event: e.Event) -> Deed | None:
    """What somebody did, or None for what happened by itself or by kpd."""
    by = _by(event.fact)
    says = _says(event.fact) if by else ""
    return Deed(clean(by), clean(says)) if says else None


def _by(fact: Fact) -> str:
    match fact:
        case e.RunEnded(outcome="stopped") | e.IterationEnded(outcome="skipped"):
            # An iteration that ends with its run has the run's reason; that is one deed, not two.
            found = (_STOPPED if isinstance(fact, e.RunEnded) else _SKIPPED).fullmatch(fact.reason)
            return found[1] if found else ""
        case e.RunPaused(infra=True):
            return ""
    by = str(getattr(fact, "by", ""))
    return "" if by == "kpd" else by


def _says(fact: Fact) -> str:
    match fact:
        case e.RunQueued():
            return f"queues {fact.run} of {fact.task}, by {fact.agent}"
        case e.RunPaused():
            return f"pauses {fact.run}"
        case e.RunResumed():
            return f"resumes {fact.run}"
        case e.RunEnded():
            return f"stops {fact.run}"
        case e.QueueReleased():
            return "releases the queue"
        case e.QueueOrdered():
            return f"orders the queue: {', '.join(fact.runs[:5])}{', …' if len(fact.runs) > 5 else ''}"
        case e.Steered():
            return f"steers {fact.run}{_words(fact.text)}" if fact.text else f"withdraws note {fact.note} of {fact.run}"
        case e.IterationEnded():
            return f"skips {_place(fact)}"
        case e.ReviewSet():
            return f"wants to review {fact.run}" if fact.on else f"lets {fact.run} go on without review"
        case e.Approved():
            return f"approves {_place(fact)}"
        case e.Declined():
            return f"declines {_place(fact)}{_words(fact.reason)}"
        case e.Accepted():
            given = "" if fact.override == f"accepted by {fact.by} against the verdict" else _words(fact.override)
            return f"accepts {_place(fact)} against its verdict{given}" if fact.override else ""
        case e.RolledBack():
            return f"{'undoes: back to' if fact.undo else 'rolls back to'} {_place(fact)}"
        case e.AgainAsked():
            how = "wants more samples of" if fact.thorough else "has kpd retry"
            return f"{how} {fact.run}.{fact.of}"
        case e.MemoGiven():
            return f"writes on {_place(fact)}{_words(fact.text)}"
        case e.BudgetChanged():
            return f"sets the budget of {fact.run}: {_budget(fact.budget)}"
        case e.AgentChanged():
            return f"gives {fact.run} to {fact.agent}{f' with {fact.model}' if fact.model else ''}"
        case e.RuleSet():
            return f"{_STANDS[fact.stand]} {fact.rule} in {fact.run}"
    return ""


def _place(fact: e.IterationFact) -> str:
    return f"{fact.run}.{fact.iteration}"


def _words(text: str) -> str:
    words = " ".join(clean(text).split())
    return f": {clip(words, MOST_WORDS)}" if words else ""


def _budget(budget: Budget) -> str:
    parts = [f"{budget.iterations} iterations", f"patience {budget.patience}", f"gain {figure(budget.min_gain_pct)} %"]
    if budget.stop_score is not None:
        parts.append(f"stop at {figure(budget.stop_score)}")
    if budget.usd:
        parts.append(dollars(budget.usd))
    return ", ".join(parts)
