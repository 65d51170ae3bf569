"""Has the session of an iteration that has ended build one tool for later sessions, until it passes its checks."""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import replace

from kpd.claude.errors import OverBudget, Unavailable
from kpd.model import events as e
from kpd.model.tools import SmithEnd, SmithTask
from kpd.model.trials import TrialBudget
from kpd.sessions import program, smith_brief as words
from kpd.sessions.asking import Asking
from kpd.sessions.cleaning import TextCleaner
from kpd.sessions.conversation import Conversation, transcript
from kpd.sessions.past import Past, SmithTurn, past, smith_turns
from kpd.sessions.session import LEAST_S, WorkingSession, last_word
from kpd.sessions.turn import TurnResult
from kpd.text.endings import TURN_ENDS
from kpd.text.tools import troubles
from kpd.tools.files import BadTool, read_tool, version_of
from kpd.tools.manifest import MANIFEST, Manifest
from kpd.tools.qualify import read_built
from kpd.tools.registry import check, register
from kpd.workspace.config import ToolsmithConfig
from kpd.workspace.disk import removed
from kpd.workspace.durations import duration
from kpd.workspace.paths import WorkspaceError
from kpd.workspace.run_files import write_atomic, write_tree

NO_TRIALS = TrialBudget(0, 0.0)
"""While it builds a tool an agent may look at everything, and measure nothing: its iteration has ended."""
LONGEST_SAID = 500


class BrokenOff(Exception):
    """The error that the session cannot go on with its tool; the message says why."""


class Toolsmith:
    """The work of one session on a tool, after the attempt at a candidate.

    What a former daemon has seen of it is not done again: `_former` are its turns that are yet to be gone through.
    """

    def __init__(self, session: WorkingSession, settings: ToolsmithConfig) -> None:
        self._session = session
        self._settings = settings
        self._own = ""
        self._former: list[SmithTurn] = []

    async def improve(self) -> None:
        """Let the session reflect, build, and repair; record what came of it. Raises JournalError."""
        before = past(self._session.context.events())
        if before is None or before.prompted is None:
            return
        self._own, self._former = before.own, smith_turns(self._session.context.events())
        try:
            end, ref, why = await self._improved()
        except (Unavailable, OverBudget, OSError, WorkspaceError, BrokenOff) as err:
            end, ref, why = "broken_off", "", str(err)
        why = self._session.cleaner.text(why)[:LONGEST_SAID]
        self._session.record(e.SmithEnded(*self._session.at, before.session, end, ref, why))

    async def _improved(self) -> tuple[SmithEnd, str, str]:
        session, context = self._session, self._session.context
        folder, limit_s = session.folder, duration(self._settings.build_limit)
        if not self._former:
            await asyncio.to_thread(folder.prepare_tool, context.task, context.incumbent)
        outcome = context.latest().iteration(context.number)
        reflected = await self._turn("reflect", words.reflect(outcome), duration(self._settings.reflect_limit))
        if not reflected.said:
            return "nothing", "", "it names no improvement"
        result = await self._turn("build", words.build(reflected.said, folder, context.task), limit_s)
        mends = sum(turn.task == "mend" for turn in self._former)  # of a daemon that may have allowed more
        for left in reversed(range(max(self._settings.repairs, mends) + 1)):
            trouble = words.CHECKED_BEFORE
            if not self._former:
                if not await asyncio.to_thread(_anything_built, session):
                    return "nothing", "", TURN_ENDS[result.end]
                end, ref, trouble = await self._checked()
                if end == "qualified" or not left:
                    return end, ref, trouble
            result = await self._turn("mend", words.mend(trouble), limit_s)
        raise AssertionError("the last repair is checked, too")

    async def _checked(self) -> tuple[SmithEnd, str, str]:
        """Check what lies in the tool's folder; return what it is, and what is wrong with it."""
        session, context, ref = self._session, self._session.context, ""
        task, record, cleaner = context.task, session.record, session.cleaner
        try:
            files, manifest = await asyncio.to_thread(read_built, session.folder.tool)
            refuse_keys(cleaner, files, manifest)
            ref = f"{manifest.name}@{version_of(files)}"
            register(context.workspace, files, manifest, task.name, context.tools(), record, *session.at)
            found, confined = context.tools()[ref], session.settings.confined
            await check(context.workspace, found, task, context.incumbent, record, confined, clean=cleaner.text)
        except BadTool as err:
            return "unusable", ref, f"- {err}"
        now = context.tools()[ref]
        return "qualified" if now.state == "qualified" else "quarantined", now.ref, troubles(now.checks)

    async def _turn(self, task: SmithTask, prompt: str, limit_s: float) -> TurnResult:
        """Return how a turn ended, with the improvement that is named in it as `said` where it reflects.

        A turn that a former daemon saw the end of is over. One of which nobody saw the end goes on, if the agent can;
        else its files are taken as they are. Raises Unavailable, OverBudget, BrokenOff.
        """
        former = self._former.pop(0) if self._former else None
        if former is not None and former.seen and former.ended is not None:
            result = TurnResult(former.ended.end, former.ended.said)
        else:
            had_s = former.lasted_s(last_word(self._session.folder.log)) if former is not None else 0.0
            left_s = max(limit_s - had_s, min(LEAST_S, limit_s))
            result = await self._asked_for(task, prompt, left_s, goes_on=former is not None)
        if result.end == "stopped":
            raise BrokenOff("an operator has cut its turn")
        if result.end == "disk":
            await asyncio.to_thread(self._relieve)
        return result

    def _relieve(self) -> None:
        """Remove what the session has filled the disk with; what is no tool, too. Raises OSError."""
        folder, context = self._session.folder, self._session.context
        folder.relieve(context.task, context.incumbent)
        try:
            files = read_tool(folder.tool)
        except BadTool:
            files = {}
        removed(folder.tool)
        folder.tool.mkdir()
        write_tree(folder.tool, files)

    async def _asked_for(self, task: SmithTask, prompt: str, limit_s: float, goes_on: bool) -> TurnResult:
        """Start the agent, send it one prompt in its session, and wait."""
        session, context = self._session, self._session.context
        before = past(context.events())
        assert before is not None
        if goes_on and not before.loads:
            session.record(e.SmithTurned(*session.at, before.session, task, "lost", 0.0))
            if task == "reflect":
                raise BrokenOff("the daemon ended, and the agent cannot go on")
            return TurnResult("lost")
        if session.left_usd(before) <= 0:
            raise BrokenOff("the dollars of the session are used")
        await context.ready()
        conversation = Conversation(context.tell, session.folder.log, session.cleaner)
        place = program.place(session.settings, session.folder, context.task, ())
        asking = Asking(context, before.session, place, 0.0, before.requests)
        async with (
            context.serve(session.folder.root, session.folder.tree, NO_TRIALS, session.cleaner.text) as socket,
            session.talking(conversation, before, self._own, socket, asking) as talk,
        ):
            remembers = talk.loads and talk.own == self._own
            self._own = talk.own
            told = words.GO_ON if goes_on and remembers else prompt
            told = told if remembers else words.restarted(session.folder.brief, told)
            asked = self._asked(task, told, goes_on, conversation, before)
            cutting, result = session.cutting(talk), TurnResult("cut")
            try:
                result = await talk.ask(told, limit_s, session.most_usd(before))
            finally:
                cutting.cancel()
                asked(result)
        write_atomic(
            context.home / "session.md", session.cleaner.text(await asyncio.to_thread(transcript, session.folder.log))
        )
        return replace(result, said=words.improvement(result.said)) if task == "reflect" else result

    def _asked(
        self, task: SmithTask, told: str, goes_on: bool, conversation: Conversation, before: Past
    ) -> Callable[[TurnResult], None]:
        """Record that a prompt is about to be sent; the returned function records how that ended."""
        session, loop = self._session, asyncio.get_running_loop()
        call = session.context.ledger.begin("toolsmith", session.name, session.most_usd(before))
        session.record(e.SmithPrompted(*session.at, before.session, task, goes_on))
        conversation.note("kpd", told)
        begun = loop.time()

        def ended(result: TurnResult) -> None:
            conversation.close()
            seconds = round(loop.time() - begun, 3)
            session.context.ledger.billed(call, result.usage, conversation.usd, result.cut)
            said = words.improvement(result.said) if task == "reflect" else result.said.strip()
            session.record(e.SmithTurned(*session.at, before.session, task, result.end, seconds, said[-LONGEST_SAID:]))
            conversation.note("kpd", TURN_ENDS[result.end])

        return ended


def refuse_keys(cleaner: TextCleaner, files: Mapping[str, bytes], manifest: Manifest) -> None:
    """Raise BadTool where a tool holds the value of one of the agent's keys."""
    told = {MANIFEST: f"{manifest.name} {manifest.summary}"}  # toml may spell a value in another way
    for path, text in (*told.items(), *((path, data.decode(errors="replace")) for path, data in files.items())):
        if name := cleaner.holds(path) or cleaner.holds(text):
            raise BadTool(f"{cleaner.text(path)} holds the value of {name}", "take it out: no tool gets a key")


def _anything_built(session: WorkingSession) -> bool:
    """Return whether anything at all lies in the tool's folder; what cannot be read does."""
    try:
        return bool(read_tool(session.folder.tool))
    except BadTool:
        return True
