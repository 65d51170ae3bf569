"""Who answers a prompt that stands alone, beside runs: a model, or whoever answers in a folder."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from kpd.agents.mailbox import EVERY_S, PROMPT, REPLY, put_aside, seen
from kpd.claude.question import Hooks, ModelAnswer, ModelQuestion, PromptPart, Stop
from kpd.claude.service import Service
from kpd.model.spending import Purpose
from kpd.workspace.config import ClaudeConfig
from kpd.workspace.paths import OutsideFolder, inside
from kpd.workspace.run_files import NotRegularFile, digest, read_plain, write_atomic


class PromptAnswers(Protocol):
    """Answers prompts; `name` is for people."""

    @property
    def name(self) -> str: ...

    async def ask(self, system: tuple[PromptPart, ...], text: str) -> ModelAnswer:
        """Return the answer to one self-contained prompt. Raises Unavailable, OverBudget, OSError."""


@dataclass(frozen=True, slots=True)
class KeptAnswer:
    """An answer's text and end, and the hash of the prompt that it answers."""

    prompt: str
    text: str
    stop: Stop


@dataclass(frozen=True, slots=True)
class KeptAnswers:
    """Keeps each answer as it comes, so that a process which goes on for a killed one is given the same again.

    `former` are the answers that the killed one had, in their order; each is given once.
    """

    answers: PromptAnswers
    former: list[KeptAnswer]
    keep: Callable[[KeptAnswer], None]

    @property
    def name(self) -> str:
        return self.answers.name

    async def ask(self, system: tuple[PromptPart, ...], text: str) -> ModelAnswer:
        prompt = digest(whole(system, text).encode(errors="surrogatepass"))
        for at, one in enumerate(self.former):
            if one.prompt == prompt:
                del self.former[: at + 1]
                return ModelAnswer(one.text, one.stop)
        answer = await self.answers.ask(system, text)
        self.keep(KeptAnswer(prompt, answer.text, answer.stop))
        return answer


@dataclass(frozen=True, slots=True)
class ServiceAnswers:
    """Answers of the model service."""

    service: Service
    config: ClaudeConfig
    hooks: Hooks
    purpose: Purpose = "harness"

    @property
    def name(self) -> str:
        return self.config.model

    async def ask(self, system: tuple[PromptPart, ...], text: str) -> ModelAnswer:
        config = self.config
        question = ModelQuestion(system, text, self.purpose, config.model, config.max_tokens, config.effort)
        return await self.service.ask(question, self.hooks)


@dataclass(slots=True)
class MailboxAnswers:
    """Answers of a script or a person: prompt.md in a folder is answered with reply.md there.

    What was answered to the very first question, while its process was gone, counts if that is asked again.
    """

    folder: Path
    _asked: bool = False

    @property
    def name(self) -> str:
        return f"{self.folder / REPLY} as the answer to {PROMPT}"

    async def ask(self, system: tuple[PromptPart, ...], text: str) -> ModelAnswer:
        await asyncio.to_thread(self._put, whole(system, text))
        path, before = self.folder / REPLY, None
        while True:
            now = seen(path)
            if now is not None and now == before:  # nobody writes it any more
                return ModelAnswer(await asyncio.to_thread(self._reply), "end")
            before = now
            await asyncio.sleep(EVERY_S)

    def _put(self, prompt: str) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        if self._asked or not self._waits(prompt):
            put_aside(self.folder)
            write_atomic(self.folder / PROMPT, prompt)
        self._asked = True

    def _waits(self, prompt: str) -> bool:
        """Return whether the folder asks this already."""
        try:
            return read_plain(inside(self.folder, PROMPT)) == prompt.encode()
        except (FileNotFoundError, NotRegularFile, OutsideFolder):
            return False

    def _reply(self) -> str:
        try:
            return read_plain(inside(self.folder, REPLY)).decode(errors="replace")
        except OutsideFolder as err:
            raise OSError(f"{err}; put the file itself there") from err


def whole(system: tuple[PromptPart, ...], text: str) -> str:
    """Return both parts of a prompt as one text."""
    return "\n\n".join([*(part.text for part in system), text])
