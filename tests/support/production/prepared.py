"""Gives prepared answers to prompts that stand alone."""

from kpd.claude.question import ModelAnswer, PromptPart


class Prepared:
    """Gives its answers one after the other, each once, and keeps what was asked."""

    name = "prepared"

    def __init__(self, *texts: str) -> None:
        self.texts = list(texts)
        self.asked: list[str] = []

    async def ask(self, system: tuple[PromptPart, ...], text: str) -> ModelAnswer:
        self.asked.append(text)
        return ModelAnswer(self.texts.pop(0), "end")
