"""Talks with an agent that is a plain program: it gets a prompt, and what it leaves in the tree is its answer."""

import asyncio
import contextlib
from pathlib import Path

from kpd.hosts.keeper import Order
from kpd.hosts.kept import KeptProcess
from kpd.sessions.conversation import Conversation
from kpd.sessions.network import AgentNetwork
from kpd.sessions.turn import TurnResult, Watch, failed, started

PROMPT_FILE = "{prompt_file}"
MOST_OUTPUT = 64 << 20
CHUNK = 64 << 10


class ExecTalk:
    """A `Talk` with a program that is started anew for each prompt: it remembers nothing but its files."""

    own = ""
    loads = False

    def __init__(
        self, order: Order, folder: Path, prompt_file: Path, conversation: Conversation,
        network: AgentNetwork | None = None,
    ) -> None:  # fmt: skip
        self._order = order
        self._folder = folder
        self._prompt_file = prompt_file
        self._conversation = conversation
        self._network = network
        self._process: KeptProcess | None = None
        self._watch: Watch | None = None
        self.agent = order.argv[0]

    async def ask(self, prompt: str, limit_s: float, most_usd: float) -> TurnResult:
        self._prompt_file.write_text(prompt)
        by_file = any(PROMPT_FILE in word for word in self._order.argv)
        argv = tuple(word.replace(PROMPT_FILE, str(self._prompt_file)) for word in self._order.argv)
        order = self._order._replace(argv=argv)
        process = self._process = await started(order, self._folder, self._network)
        watch = self._watch = Watch(process, self._folder)
        talking = asyncio.create_task(self._talk(process, watch, "" if by_file else prompt))
        try:
            await watch.until(talking, limit_s)
            if watch.over.done():
                return TurnResult(*watch.over.result())
            if not talking.done():
                return TurnResult("time", self._conversation.message)
            ending = await process.wait()
            if ending.rc or ending.why:
                return TurnResult(*failed(ending, self._conversation.cleaner.text(process.said)))
            return TurnResult("done", self._conversation.message)
        finally:
            talking.cancel()
            watch.close()
            await process.end()

    def cut(self) -> None:
        if self._watch is not None:
            self._watch.end("stopped", "")

    async def close(self) -> None:
        if self._process is not None:
            await self._process.end()

    async def _talk(self, process: KeptProcess, watch: Watch, prompt: str) -> None:
        with contextlib.suppress(ConnectionError):  # it does not read its stdin
            process.stdin.write(prompt.encode())
            await process.stdin.drain()
        process.stdin.close()
        heard = 0
        while data := await process.stdout.read(CHUNK):
            heard += len(data)
            if heard > MOST_OUTPUT:
                watch.end("flood", f"it printed more than {MOST_OUTPUT >> 20} MiB")
                return
            self._conversation.hear_text(data.decode(errors="replace"))
