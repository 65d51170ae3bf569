"""A process that goes on for a killed one asks nothing again that was answered."""

import asyncio
from dataclasses import dataclass, field

from kpd.agents.answers import KeptAnswer, KeptAnswers
from kpd.claude.question import ModelAnswer, PromptPart


@dataclass
class Counted:
    """Answers every question with its number."""

    asked: list[str] = field(default_factory=list)
    name: str = "who counts"

    async def ask(self, system: tuple[PromptPart, ...], text: str) -> ModelAnswer:
        self.asked.append(text)
        return ModelAnswer(f"{text} {len(self.asked)}", "length" if text == "long" else "end")


def asked(answers: KeptAnswers, *texts: str) -> list[str]:
    return [asyncio.run(answers.ask((PromptPart("rules"),), text)).text for text in texts]


def test_what_was_answered_is_given_again_once_and_in_its_order() -> None:
    kept: list[KeptAnswer] = []
    first = Counted()
    assert asked(KeptAnswers(first, [], kept.append), "a", "a", "long") == ["a 1", "a 2", "long 3"]
    assert [one.stop for one in kept] == ["end", "end", "length"]
    again = Counted()
    answers = KeptAnswers(again, list(kept), kept.append)
    assert asked(answers, "a", "a", "long") == ["a 1", "a 2", "long 3"]
    assert again.asked == [] and len(kept) == 3
    assert asked(answers, "a") == ["a 1"], "each answer is given once"
    assert (again.asked, len(kept), answers.name) == (["a"], 4, "who counts")


def test_another_question_is_asked_and_takes_no_answer_from_a_later_one() -> None:
    kept: list[KeptAnswer] = []
    asked(KeptAnswers(Counted(), [], kept.append), "a", "b")
    again = Counted()
    assert asked(KeptAnswers(again, list(kept), kept.append), "c", "a", "b") == ["c 1", "a 1", "b 2"]
    assert again.asked == ["c"]
