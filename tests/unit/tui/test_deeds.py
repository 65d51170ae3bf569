"""What others do, as sentences: every fact that a person makes has one, and nothing else has."""

from dataclasses import fields

import pytest
from rich.cells import cell_len

from kpd.model import acts, events as e
from kpd.model.causes import Skipped, Stopped
from kpd.model.fact import Fact
from kpd.model.kinds import Told
from kpd.model.nouns import Budget
from kpd.model.standing import PausedBy
from tui.words.deeds import MOST_WORDS, deed

ADA = "ada@laptop:pts/3"
SENTENCES = [
    (acts.Noted("r3", "the fan was replaced", ADA), "notes on r3: the fan was replaced"),
    (e.RunQueued("r3", "scale", "sweep", "any", Budget(), ADA), "queues r3 of scale, by sweep"),
    (e.RunPaused("r3", PausedBy(ADA), ADA), "pauses r3"),
    (e.RunResumed("r3", ADA), "resumes r3"),
    (e.RunEnded("r3", "stopped", Stopped(ADA)), "stops r3"),
    (e.QueueReleased(ADA), "releases the queue"),
    (e.QueueOrdered(("r5", "r4"), ADA), "orders the queue: r5, r4"),
    (e.QueueOrdered(tuple(f"r{n}" for n in range(9)), ADA), "orders the queue: r0, r1, r2, r3, r4, …"),
    (e.OperatorEdited("r3", {"k.cu": "1234"}, by=ADA), "edits the kernel of r3"),
    (e.Steered("r3", 1, "use\n  shared memory", ADA), "steers r3: use shared memory"),
    (e.Steered("r3", 1, "", ADA), "withdraws note 1 of r3"),
    (e.IterationEnded("r3", 4, "skipped", Skipped(ADA)), "skips r3.4"),
    (e.ReviewSet("r3", True, ADA), "wants to review r3"),
    (e.ReviewSet("r3", False, ADA), "lets r3 go on without review"),
    (e.Approved("r3", 4, ADA), "approves r3.4"),
    (e.Declined("r3", 4, "", ADA), "declines r3.4"),
    (e.Declined("r3", 4, "too clever", ADA), "declines r3.4: too clever"),
    (e.Accepted("r3", 4, {}, ADA, f"accepted by {ADA} against the verdict"), "accepts r3.4 against its verdict"),
    (e.Accepted("r3", 4, {}, ADA, "fast where it counts"), "accepts r3.4 against its verdict: fast where it counts"),
    (e.RolledBack("r3", 2, {}, ADA), "rolls back to r3.2"),
    (e.RolledBack("r3", 2, {}, ADA, undo=True), "undoes: back to r3.2"),
    (e.AgainAsked("r3", 4, False, ADA), "has r3.4 tried again"),
    (e.AgainAsked("r3", 4, True, ADA), "has r3.4 measured with all processes"),
    (e.MemoGiven("r3", 4, "look here", ADA), "writes the memo of r3.4: look here"),
    (
        e.BudgetChanged("r3", Budget(iterations=20, stop_score=1.5, usd=3.0), ADA),
        "sets the budget of r3: 20 iterations, patience 4, at least +2.0 % a gain, "
        "stop at a score of 1.500, $3.00 at most",
    ),
    (e.AgentChanged("r3", "claude", by=ADA), "has claude propose in r3"),
    (e.AgentChanged("r3", "claude", "large-1", ADA), "has claude propose in r3, with large-1"),
    (e.RuleSet("r3", "poor_coalescing", "pinned", ADA), "pins poor_coalescing in r3"),
    (e.RuleSet("r3", "poor_coalescing", "banned", ADA), "bans poor_coalescing in r3"),
    (e.RuleSet("r3", "poor_coalescing", "plain", ADA), "no longer pins or bans poor_coalescing in r3"),
]
NOBODYS = [
    e.RunPaused("r3", Told("infrastructure: no link"), "kpd", infra=True),
    e.RunPaused("r3", Told("the log cannot be written"), "kpd"),
    e.RunEnded("r3", "improved", Told("6 iterations")),
    e.IterationEnded("r3", 4, "skipped", Told("the sweep has nothing left")),
    e.IterationEnded("r3", 4, "skipped", Told(f"stopped by {ADA}")),
    e.Accepted("r3", 4, {}),
    e.DaemonStopped(),
]


@pytest.mark.parametrize(("fact", "says"), SENTENCES)
def test_a_sentence_for_each_act(fact: Fact, says: str) -> None:
    found = deed(fact)
    assert found is not None
    assert str(found) == f"{ADA} {says}"


@pytest.mark.parametrize("fact", NOBODYS)
def test_what_happens_by_itself_is_nobodys_deed(fact: Fact) -> None:
    assert deed(fact) is None


def test_a_save_in_the_folder_is_somebodys() -> None:
    assert str(deed(e.OperatorEdited("r3", {"k.cu": "1234"}))) == "somebody edits the kernel of r3"


def test_no_fact_that_names_its_author_is_left_out() -> None:
    """A new kind of act needs a sentence, and a line above."""
    told = {type(fact) for fact, _ in SENTENCES}
    named = {kind for kind in e.FACTS.values() if any(field.name == "by" for field in fields(kind))}
    assert named - told == set()


@pytest.mark.parametrize("words", ["\x1b[31mred\x1b[0m [bold]\u202e \x07\x00" * 50, "z" * 10_000_000, "\u65e5" * 500])
def test_words_of_others_are_harmless_and_short(words: str) -> None:
    found = deed(e.Steered("r3", 1, words, f"{ADA}\x1b[2J\u202e"))
    assert found is not None
    assert found.by == ADA
    assert cell_len(str(found)) <= len(f"{ADA} steers r3: ") + MOST_WORDS
    assert str(found).isprintable()
