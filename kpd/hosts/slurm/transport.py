"""The transport into allocations of Slurm: asks for one, waits for it, enters it, gives it back."""

import asyncio
import logging
import time
from collections.abc import Callable
from dataclasses import dataclass
from math import inf
from pathlib import PurePath
from typing import ClassVar

from kpd.hosts.errors import HostError, HostKey, InVain, Pending
from kpd.hosts.host import Host
from kpd.hosts.job import CommandResult
from kpd.hosts.link import Channel, Reader, RunOnNode, Transport, Writer
from kpd.hosts.slurm import queue, trial
from kpd.hosts.slurm.holder import PREFIX
from kpd.hosts.slurm.hours import GpuHours, Lent
from kpd.hosts.slurm.keys import SlurmKeys
from kpd.hosts.slurm.queue import Allocation
from kpd.model.hosts import Check
from kpd.model.waits import ForAllocation
from kpd.workspace.durations import duration

ASK_S = 25.0  # for Slurm's commands
SOON_S, LOOK_S = 6.0, 0.5  # how long a job that has just been submitted is looked at again, and how often
INSIDE_S = 10.0  # for the holder to listen, once its job runs
CANCEL_S = 8.0
BROKE = ("FAILED", "COMPLETED", "OUT_OF_MEMORY", "BOOT_FAIL")  # how a job ends that its node could not keep
LEAST_S, OVER_S = 300.0, 600.0  # the shortest allocation worth asking for, and when hours used up are looked at again
LASTED_S = 60.0  # one that was used for so long has been of use
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
        return self

    async def read(self, n: int) -> bytes:
        return await self.channel.reader.read(n)

    async def readexactly(self, n: int) -> bytes:
        """Read `n` bytes. Raises ConnectionResetError at the end: with its allocation a step ends at any time."""
        try:
            return await self.channel.reader.readexactly(n)
        except EOFError as err:
            raise ConnectionResetError("the step has ended") from err

    @property
    def writer(self) -> Writer:
        return self.channel.writer

    async def close(self) -> str:
        words = await self.channel.close()
        await self.transport.close()
        return words


class Slurm:
    """One allocation at a time, found by its job's name, and entered by a step beside the batch step.

    `login` is the machine of Slurm's commands. `name` is the host's, `job_name` that of its jobs, which no other host
    of any workspace has. `enter` starts the helper in a container of the allocation.
    """

    kind: ClassVar[str] = "slurm"

    def __init__(
        self,
        name: str,
        job_name: str,
        keys: SlurmKeys,
        login: Host,
        attach: Attach,
        python: str,
        enter: tuple[str, ...],
        hours: GpuHours,
    ) -> None:
        self.name = name
        self.idle_s = keys.idle_s
        self._job_name = job_name
        self._keys = keys
        self._login = login
        self._attach = attach
        self._python = python
        self._enter = enter
        self._held: Allocation | None = None  # the last one seen
        self._asking = False  # whether there may be a job, also one that nobody has seen
        self._hours = hours
        self._entered: dict[str, float] = {}  # the jobs that were entered, and when, by the monotonic clock
        self._in_vain = 0  # jobs in a row that ended before they were of use
        self._ended = ""  # how the last one ended

    @property
    def allocation(self) -> Allocation | None:
        """The allocation as it was last seen."""
        return self._held

    async def open(self) -> Channel:
        """Enter the allocation, which is asked for where there is none. Raises HostError: Pending while it waits."""
        await self._reach()
        found = await self._wanted()
        if found.state == "pending":
            raise self._pending(found)
        words = queue.step(self._keys, found)
        await self._inside(found, words)
        inner = self._attach(
            (*words, self._python, "-I", "-S", f"{PREFIX}{found.job}/holder.py", "enter", found.job, *self._enter)
        )
        channel = StepChannel(await inner.open(), inner)
        if found.job not in self._entered:
            self._entered[found.job] = time.monotonic()
            self._note_begin(found)
        log.info("%s: entered job %s on %s", self.name, found.job, found.node)
        return channel

    async def trust(self, key: HostKey) -> None:
        """Raise HostError (host_key): the key is that of the host that leads to the cluster."""
        raise HostError(
            "host_key", f"{self.name} shows no key", f"kpd hosts trust {self._keys.via or 'the login node'}"
        )

    def left_s(self) -> float | None:
        """Return for how many seconds the allocation lasts; None where that is not known."""
        if self._held is None or self._held.ends is None:
            return None
        return self._held.ends - self._now()

    def whole_s(self) -> float:
        """Return for how many seconds the allocation was asked for; 0 where that is not known."""
        return (self._held.limit_s if self._held is not None else None) or 0.0

    async def checks(self, run: RunOnNode, root: PurePath) -> tuple[Check, ...]:
        """Look at the cluster from its login node, and at whether that has the node's `root`. Raises HostError."""
        nodes = await self._login.run(trial.partition_script(self._keys), trial.LOOK_S)
        mine = await self._login.run(trial.limits_script(self._keys), trial.LOOK_S)
        leave, find, remove = trial.mark(root)
        await run(leave, trial.LOOK_S)
        found = await self._login.run(find, trial.LOOK_S)
        await run(remove, trial.LOOK_S)
        said, words = (each.decode(errors="replace") for each in (nodes.stdout, nodes.stderr))
        return (
            trial.partition(self._keys, nodes.rc, said, words),
            trial.limits(self._keys, mine.rc, mine.stdout.decode(errors="replace")),
            trial.shared(root, found.stdout.decode(errors="replace")),
        )

    async def give_back(self) -> None:
        """End the job, whether it runs or waits. Raises HostError."""
        if self._login.up and self._asking:
            script = queue.cancelling(self._keys, self._job_name, self._login.root)
            said = await self._login.run(script, CANCEL_S)
            if said.rc != 0:
                raise queue.refusal(self.name, said.rc, said.stderr.decode(errors="replace"))
            log.info("%s: gave its job back", self.name)
            held, self._held, self._asking = self._held, None, False
            if held is not None:
                self._hours.end(self.name, held.job, self._now())

    async def close(self) -> None:
        """Give the allocation back, and leave the machine of Slurm's commands."""
        try:
            async with asyncio.timeout(CANCEL_S):
                await self.give_back()
        except (HostError, TimeoutError) as err:
            log.warning("%s: its job was not cancelled, and ends itself after a while: %s", self.name, err)
        await self._login.close()

    def _now(self) -> float:
        """Return the Unix time by the cluster's clock."""
        return time.time() + self._login.skew_s

    def _note_begin(self, found: Allocation) -> None:
        begun = found.begins or self._now()
        ends = found.ends or begun + (found.limit_s or 0.0)
        self._hours.note(Lent(self.name, found.job, found.user, found.account, self._keys.gpus, begun, ends))

    def _most_s(self) -> float:
        """Return for how long an allocation may be asked for today. Raises HostError where that is too short."""
        most = self._keys.max_gpu_hours_per_day
        if not most or not self._keys.gpus:
            return inf
        used = self._hours.today(self.name, self._now())
        left_s = 3600 * (most - used) / self._keys.gpus
        if left_s < LEAST_S:
            message = f"{self.name}: {used:.2f} of the {most:g} GPU hours for today (UTC) are used"
            error = HostError(
                "released", message, "kpd asks again after midnight, or once max_gpu_hours_per_day is higher"
            )
            error.again_s = OVER_S
            raise error
        return left_s

    async def _reach(self) -> None:
        """Connect to the machine of Slurm's commands. Raises HostError."""
        if not self._login.up:
            before = self._login.tries
            self._login.retry_now()
            self._login.start()
            await self._login.tried(before)
        if (trouble := self._login.trouble) is not None:
            raise HostError(trouble.kind, f"{self.name}: {trouble.message}", trouble.remedy)

    async def _wanted(self) -> Allocation:
        """Return the allocation, a new one if need be, and look for a while whether it begins. Raises HostError."""
        asked = time.monotonic()
        found = await self._asked()
        while found.state == "pending" and time.monotonic() - asked < SOON_S:
            await self._check_reason(found)
            await asyncio.sleep(LOOK_S)
            listed = await self._listed()
            found = listed[0] if listed else await self._asked()
        if found.state == "pending":
            await self._check_reason(found)
        self._held = found
        for job in self._hours.open(self.name):
            if job != found.job:
                await self._how_it_ended(job)
        return found

    async def _asked(self) -> Allocation:
        known = self._held
        patience = duration(self._keys.abandon_after)
        there = self._keys.max_gpu_hours_per_day and await self._listed()
        most_s = inf if there else self._most_s()
        script = queue.asking(self._keys, self._job_name, self._python, patience, self._login.root, most_s)
        self._asking = True
        said = await self._said(script)
        listed = self._read(said)
        if not listed:
            job = queue.submitted(said)
            await self._was_in_vain(job)
            raise await self._unused(job)
        found, *doubled = listed
        if doubled:
            await self._said(queue.cancelling_only(self._keys, [one.job for one in doubled]))
        if known is not None and known.job != found.job and await self._was_in_vain(known.job):
            raise await self._unused(known.job)
        self._held = found
        return found

    async def _listed(self) -> list[Allocation]:
        return self._read(await self._said(queue.listing(self._keys, self._job_name)))

    def _read(self, said: str) -> list[Allocation]:
        """Read squeue's answer. Raises HostError."""
        try:
            return queue.allocations(said)
        except ValueError as err:
            raise HostError("config", f"{self.name}: {err}", "is it Slurm's squeue?") from err

    async def _was_in_vain(self, job: str) -> bool:
        """Note how an allocation ended, and return whether its node could not keep it for as long as it is of use."""
        self._ended = await self._how_it_ended(job)
        log.info("%s: job %s ended: %s", self.name, job, self._ended or "Slurm does not know how")
        lasted = time.monotonic() - self._entered.pop(job, time.monotonic())
        if lasted < LASTED_S and self._ended.startswith(BROKE):
            return True
        self._in_vain = 0
        return False

    async def _how_it_ended(self, job: str) -> str:
        """Return Slurm's word for the end of a job, and note when that was, if Slurm knows it."""
        said = await self._login.run(queue.ending(self._keys, job), ASK_S)
        words = said.stdout.decode(errors="replace")
        if (at := queue.when_it_ended(words)) is not None:
            self._hours.end(self.name, job, at)
        return queue.how_it_ended(words)

    async def _unused(self, job: str) -> HostError:
        """Give back what may have been asked for since, and return the error for a job that ended too soon."""
        self._in_vain += 1
        await self.give_back()
        again_s = queue.next_try_s(self._in_vain)
        row = f", the last of {self._in_vain} in a row" if self._in_vain > 1 else ""
        message = (
            f"{self.name}: job {job} ended before kpd could use it ({self._ended or 'unknown'}){row}; "
            f"kpd asks for the next in {again_s / 60:.0f} min"
        )
        remedy = f"has its node {self._python}, 3.6 or later, memory enough, and a /tmp that you can write?"
        return InVain(message, remedy, again_s)

    async def _inside(self, found: Allocation, words: tuple[str, ...]) -> None:
        """Wait until the holder listens, in a folder that nobody else has made there. Raises HostError."""
        waits = queue.waiting(f"{PREFIX}{found.job}", int(INSIDE_S / 0.2))
        said = await self._login.run(queue.shell(*words, "sh", "-c", waits), ASK_S)
        if said.rc != 0:
            why = said.stderr.decode(errors="replace").strip()[: queue.SHOWN] or "nobody listens there"
            raise HostError("unreachable", f"{self.name}: job {found.job} cannot be entered: {why}")

    async def _check_reason(self, found: Allocation) -> None:
        """Give a job back that would wait for ever. Raises HostError."""
        if remedy := queue.remedy_of(found.reason):
            await self.give_back()
            raise HostError("config", f"{self.name}: Slurm would never begin the job: {found.reason}", remedy)

    def _pending(self, found: Allocation) -> Pending:
        begins = f", expected {time.strftime('%d %b %H:%M', time.localtime(found.begins))}" if found.begins else ""
        message = f"{self.name}: job {found.job} waits ({found.reason}){begins}"
        return Pending(message, ForAllocation(self.name, found.job, found.reason, found.begins, self._ended))

    async def _said(self, script: str) -> str:
        said: CommandResult = await self._login.run(script, ASK_S)
        if said.rc != 0:
            raise queue.refusal(self.name, said.rc, said.stderr.decode(errors="replace"))
        return said.stdout.decode(errors="replace")
