"""What others do, as sentences: every fact that a person makes has one, and nothing else has."""

from dataclasses import fields

import pytest
from rich.cells import cell_len

from kpd.model import events as e
from kpd.model.fact import Fact
from kpd.model.kinds import Told
from tests.support.tui.deed_sentences import ADA, SENTENCES
from tui.format.operator_acts import MOST_WORDS, operator_act

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
    found = operator_act(fact)
    assert found is not None
    assert str(found) == f"{ADA} {says}"


@pytest.mark.parametrize("fact", NOBODYS)
def test_what_happens_by_itself_is_nobodys_deed(fact: Fact) -> None:
    assert operator_act(fact) is None


def test_a_save_in_the_folder_is_somebodys() -> None:
    assert str(operator_act(e.OperatorEdited("r3", {"k.cu": "1234"}))) == "somebody edits the kernel of r3"


def test_no_fact_that_names_its_author_is_left_out() -> None:
    """A new kind of act needs a sentence, and a line above."""
    told = {type(fact) for fact, _ in SENTENCES}
    named = {kind for kind in e.FACTS.values() if any(field.name == "by" for field in fields(kind))}
    assert named - told == set()


@pytest.mark.parametrize("words", ["\x1b[31mred\x1b[0m [bold]\u202e \x07\x00" * 50, "z" * 10_000_000, "\u65e5" * 500])
def test_words_of_others_are_harmless_and_short(words: str) -> None:
    found = operator_act(e.Steered("r3", 1, words, f"{ADA}\x1b[2J\u202e"))
    assert found is not None
    assert found.by == ADA
    assert cell_len(str(found)) <= len(f"{ADA} steers r3: ") + MOST_WORDS
    assert str(found).isprintable()
