"""Takes the turns of one call of an agent: the question or repair, and then the operator's messages."""

import asyncio
import logging
from collections.abc import Mapping
from dataclasses import dataclass, replace

from kpd.agents import space
from kpd.agents.agent import BadReply, Exhausted, Proposal
from kpd.model import events as e
from kpd.model.run import Run, Steering
from kpd.model.session import KPD, OPERATOR, TurnEnd
from kpd.model.spending import Purpose, dollars
from kpd.model.trials import TrialBudget
from kpd.sessions import brief, program
from kpd.sessions.asking import Asking
from kpd.sessions.conversation import Conversation, transcript
from kpd.sessions.given import give, servers
from kpd.sessions.past import Past, past
from kpd.sessions.session import LEAST_S, WorkingSession, last_word
from kpd.sessions.terms import argv, limit_s
from kpd.sessions.turn import Talk, TurnResult
from kpd.text.endings import TURN_ENDS
from kpd.workspace.candidate_tree import read_tree
from kpd.workspace.task import TaskError

log = logging.getLogger(__name__)
LISTENS: tuple[TurnEnd, ...] = ("done", "refused", "stopped")
"""Ends of a turn after which the operator's messages are sent."""


@dataclass(slots=True)
class SessionAttempt(WorkingSession):
    """One call of `propose`: the turns in which the session works on a candidate."""

    @property
    def answers(self) -> int:
        """The number of the fault that this turn answers; 0 for the first question."""
        return self.context.failure.number if self.context.failure is not None else 0

    @property
    def start(self) -> dict[str, bytes]:
        """The files that its tree begins with: the incumbent's, or the task's own. Raises OSError, TaskError."""
        task = self.context.task
        return self.context.incumbent if self.context.run.task_state == "continue" else read_tree(task.folder, task)

    async def proposal(self) -> Proposal:
        before = past(self.context.events())
        if before is None or not self.folder.tree.is_dir():
            before = await self._opened(before)
        said, end = "", before.known_end
        paid = self.left_usd(before) > 0
        if not paid and not before.asked(self.answers):
            cost = self.settings.usd - self.left_usd(before)
            told = f"its session has cost {dollars(cost)} of {dollars(self.settings.usd)}"
            raise Exhausted(f"{self.name} is not asked again: {told}")
        if paid and before.needs_turn(self.answers):
            result = await self._turn(before, goes_on=before.asked(self.answers))
            said, end = result.said, result.end
        elif before.ended is None:
            end = self._unseen(before, "stopped" if end == "stopped" else "lost").end
        while end in LISTENS and (notes := unread(self.context.latest())):
            before = past(self.context.events())
            assert before is not None
            if before.left_s(0.0) <= 0 or self.left_usd(before) <= 0:
                break  # the next iteration reads them
            result = await self._turn(before, False, notes)
            said, end = result.said, result.end
        return await asyncio.to_thread(self._taken, said, end or "lost")

    async def _opened(self, before: Past | None) -> Past:
        """Make the folder, and record the session before anything of it runs; `before` is one whose tree is gone."""
        run = self.context.run
        nth = sum(it.agent == self.name and it.number < self.context.number for it in run.iterations)
        limit = limit_s(self.settings, nth)
        await asyncio.to_thread(self.folder.prepare, self.context.task, self.start, self.context.workspace)
        session = f"{run.id}.{self.context.number}"
        self.record(e.SessionOpened(*self.at, session, argv(self.settings), limit))
        task = self.context.task.name
        tools, servers_too = self.context.tools(), bool(self.settings.command)
        given = await asyncio.to_thread(give, self.folder, self.context.workspace, tools, task, servers_too)
        if given:
            self.record(e.ToolsGiven(*self.at, session, given))
        return Past(session, limit, tools=given, requests=before.requests if before is not None else 0)

    async def _turn(self, before: Past, goes_on: bool, notes: tuple[Steering, ...] = ()) -> TurnResult:
        """Start the agent, send it one prompt, and wait for the end of its turn."""
        context = self.context
        left = max(before.left_s(last_word(self.folder.log)), min(LEAST_S, before.limit_s))
        await context.ready()
        conversation = Conversation(context.tell, self.folder.log, self.cleaner)
        budget = TrialBudget(self.settings.trials, self.settings.device_s)
        tools = await asyncio.to_thread(servers, self.folder, before.tools, context.tools())
        place = program.place(self.settings, self.folder, context.task, tuple(one.name for one in tools))
        asking = Asking(context, before.session, place, self.settings.ask_s, before.requests)
        async with (
            context.serve(self.folder.root, self.folder.tree, budget, self.cleaner.text) as socket,
            self.talking(conversation, before, before.own, socket, asking, tools) as talk,
        ):
            result = await self._talked(talk, conversation, before, goes_on, left, notes)
        conversation.note(KPD, TURN_ENDS[result.end])
        context.keep("session.md", self.cleaner.text(await asyncio.to_thread(transcript, self.folder.log)))
        return result

    async def _talked(
        self, talk: Talk, conversation: Conversation, before: Past, goes_on: bool, left: float,
        notes: tuple[Steering, ...],
    ) -> TurnResult:  # fmt: skip
        """Send the prompt of a turn that may take `left` seconds, and wait for its end."""
        remembers = talk.loads and talk.own == before.own
        if goes_on and not remembers:
            return self._unseen(before, "lost")
        prompt = await asyncio.to_thread(self._prompt, before, goes_on, remembers, notes)
        turn, most_usd = before.turns + 1, self.most_usd(before)
        call = self.context.ledger.begin(self._purpose(goes_on or bool(notes)), self.name, most_usd)
        read = tuple(line.note for line in notes)
        self.record(e.SessionPrompted(*self.at, before.session, turn, self.answers, goes_on, read))
        conversation.note(OPERATOR if notes else KPD, "\n".join(line.text for line in notes) or prompt)
        cutting = self.cutting(talk)
        begun, result = asyncio.get_running_loop().time(), TurnResult("cut")
        try:
            result = await talk.ask(prompt, left, most_usd)
        finally:
            cutting.cancel()
            conversation.close()
            seconds = asyncio.get_running_loop().time() - begun
            self.context.ledger.billed(call, result.usage, conversation.usd, result.cut)
            if skills := conversation.skills.of(self.folder, before.tools):
                self.record(e.SkillsRead(*self.at, before.session, skills))
            self._turned(before, turn, result, seconds)
        return result

    def _prompt(self, before: Past, goes_on: bool, remembers: bool, notes: tuple[Steering, ...]) -> str:
        """Write the prompt of this turn. Raises OSError."""
        folder, task = self.folder, self.context.task
        if notes:
            told = brief.message_prompt(notes)
        elif goes_on:
            told = brief.resumed_prompt(self._sent(before))
        elif self.answers == 0:
            starts_servers = bool(self.settings.command)
            tools = brief.kpd_tools(self.settings.trials) if starts_servers else brief.own_tools()
            tools += brief.built_tools(before.tools, self.context.tools(), folder.tools, starts_servers)
            words = brief.Words(
                task.told, _minutes(before.limit_s), str(folder.brief), str(folder.root / "skills"),
                str(folder.scratch), tools, self.context.run.task_state,
            )  # fmt: skip
            told = brief.first_prompt(self.context, words)
            folder.brief.write_text(told)
            return told
        else:
            told = brief.repair_prompt(self.context)
        return told if remembers else brief.restarted_prompt(folder.brief.read_text(), told)

    def _sent(self, before: Past) -> tuple[Steering, ...]:
        """Return the operator's messages in the last prompt, of which nobody knows whether the agent has got it."""
        sent = before.prompted.notes if before.prompted is not None else ()
        return tuple(line for line in self.context.latest().steering if line.note in sent)

    def _taken(self, said: str, end: TurnEnd) -> Proposal:
        """Return what lies in the tree; of one that filled the disk nothing else stays.

        Raises BadReply where that is nothing new.
        """
        context = self.context
        try:
            start = left = self.start
            kept = {path: data for path, data in start.items() if not context.task.may_remove(path)}
            try:
                left = self.folder.proposed(context.task)
            finally:
                if end == "disk":
                    self._relieve(left)
            files = {**kept, **left}
        except (OSError, TaskError) as err:
            raise BadReply(self.cleaner.text(f"what lies in the tree cannot be read: {err}")) from err
        known = context.failure.files if context.failure and context.failure.files else start
        if files == known:
            last = said.strip().splitlines()[-1][:200] if said.strip() else "without a word"
            names = ", ".join(context.task.editable)
            where = "session.md, and the agent's own logs in session/state, say more"
            raise BadReply(f"{names} is as it was when {TURN_ENDS[end]}: {last} ({where})")
        notes = brief.notes_of(said)
        tree = Proposal.of_tree(files, context.incumbent, notes.memo)
        point = space.point_of(context.task, files)
        return replace(tree, expected=notes.expected, point=point, aims=notes.aims)

    def _relieve(self, files: Mapping[str, bytes]) -> None:
        try:
            self.folder.relieve(self.context.task, files)
        except OSError as err:
            log.warning("what a session has left could not be removed: %s", err)

    def _turned(self, before: Past, turn: int, result: TurnResult, seconds: float) -> None:
        foreign = self._foreign()
        said = result.said.strip()[-2000:]
        claimed = brief.claimed_us(result.said)
        self.record(
            e.SessionTurned(*self.at, before.session, turn, result.end, round(seconds, 3), said, claimed, foreign)
        )

    def _unseen(self, before: Past, end: TurnEnd) -> TurnResult:
        """Record the end of a turn that ended with a daemon, and that the agent does not go on with."""
        result = TurnResult(end, "the daemon ended, and the agent cannot go on" if end == "lost" else "")
        self._turned(before, before.turns, result, 0.0)
        return result

    def _foreign(self) -> tuple[str, ...]:
        try:
            return self.folder.foreign(self.context.task)
        except (OSError, TaskError) as err:  # a tree that cannot be read is no candidate either
            return (self.cleaner.text(str(err)),)

    def _purpose(self, goes_on: bool) -> Purpose:
        failure = self.context.failure
        if failure is None or goes_on:
            return "continue" if goes_on else "propose"
        return "again" if failure.step == "propose" else "compile_fix" if failure.step == "build" else "runtime_fix"


def unread(run: Run) -> tuple[Steering, ...]:
    """Return the operator's notes that no agent has read."""
    return tuple(line for line in run.steering if line.consumed_by is None)


def _minutes(seconds: float) -> str:
    return f"{seconds / 60:g} minutes" if seconds >= 90 else f"{seconds:.0f} seconds"
