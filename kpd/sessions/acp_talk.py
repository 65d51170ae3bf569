"""Talks with an agent over the Agent Client Protocol. Only this module imports its library."""

import asyncio
import contextlib
import logging
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import acp
from acp import schema
from acp.exceptions import RequestError
from pydantic import ValidationError

import kpd
from kpd.claude.errors import Unavailable
from kpd.hosts.keeper import Order
from kpd.model.session import KPD, TurnEnd
from kpd.sessions.conversation import Conversation, usage_of
from kpd.sessions.given import OWN_SERVER, ToolServer
from kpd.sessions.network import AgentNetwork
from kpd.sessions.permissions import MOST_REQUESTS, AgentWish, Answer, Asks, wish_of
from kpd.sessions.program import SOCKET
from kpd.sessions.terms import SERVERS_MS
from kpd.sessions.turn import TurnResult, Watch, failed, started
from kpd.sessions.wire import AgentWire

START_S = 150.0
CANCEL_S = 3.0
"""Seconds for an agent to start, with its servers of tools, and to settle a turn after it was told to end it."""
RETRIES = {"type": "system", "subtype": "api_retry"}
META: dict[str, Any] = {
    "mcpStartupAwaitTimeoutMs": SERVERS_MS,
    "claudeCode": {"emitRawSDKMessages": [RETRIES]},
}
"""What agents are asked for with a session. Codex would begin its turn before it knows the tools of its servers, and
Claude Code would try a wrong key again for minutes, and tell nobody."""
REFUSED_KEY = (401, 403)
"""Statuses of a model's service that does not take the key."""
AUTHENTICATION = -32000
log = logging.getLogger(__name__)
TOOLS_ENV = (SOCKET, "HOME", "PATH", "LANG", "TMPDIR")
"""What servers of tools get of the agent's environment."""


class Permissions:
    """What the library calls when the agent asks for something. All that kpd does not offer, it refuses itself."""

    def __init__(self, ask: Asks) -> None:
        self._ask = ask

    async def request_permission(
        self, session_id: str, tool_call: schema.ToolCallUpdate, options: list[schema.PermissionOption], **kwargs: Any
    ) -> schema.RequestPermissionResponse:
        wish = wish_of(tool_call.model_dump(mode="json", by_alias=True, exclude_none=True))
        answer = await self._ask(replace(wish, once=any(option.kind == "allow_once" for option in options)))
        wanted = ("allow_once", "allow_always") if answer.allowed else ("reject_once", "reject_always")
        for kind in wanted:
            for option in options:
                if option.kind == kind:
                    chosen = schema.AllowedOutcome(option_id=option.option_id, outcome="selected")
                    return schema.RequestPermissionResponse(outcome=chosen)
        return schema.RequestPermissionResponse(outcome=schema.DeniedOutcome(outcome="cancelled"))


class AcpTalk:
    """A `Talk` with an agent that speaks the protocol."""

    def __init__(
        self, process: Any, folder: Path, conversation: Conversation, ask: Asks, keys: Sequence[str] = ()
    ) -> None:
        self._process = process
        self._keys = keys
        self._conversation = conversation
        self._watch = Watch(process, folder)
        self._ask = ask
        self._requests = 0
        flooded = partial(self._watch.end, "flood")
        self._wire = AgentWire(process, self._hear, flooded, conversation.cleaner)
        self._agent = acp.connect_to_agent(Permissions(self._answered), self._wire)  # type: ignore[arg-type]
        self._most_usd = float("inf")
        self._refused_key = ""
        self.own = self.agent = ""
        self.loads = self._resumes = False

    @classmethod
    async def start(
        cls, order: Order, folder: Path, conversation: Conversation, ask: Asks, own: str = "",
        mode: str = "", model: str = "", tools: Sequence[ToolServer] = (), network: AgentNetwork | None = None,
        keys: Sequence[str] = (),
    ) -> "AcpTalk":  # fmt: skip
        """Start the agent, and begin a session in the order's folder, or go on with the session `own`.

        The session has kpd's tools, where the order has a socket for them, and the servers of built ones. `keys` are
        the variables that may have its key.

        Raises Unavailable with what is wrong and what helps.
        """
        talk = cls(await started(order, folder, network), folder, conversation, ask, keys)
        try:
            async with asyncio.timeout(START_S):
                await talk._introduce(order.argv[0])
                await talk._begin(order, own, tools)
                await talk._choose(mode, model)
        except (RequestError, ValidationError, ConnectionError, TimeoutError) as err:
            raise await talk._unavailable(order.argv[0], err) from err
        except BaseException:
            await talk.close()
            raise
        return talk

    async def ask(self, prompt: str, limit_s: float, most_usd: float) -> TurnResult:
        """Raise Unavailable where the agent's service does not take its key; else as the protocol `Talk` says."""
        self._most_usd = most_usd
        asking = asyncio.create_task(self._agent.prompt(session_id=self.own, prompt=[acp.text_block(prompt)]))
        try:
            await self._watch.until(asking, limit_s)
            end, said = await self._outside(asking)
            usage = usage_of(None)
            try:
                answer = asking.result() if asking.done() else None
            except RequestError as err:
                if wants_key(err) and end == "done":
                    self._refused_key = self._refusal(err)
                end, said = (end, said) if end != "done" else ("crash", self._refusal(err))
            except (ValidationError, ConnectionError) as err:
                if end == "done":
                    end, said = failed(await self._process.end(), self._said or str(err))
            else:
                if answer is not None:
                    usage = usage_of(answer.usage)
                    end = "refused" if end == "done" and answer.stop_reason == "refusal" else end
            if self._refused_key:
                raise self._not_logged_in(self.agent, self._refused_key)
            return TurnResult(end, said or self._conversation.message, usage)
        finally:
            asking.cancel()

    def cut(self) -> None:
        self._watch.end("stopped", "")

    async def close(self) -> None:
        self._watch.close()
        try:
            await self._agent.close()
        except Exception as err:  # noqa: BLE001 - of the library, whose agent may have sent anything
            log.info("the connection to an agent was not closed in order: %s", err)
        await self._process.end()

    async def _outside(self, asking: "asyncio.Task[schema.PromptResponse]") -> tuple[TurnEnd, str]:
        """Return what ended the turn, "done" if it ended by itself; a turn that goes on is told to end."""
        if asking.done() and not self._watch.over.done():
            return "done", ""
        found: tuple[TurnEnd, str] = self._watch.over.result() if self._watch.over.done() else ("time", "")
        if found[0] in ("time", "money", "stopped"):
            with contextlib.suppress(ConnectionError, TimeoutError):
                async with asyncio.timeout(CANCEL_S):
                    await self._agent.cancel(session_id=self.own)
                    await asyncio.wait({asking}, timeout=CANCEL_S)
        return found

    @property
    def _said(self) -> str:
        return self._conversation.cleaner.text(self._process.said)

    async def _answered(self, wish: AgentWish) -> Answer:
        """Pass on what the agent asks for; too many requests end the turn."""
        self._requests += 1
        if self._requests > MOST_REQUESTS:
            self._watch.end("flood", f"more than {MOST_REQUESTS:,} requests")
            return Answer(False, "the turn is over")
        return await self._ask(wish)

    def _hear(self, params: Any) -> None:
        if (status := retried_after(params)) in REFUSED_KEY:
            self._refused_key = f"its service answers {status}"
            self._watch.end("crash", self._refused_key)
        self._conversation.hear(params)
        if (self._conversation.usd or 0.0) >= self._most_usd:
            self._watch.end("money", "")

    async def _introduce(self, program: str) -> None:
        known = await self._agent.initialize(
            protocol_version=acp.PROTOCOL_VERSION,
            client_capabilities=schema.ClientCapabilities(),
            client_info=schema.Implementation(name="kpd", version=kpd.__version__),
        )
        if known.protocol_version != acp.PROTOCOL_VERSION:
            await self.close()
            raise Unavailable(
                f"{program} speaks version {known.protocol_version} of the protocol, kpd {acp.PROTOCOL_VERSION}",
                "install a version of the agent that speaks the same",
            )
        info, can = known.agent_info, known.agent_capabilities
        self.agent = f"{info.name} {info.version}" if info else program
        self._resumes = bool(can and can.session_capabilities and can.session_capabilities.resume)
        self.loads = self._resumes or bool(can and can.load_session)

    async def _begin(self, order: Order, own: str, tools: Sequence[ToolServer]) -> None:
        """Begin a session with these tools, or go on with `own`."""
        socket = [schema.EnvVariable(name=name, value=order.env[name]) for name in TOOLS_ENV if name in order.env]
        program, *args = OWN_SERVER
        own_server = schema.McpServerStdio(name="kpd", command=program, args=args, env=socket)
        servers: list[Any] = [own_server] if SOCKET in order.env else []
        for one in tools:
            argv = [*args, "--tool", one.name, "--", *one.command]
            servers.append(schema.McpServerStdio(name=one.name, command=program, args=argv, env=socket))
        cwd = order.cwd
        if own and self.loads:
            self.loads = await self._goes_on(own, cwd, servers)
        if not self.own:
            self.own = (await self._agent.new_session(cwd=cwd, mcp_servers=servers, **META)).session_id

    async def _goes_on(self, own: str, cwd: str, servers: list[Any]) -> bool:
        """Go on with the session `own`; return whether the agent has it."""
        go_on = self._agent.resume_session if self._resumes else self._agent.load_session
        self._conversation.replayed = True
        try:
            await go_on(cwd=cwd, session_id=own, mcp_servers=servers, **META)
        except RequestError as err:
            if wants_key(err):
                raise
            self._conversation.note(KPD, f"it cannot go on with its session: {self._refusal(err)}")
            return False
        finally:
            self._conversation.replayed = False
        self.own = own
        return True

    async def _choose(self, mode: str, model: str) -> None:
        if mode:
            await self._agent.set_session_mode(session_id=self.own, mode_id=mode)
        if model:
            await self._agent.set_config_option(config_id="model", session_id=self.own, value=model)

    async def _unavailable(self, program: str, err: Exception) -> Unavailable:
        """Close, and return what is wrong with an agent that did not begin a session."""
        await self.close()
        words = self._said.splitlines()[-1] if self._said else self._wire.first_garbage
        if self._watch.over.done():
            return Unavailable(f"{program} floods: {self._watch.over.result()[1]}", "replace it by one that does not")
        match err:
            case RequestError() if wants_key(err):
                return self._not_logged_in(program, str(err))
            case RequestError():
                return Unavailable(f"{program}: {self._refusal(err)}", "correct its table in config.toml")
            case TimeoutError():
                silent = f"{program} has not answered for {START_S:.0f} s"
                return Unavailable(f"{silent}: {words}" if words else silent, "start it by hand, to see why")
        foreign = f"{program} does not speak the Agent Client Protocol: {words or err}"
        return Unavailable(foreign, "start it with exec = [...] in place of command")

    def _refusal(self, err: RequestError) -> str:
        details = err.data.get("details") or err.data.get("message") if isinstance(err.data, dict) else err.data
        return f"{err}: {details}" if details else str(err)

    def _not_logged_in(self, program: str, why: str) -> Unavailable:
        keys = " or ".join(self._keys) or "its key, and name its variable in keys of its table,"
        remedy = f"set {keys} in the environment of the daemon: kpd shutdown, then kpd start"
        return Unavailable(f"{program} is not logged in: {why}", remedy)


def wants_key(err: RequestError) -> bool:
    """Return whether an agent has no key. Codex, which logs in by itself, names the variables of one instead."""
    return err.code == AUTHENTICATION or (isinstance(err.data, dict) and bool(err.data.get("envVars")))


def retried_after(params: Any) -> int | None:
    """Return the status after which Claude Code is about to ask its service again; None in any other message."""
    message = params.get("message") if isinstance(params, dict) else None
    if not isinstance(message, dict) or any(message.get(key) != value for key, value in RETRIES.items()):
        return None
    status = message.get("error_status")
    return status if isinstance(status, int) else None
