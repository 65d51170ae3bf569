"""Asks a coding agent a prompt that stands alone, beside runs: in an empty folder, as confined as in a run."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from itertools import count
from pathlib import Path

from kpd.agents.answers import whole
from kpd.claude.errors import Unavailable
from kpd.claude.question import Ledger, ModelAnswer, PromptPart
from kpd.model.spending import Purpose
from kpd.sessions import program
from kpd.sessions.cleaning import TextCleaner
from kpd.sessions.conversation import Conversation
from kpd.sessions.folder import SessionFolder
from kpd.sessions.permissions import AgentWish, Answer, decide
from kpd.sessions.session import AgentPlace, talking
from kpd.sessions.terms import limit_s, settings_of, why_not
from kpd.sessions.turn import TurnResult
from kpd.text.endings import TURN_ENDS
from kpd.workspace.config import Config
from kpd.workspace.environment import keys
from kpd.workspace.paths import Workspace

ONLY_WORDS = """

Your last message is the answer, and has to hold all of it: files that you write are not read. Nobody answers questions.
"""


@dataclass(frozen=True, slots=True)
class AgentAnswers:
    """Answers of the coding agent `name`: a session of one turn each, in folders of their own below `folder`.

    A session may cost what `ledger` allows, and the agent's `usd`. `tell` shows text on a channel of `model.session`.
    """

    name: str
    config: Config
    workspace: Workspace
    folder: Path
    ledger: Ledger
    purpose: Purpose
    tell: Callable[[str, str], None]

    async def ask(self, system: tuple[PromptPart, ...], text: str) -> ModelAnswer:
        """Return the agent's last words. Raises Unavailable, also where its turn did not end by itself."""
        settings = settings_of(self.name, self.config)
        if why := why_not(self.name, self.config):
            raise Unavailable(why, "choose who answers anew")
        folder = await asyncio.to_thread(self._made)
        held = {name: value for name in settings.keys if (value := keys().get(name))}
        conversation = Conversation(self.tell, folder.log, TextCleaner.of(held))
        place = program.place(settings, folder, None, ())

        async def answers(wish: AgentWish) -> Answer:
            return decide(wish, place)

        at = AgentPlace(self.name, settings, folder, self.workspace, held)
        async with talking(at, conversation, answers, lambda to: None) as (talk, _):
            call, result = self.ledger.begin(self.purpose, self.name, settings.usd), TurnResult("cut")
            try:
                result = await talk.ask(whole(system, text) + ONLY_WORDS, limit_s(settings, 0), settings.usd)
            finally:
                conversation.close()
                self.ledger.billed(call, result.usage, conversation.usd, result.cut)
        if result.end != "done":
            said = conversation.cleaner.text(result.said.strip())[:400]
            raise Unavailable(f"{self.name}: {TURN_ENDS[result.end]}: {said}", f"{folder.log} has all that it said")
        return ModelAnswer(result.said, "end")

    def _made(self) -> SessionFolder:
        """Make the folder of the next question."""
        folder = next(
            SessionFolder(root) for number in count(1) if not (root := self.folder / f"{number:02d}").exists()
        )
        for path in (folder.tree, folder.state, folder.scratch):
            path.mkdir(parents=True)
        return folder
