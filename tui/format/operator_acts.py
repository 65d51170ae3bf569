"""Renders what a person has done as a sentence, for other people, the log and the memo."""

from dataclasses import dataclass

from kpd.model import events as e
from kpd.model.budget import Budget
from kpd.model.causes import Skipped, Stopped
from kpd.model.fact import Fact
from kpd.model.iteration import Override
from kpd.model.spending import dollars
from kpd.model.tools import ToolFact
from kpd.text.numbers import counted
from tui.format.numbers import figure
from tui.format.text import clean, clip

MOST_WORDS = 60
"""Cells of a person's own words in a line about them."""
KPD, SOMEBODY = "kpd", "somebody"
_STANDS = {"pinned": "pins", "banned": "bans", "plain": "no longer pins or bans"}


@dataclass(frozen=True, slots=True)
class OperatorAct:
    """What a person did: `by` and then `does` are a sentence, such as "ada@laptop:pts/3 pauses r3", safe to show.

    `words` are the person's own, if there are any.
    """

    by: str
    does: str
    words: str = ""

    def __str__(self) -> str:
        """Return the act in one line, with the person's words cut to MOST_WORDS cells."""
        words = " ".join(self.words.split())
        return self._with(clip(words, MOST_WORDS))

    @property
    def whole(self) -> str:
        return self._with(self.words)

    def _with(self, words: str) -> str:
        return f"{self.by} {self.does}{': ' if words else ''}{words}"


def operator_act(fact: Fact) -> OperatorAct | None:
    """Return what a person did; None where the fact happened by itself or was done by kpd."""
    match fact:
        case (
            e.RunEnded(cause=Stopped(by=by))
            | e.IterationEnded(cause=Skipped(by=by))
            | e.Accepted(override=Override(by=by))
        ):
            pass
        case e.RunEnded() | e.IterationEnded() | e.Accepted() | e.RunPaused(infra=True) | e.PermissionAnswered(by=""):
            by = KPD
        case _:
            by = getattr(fact, "by", KPD)
    does, words = _does(fact) if by != KPD else ("", "")
    return OperatorAct(clean(by) or SOMEBODY, clean(does), clean(words).strip()) if does else None


def _does(fact: Fact) -> tuple[str, str]:
    """Return a phrase for what was done, and the words that the person wrote with it."""
    match fact:
        case e.RunQueued():
            return f"queues {fact.run} of {fact.task}, by {fact.agent}", ""
        case e.RunPaused():
            return f"pauses {fact.run}", ""
        case e.RunResumed():
            return f"resumes {fact.run}", ""
        case e.RunEnded():
            return f"stops {fact.run}", ""
        case e.QueueReleased():
            return "releases the queue", ""
        case e.QueueOrdered():
            return f"orders the queue: {', '.join(fact.runs[:5])}{', …' if len(fact.runs) > 5 else ''}", ""
        case e.OperatorEdited():
            return f"edits the kernel of {fact.run}", ""
        case e.Steered():
            return (f"steers {fact.run}", fact.text) if fact.text else (f"withdraws note {fact.note} of {fact.run}", "")
        case e.TurnCut():
            return f"cuts the turn of the agent of {_place(fact)}", ""
        case e.PermissionAnswered():
            did = "allows" if fact.allowed else "refuses"
            return f"{did} what the agent of {_place(fact)} asks for", ""
        case e.Pruned():
            return f"prunes {counted(len(fact.iterations), 'candidate')} of {fact.run}", ""
        case e.Noted():
            return f"notes on {fact.run}", fact.text
        case e.IterationEnded():
            return f"skips {_place(fact)}", ""
        case e.ReviewSet():
            return f"wants to review {fact.run}" if fact.on else f"lets {fact.run} go on without review", ""
        case e.Approved():
            return f"approves {_place(fact)}", ""
        case e.Declined():
            return f"declines {_place(fact)}", fact.reason
        case e.Accepted(override=Override(reason=reason)):
            return f"accepts {_place(fact)} against its verdict", reason
        case e.RolledBack():
            return f"{'undoes: back to' if fact.undo else 'rolls back to'} {_place(fact)}", ""
        case e.Adopted():
            return f"adopts {_place(fact)} into the task folder", ""
        case e.AgainAsked():
            how = "measured with all processes" if fact.thorough else "tried again"
            return f"has {fact.run}.{fact.of} {how}", ""
        case e.MemoGiven():
            return f"writes the memo of {_place(fact)}", fact.text
        case e.BudgetChanged():
            return f"sets the budget of {fact.run}: {_budget(fact.budget)}", ""
        case e.AgentChanged():
            return f"has {fact.agent} propose in {fact.run}{f', with {fact.model}' if fact.model else ''}", ""
        case e.RuleSet():
            return f"{_STANDS[fact.stand]} {fact.rule} in {fact.run}", ""
        case ToolFact():
            return _to_tool(fact)
        case e.ComparisonQueued():
            return f"compares {', '.join(fact.tools)} with no tools on {fact.task}: {fact.comparison}", ""
        case e.ComparisonStopped():
            return f"stops {fact.comparison}", ""
    return "", ""


def _to_tool(fact: ToolFact) -> tuple[str, str]:
    of = f"{fact.tool}@{fact.version}"
    match fact:
        case e.ToolBuilt():
            return f"brings in {of} for {fact.task}", ""
        case e.ToolChecked():
            return f"has {of} checked", ""
        case e.ToolQuarantined():
            return f"quarantines {of}", fact.why
    return f"{'retires' if isinstance(fact, e.ToolRetired) else 'restores'} {of}", ""


def _place(fact: e.IterationFact) -> str:
    return f"{fact.run}.{fact.iteration}"


def _budget(budget: Budget) -> str:
    parts = [
        counted(budget.iterations, "iteration"),
        f"patience {budget.patience:,}",
        f"at least {budget.min_gain_pct:g} % less time",
    ]
    parts += [f"stop at a score of {figure(budget.stop_score)}"] if budget.stop_score is not None else []
    parts += [f"{dollars(budget.usd)} at most"] if budget.usd else []
    parts += [f"{counted(budget.hours, 'hour')} at most"] if budget.hours else []
    parts += [f"{counted(budget.gpu_hours, 'GPU hour')} at most"] if budget.gpu_hours else []
    return ", ".join(parts)
