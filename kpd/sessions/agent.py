"""Proposes what a coding agent leaves in a copy of the task, after a session of minutes."""

import asyncio
import glob
import os
import shutil
import sys
from dataclasses import dataclass, replace
from pathlib import Path

import kpd
from kpd.agents import space
from kpd.agents.agent import Agent, BadReply, Context, Proposal
from kpd.claude.errors import Unavailable
from kpd.hosts.keeper import Order
from kpd.model import events as e
from kpd.model.session import TurnEnd
from kpd.model.spending import Purpose
from kpd.model.trials import TrialBudget
from kpd.sessions import brief
from kpd.sessions.cleaning import TextCleaner
from kpd.sessions.conversation import Conversation, transcript
from kpd.sessions.exec_talk import ExecTalk
from kpd.sessions.folder import SessionFolder
from kpd.sessions.past import Past, past
from kpd.sessions.permissions import AgentWish, Answer, Place, decide
from kpd.sessions.place import installed
from kpd.sessions.terms import COMMANDS, argv, limit_s, settings_of, why_not
from kpd.sessions.turn import Talk, TurnResult
from kpd.text.endings import TURN_ENDS
from kpd.workspace.config import AgentConfig, Config
from kpd.workspace.environment import keys, take_key
from kpd.workspace.task import TaskError
from kpd.workspace.task_copy import shown

LEAST_S = 60.0
"""Seconds that a repair gets at least, or the whole limit if that is shorter."""
READS = (
    "/etc/ssl", "/etc/pki", "/etc/ca-certificates*", "/etc/resolv.conf", "/etc/hosts", "/etc/gai.conf",
    "/etc/os-release", "/run/systemd/resolve",
)  # fmt: skip
"""What a program needs beside the system's folders to find and trust a service."""
SECRET = ("_KEY", "_TOKEN")
"""Ends of the names of variables that no other child process of the daemon may get."""
SOCKET = "KPD_SESSION"
"""The environment variable by which `kpd mcp` finds the socket of its session."""


class SessionAgent(Agent):
    """A coding agent, started for each turn and ended after it, so that nothing of it runs while kpd measures."""

    repairs = True
    reads_steering = True

    def __init__(self, name: str, config: Config) -> None:
        self._name = name
        self._config = config
        for key in settings_of(name, config).keys:
            if key.endswith(SECRET):
                take_key(key)

    async def propose(self, context: Context) -> Proposal:
        """Let the agent work for a turn, and return what then lies in its tree.

        A turn that a former daemon did not see the end of goes on in the same session. Raises BadReply when nothing has
        changed, Unavailable, OverBudget, OSError.
        """
        attempt = _Attempt(self._name, settings_of(self._name, self._config), context)
        if why := why_not(self._name, self._config):
            raise Unavailable(why, "then kpd resume; kpd agent gives the run another one")
        return await attempt.proposal()


@dataclass(slots=True)
class _Attempt:
    """One call of `propose`."""

    name: str
    settings: AgentConfig
    context: Context
    requests: int = 0

    @property
    def folder(self) -> SessionFolder:
        return SessionFolder(self.context.home / "session")

    @property
    def answers(self) -> int:
        """The number of the fault that this turn answers; 0 for the first question."""
        return self.context.failure.number if self.context.failure is not None else 0

    @property
    def keys(self) -> dict[str, str]:
        return {name: value for name in self.settings.keys if (value := keys().get(name))}

    @property
    def cleaner(self) -> TextCleaner:
        return TextCleaner.of(self.keys)

    async def proposal(self) -> Proposal:
        before = past(self.context.events)
        if before is None or not self.folder.tree.is_dir():
            before = await self._opened()
        self.requests = before.requests
        said, end = "", before.ended
        if before.needs_turn(self.answers):
            result = await self._turn(before, goes_on=before.asked(self.answers))
            said, end = result.said, result.end
        elif before.ended is None:
            said, end = "", "lost"
            self._turned(before, before.turns, TurnResult("lost", "the daemon ended, and the agent cannot go on"), 0.0)
        return await asyncio.to_thread(self._taken, said, end or "lost")

    async def _opened(self) -> Past:
        """Make the folder, and record the session before anything of it runs."""
        run = self.context.run
        nth = sum(it.agent == self.name and it.number < self.context.number for it in run.iterations)
        limit = limit_s(self.settings, nth)
        await asyncio.to_thread(self.folder.prepare, self.context.task, self.context.incumbent, self.context.workspace)
        session = f"{run.id}.{self.context.number}"
        self._record(e.SessionOpened(*self._at, session, argv(self.settings), limit))
        return Past(session, limit)

    async def _turn(self, before: Past, goes_on: bool) -> TurnResult:
        """Start the agent, send it one prompt, and wait for the end of its turn."""
        context = self.context
        left = max(before.left_s(_last_word(self.folder.log)), min(LEAST_S, before.limit_s))
        await context.ready()
        conversation = Conversation(context.say, self.folder.log, before.usd, self.cleaner)
        budget = TrialBudget(self.settings.trials, self.settings.device_s)
        async with context.serve(self.folder.root, self.folder.tree, budget) as socket:
            result = await self._talked(conversation, before, goes_on, left, socket)
        conversation.note("kpd", TURN_ENDS[result.end])
        context.keep("session.md", self.cleaner.text(await asyncio.to_thread(transcript, self.folder.log)))
        return result

    async def _talked(
        self, conversation: Conversation, before: Past, goes_on: bool, left: float, socket: Path
    ) -> TurnResult:
        """Take the turn, with kpd's tools on `socket`, for `left` seconds at most."""
        context = self.context
        talk = await self._started(conversation, before.own, socket)
        try:
            remembers = bool(before.own) and talk.own == before.own
            self._record(e.SessionKnown(*self._at, before.session, talk.own, talk.agent, talk.loads))
            prompt = await asyncio.to_thread(self._prompt, before, goes_on, remembers)
            turn = before.turns + 1
            call = context.ledger.begin(self._purpose(goes_on), self.name, self._most_usd())
            self._record(e.SessionPrompted(*self._at, before.session, turn, self.answers, goes_on))
            conversation.note("kpd", prompt)
            begun, result = asyncio.get_running_loop().time(), TurnResult("cut")
            try:
                result = await talk.ask(prompt, left, self._most_usd())
            finally:
                seconds = asyncio.get_running_loop().time() - begun
                usd = None if conversation.usd is None else conversation.usd - (before.usd or 0.0)
                context.ledger.billed(call, result.usage, usd, result.cut)
                self._turned(before, turn, result, seconds)
            return result
        finally:
            await talk.close()

    async def _started(self, conversation: Conversation, own: str, socket: Path) -> Talk:
        """Start the agent. Raises Unavailable."""
        order = self._order(socket)
        if not self.settings.command:
            return ExecTalk(order, self.folder.root, self.folder.root / "prompt.md", conversation)
        from kpd.sessions.acp_talk import AcpTalk

        mode, model = self.settings.mode, self.settings.model
        return await AcpTalk.start(order, self.folder.root, conversation, self._answered, own, mode, model)

    def _order(self, socket: Path) -> Order:
        """Return how the agent is started, and what its sandbox opens to it."""
        folder, settings = self.folder, self.settings
        program = shutil.which(argv(settings)[0]) or argv(settings)[0]
        path = os.environ.get("PATH", os.defpath)
        env = {
            "PATH": path, "HOME": str(folder.state), "TMPDIR": str(folder.scratch), "LANG": "C.UTF-8",
            "TERM": "dumb", "USER": os.environ.get("USER", "kpd"), SOCKET: str(socket), **settings.env,
            **self.keys,
        }  # fmt: skip
        own = (str(Path(kpd.__file__).parent.parent), sys.prefix, sys.base_prefix)  # of `kpd mcp`
        root = self.context.workspace.root
        beside = () if folder.root in socket.parents else (str(socket),)  # where the folder's path is too long for it
        opened = (str(folder.root), *beside, *installed(Path(program), root), *own)
        reads = (*map(glob.escape, opened), *READS, *settings.reads)
        writes = tuple(glob.escape(str(path)) for path in (folder.tree, folder.state, folder.scratch))
        return Order((program, *argv(settings)[1:]), str(folder.tree), env, reads, writes, settings.confined)

    async def _answered(self, wish: AgentWish) -> Answer:
        """Answer what the agent asks for, and record both."""
        folder, task = self.folder, self.context.task
        self.requests += 1
        session = f"{self.context.run.id}.{self.context.number}"
        kept = wish.short
        asked = e.PermissionAsked(*self._at, session, self.requests, kept.tool, kept.command or kept.what, kept.paths)
        self._record(asked)
        place = Place(
            folder.tree.resolve(), (folder.tree.resolve(), folder.scratch.resolve(), folder.state.resolve()),
            (folder.root.resolve(), Path("/usr"), Path("/opt"), *map(Path, self.settings.reads)), shown(task),
            (*COMMANDS, *self.settings.commands),
        )  # fmt: skip
        answer = decide(wish, place)
        self._record(e.PermissionAnswered(*self._at, session, self.requests, answer.allowed, answer.why))
        if not answer.allowed:
            self.context.say(f"\nkpd: refused: {answer.why}\n")
        return answer

    def _prompt(self, before: Past, goes_on: bool, remembers: bool) -> str:
        """Write the prompt of this turn. Raises OSError."""
        folder, task = self.folder, self.context.task
        if self.answers == 0 and not (goes_on and remembers):
            words = brief.Words(
                task.told, _minutes(before.limit_s), str(folder.brief), str(folder.root / "skills"),
                str(folder.scratch),
            )  # fmt: skip
            told = brief.first_prompt(self.context, words)
            folder.brief.write_text(told)
            return told
        told = brief.resumed_prompt() if goes_on and remembers else brief.repair_prompt(self.context)
        return told if remembers else brief.restarted_prompt(folder.brief.read_text(), told)

    def _taken(self, said: str, end: TurnEnd) -> Proposal:
        """Return what lies in the tree. Raises BadReply where that is nothing new."""
        context = self.context
        try:
            kept = {path: data for path, data in context.incumbent.items() if not context.task.may_remove(path)}
            files = {**kept, **self.folder.proposed(context.task)}
        except (OSError, TaskError) as err:
            raise BadReply(self.cleaner.text(f"what lies in the tree cannot be read: {err}")) from err
        known = context.failure.files if context.failure and context.failure.files else context.incumbent
        if files == known:
            last = said.strip().splitlines()[-1][:200] if said.strip() else "without a word"
            names = ", ".join(context.task.editable)
            raise BadReply(f"{names} is as it was when {TURN_ENDS[end]}: {last}")
        notes = brief.notes_of(said)
        tree = Proposal.of_tree(files, context.incumbent, notes.memo)
        point = space.point_of(context.task, files)
        return replace(tree, expected=notes.expected, point=point, aims=notes.aims)

    def _turned(self, before: Past, turn: int, result: TurnResult, seconds: float) -> None:
        foreign = self.folder.foreign(self.context.task)
        said = result.said.strip()[-2000:]
        claimed = brief.claimed_us(result.said)
        self._record(
            e.SessionTurned(*self._at, before.session, turn, result.end, round(seconds, 3), said, claimed, foreign)
        )

    def _most_usd(self) -> float:
        """Return the dollars that this turn may cost: those of a turn, or what is left of the run's."""
        run = self.context.run
        left = run.budget.usd - run.spend.usd if run.budget.usd else self.settings.usd
        return max(0.0, min(self.settings.usd, left)) or 1e-9

    def _purpose(self, goes_on: bool) -> Purpose:
        failure = self.context.failure
        if failure is None or goes_on:
            return "continue" if goes_on else "propose"
        return "again" if failure.step == "propose" else "compile_fix" if failure.step == "build" else "runtime_fix"

    @property
    def _at(self) -> tuple[str, int]:
        return self.context.run.id, self.context.number

    def _record(self, fact: e.IterationFact) -> None:
        self.context.record(fact)


def _last_word(log: Path) -> float:
    """Return when the log of a session last changed; 0 where there is none."""
    try:
        return log.stat().st_mtime
    except OSError:
        return 0.0


def _minutes(seconds: float) -> str:
    return f"{seconds / 60:g} minutes" if seconds >= 90 else f"{seconds:.0f} seconds"
