"""The transport into an allocation of Slurm: a channel is a step that enters the holder of its job."""

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import PurePath
from typing import ClassVar

from kpd.hosts.channel import Channel, Reader, Writer
from kpd.hosts.errors import HostError, HostKey, Pending
from kpd.hosts.link import RunOnNode, Transport
from kpd.hosts.shared_root import sees
from kpd.hosts.slurm import queue, trial
from kpd.hosts.slurm.holder import PREFIX
from kpd.hosts.slurm.lent_job import ASK_S, CANCEL_S, LentJob
from kpd.hosts.slurm.queue import Allocation
from kpd.model.hosts import Check
from kpd.model.waits import ForAllocation
from kpd.text.numbers import moment

INSIDE_S = 10.0  # for the holder to listen, once its job runs
log = logging.getLogger(__name__)

Attach = Callable[[tuple[str, ...]], Transport]
"""Makes a transport to the machine of Slurm's commands that starts the helper through the given words."""


@dataclass(frozen=True, slots=True)
class StepChannel:
    """The channel of a step, and the transport that belongs to it alone."""

    channel: Channel
    transport: Transport

    @property
    def reader(self) -> Reader:
        return self.channel.reader

    @property
    def writer(self) -> Writer:
        return self.channel.writer

    async def close(self) -> str:
        words = await self.channel.close()
        await self.transport.close()
        return words


class Slurm:
    """A transport into the allocation `lent`, which is entered by a step beside the batch step.

    `enter` starts the helper in a container of the allocation.
    """

    kind: ClassVar[str] = "slurm"

    def __init__(self, lent: LentJob, attach: Attach, enter: tuple[str, ...]) -> None:
        self.idle_s = lent.keys.idle_s
        self._lent = lent
        self._attach = attach
        self._enter = enter

    async def open(self) -> Channel:
        """Enter the allocation, which is asked for where there is none. Raises HostError: Pending while it waits."""
        lent = self._lent
        await lent.reach()
        found = await lent.wanted()
        if found.state == "pending":
            raise self._pending(found)
        words = queue.step(lent.keys, found)
        holds = lent.holds(found)
        await self._inside(found, words, f"{PREFIX}{holds}")
        inner = self._attach(
            (*words, lent.python, "-I", "-S", f"{PREFIX}{holds}/holder.py", "enter", holds, *self._enter)
        )
        channel = StepChannel(await inner.open(), inner)
        lent.entered(found)
        log.info("%s: entered job %s on %s", lent.name, found.job, found.node)
        return channel

    async def trust(self, key: HostKey) -> None:
        """Raise HostError (host_key): the key is that of the host that leads to the cluster."""
        leads = self._lent.keys.via or "the login node"
        raise HostError("host_key", f"{self._lent.name} shows no key", f"kpd hosts trust {leads}")

    def left_s(self) -> float | None:
        """Return for how many seconds the allocation lasts; None where that is not known."""
        return self._lent.left_s()

    def whole_s(self) -> float:
        """Return for how many seconds the allocation was asked for; 0 where that is not known."""
        return self._lent.whole_s()

    async def checks(self, run: RunOnNode, root: PurePath) -> tuple[Check, ...]:
        """Look at the cluster from its login node, and at whether that has the node's `root`. Raises HostError."""
        keys, login = self._lent.keys, self._lent.login
        nodes = await login.run(trial.partition_script(keys), trial.LOOK_S)
        mine = await login.run(trial.limits_script(keys), trial.LOOK_S)
        seen = await sees(login.run, run, root)
        said, words = (each.decode(errors="replace") for each in (nodes.stdout, nodes.stderr))
        return (
            trial.partition(keys, nodes.rc, said, words),
            trial.limits(keys, mine.rc, mine.stdout.decode(errors="replace")),
            trial.shared(root, seen),
        )

    async def give_back(self) -> None:
        """End the job, whether it runs or waits. Raises HostError."""
        await self._lent.give_back()

    async def close(self) -> None:
        """Give back what was asked for, and leave the machine of Slurm's commands."""
        try:
            async with asyncio.timeout(CANCEL_S):
                if self._lent.login.up and self._lent.asking:
                    await self.give_back()
        except (HostError, TimeoutError) as err:
            log.warning("%s: its job was not cancelled, and ends itself after a while: %s", self._lent.name, err)
        await self._lent.login.close()

    async def _inside(self, found: Allocation, words: tuple[str, ...], folder: str) -> None:
        """Wait until the holder listens, in a folder that nobody else has made there. Raises HostError."""
        waits = queue.waiting(folder, int(INSIDE_S / 0.2))
        said = await self._lent.login.run(queue.shell(*words, "sh", "-c", waits), ASK_S)
        if said.rc == queue.NOBODY:
            raise await self._lent.not_held(found)
        if said.rc != 0:
            why = said.stderr.decode(errors="replace").strip()[: queue.SHOWN] or f"srun ends with {said.rc}"
            raise HostError("unreachable", f"{self._lent.name}: job {found.job} cannot be entered: {why}")

    def _pending(self, found: Allocation) -> Pending:
        begins = f", expected {moment(found.begins)}" if found.begins else ""
        message = f"{self._lent.name}: job {found.job} waits ({found.reason}){begins}"
        waits = ForAllocation(self._lent.name, found.job, found.reason, found.begins, self._lent.ended)
        return Pending(message, waits)
