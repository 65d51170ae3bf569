"""Keeps one allocation of Slurm: its job is found by name, asked for where there is none, and given back."""

import asyncio
import logging
import time
from math import inf

from kpd.hosts.errors import HostError, InVain
from kpd.hosts.gpu_hours import GpuHours, Lent
from kpd.hosts.host import Host
from kpd.hosts.job import CommandResult
from kpd.hosts.slurm import queue
from kpd.hosts.slurm.keys import SlurmKeys
from kpd.hosts.slurm.queue import Allocation
from kpd.workspace.durations import duration

ASK_S = 25.0  # for Slurm's commands
SOON_S, LOOK_S = 6.0, 0.5  # how long a job that has just been submitted is looked at again, and how often
CANCEL_S = 8.0
BROKE = ("FAILED", "COMPLETED", "OUT_OF_MEMORY", "BOOT_FAIL")  # how a job ends that its node could not keep
LEAST_S, OVER_S = 300.0, 600.0  # the shortest allocation worth asking for, and when hours used up are looked at again
LASTED_S = 60.0  # one that was used for so long has been of use
BEGINS_S = 60.0  # for the holder to begin, once its node lets kpd in
log = logging.getLogger(__name__)


class LentJob:
    """The allocation of one host, as its job in Slurm's queue.

    `login` is the machine of Slurm's commands. `name` is the host's, `table` that of its table in config.toml, whose
    hosts share a day's GPU hours. `job_name` is that of its jobs, which no other host of any workspace has.
    """

    def __init__(
        self, name: str, table: str, job_name: str, keys: SlurmKeys, login: Host, python: str, hours: GpuHours
    ) -> None:
        self.name = name
        self.keys = keys
        self.login = login
        self.python = python
        self.ended = ""  # how the last one ended
        self._table = table
        self._job_name = job_name
        self._held: Allocation | None = None  # the last one seen
        self.asking = False  # whether this process may have asked for a job, also for one that nobody has seen
        self._hours = hours
        self._entered: dict[str, float] = {}  # the jobs that were entered, and when, by the monotonic clock
        self._in_vain = 0  # jobs in a row that ended before they were of use
        self._silent: tuple[str, float] = ("", 0.0)  # a job in which nobody listened, and since when

    def left_s(self) -> float | None:
        """Return for how many seconds the allocation lasts; None where that is not known."""
        if self._held is None or self._held.ends is None:
            return None
        return self._held.ends - self._now()

    def whole_s(self) -> float:
        """Return for how many seconds the allocation was asked for; 0 where that is not known."""
        return (self._held.limit_s if self._held is not None else None) or 0.0

    async def wanted(self) -> Allocation:
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

    async def give_back(self) -> None:
        """End the job, whether it runs or waits, and whoever has asked for it. Raises HostError."""
        await self.reach()
        script = queue.cancelling(self.keys, self._job_name, self.login.root)
        said = await self.login.run(script, CANCEL_S)
        if said.rc != 0:
            raise queue.refusal(self.name, said.rc, said.stderr.decode(errors="replace"))
        log.info("%s: gave its job back", self.name)
        held, self._held, self.asking = self._held, None, False
        if held is not None:
            self._hours.end(self.name, held.job, self._now())

    def holds(self, found: Allocation) -> str:
        """Return the name under which the holder of an allocation listens on its node, as no other holder does."""
        return f"{self._job_name}-{found.job}"

    async def not_held(self, found: Allocation) -> HostError:
        """Return the error for an allocation that runs, as Slurm says, and has no holder; it is given back if need be.

        One that was entered had a holder, which has ended, so it is of no use: a controller that crashed, and lost its
        last seconds, says for minutes that such a job runs. The holder of another one may yet begin.
        """
        if found.job in self._hours.open(self.name):
            await self.give_back()
            self.ended = "its holder had ended"
            lost = f"{self.name}: nobody holds job {found.job} any more, though Slurm says that it runs"
            return HostError("unreachable", lost, "kpd gave it back, and asks for another")
        if self._silent[0] != found.job:
            self._silent = (found.job, time.monotonic())
        if time.monotonic() - self._silent[1] < BEGINS_S:
            message = f"{self.name}: job {found.job} runs, and its holder has not begun"
            return HostError("unreachable", message, "kpd keeps trying for a minute, and asks for another then")
        return await self._unused(found.job, f"ran, and its holder did not begin within {BEGINS_S:.0f} s")

    def entered(self, found: Allocation) -> None:
        """Note, the first time, that the allocation is of use, and since when its GPUs count. Raises HostError."""
        if found.job in self._entered:
            return
        self._entered[found.job] = time.monotonic()
        begun = found.begins or self._now()
        ends = found.ends or begun + (found.limit_s or 0.0)
        lent = Lent(self.name, found.job, found.user, found.account, self.keys.gpus, begun, ends, table=self._table)
        self._hours.note(lent)

    def _now(self) -> float:
        """Return the Unix time by the cluster's clock."""
        return time.time() + self.login.skew_s

    def _most_s(self) -> float:
        """Return for how long an allocation may be asked for today. Raises HostError where that is too short.

        What others of the table may still use counts as used, and what is left is shared by as many as there may be.
        """
        most = self.keys.max_gpu_hours_per_day
        if not most or not self.keys.gpus:
            return inf
        used, due = self._hours.today(self._table, self._now()), self._hours.due(self._table, self.name, self._now())
        left_s = 3600 * (most - used - due) / (self.keys.gpus * self.keys.max_allocations)
        if left_s < LEAST_S:
            others = f", and {due:.2f} more go to others of {self._table}" if due else ""
            message = f"{self.name}: {used:.2f} of the {most:g} GPU hours for today (UTC) are used{others}"
            error = HostError(
                "released", message, "kpd asks again after midnight, or once max_gpu_hours_per_day is higher"
            )
            error.again_s = OVER_S
            raise error
        return left_s

    async def reach(self) -> None:
        """Connect to the machine of Slurm's commands. Raises HostError."""
        if not self.login.up:
            before = self.login.tries
            self.login.retry_now()
            self.login.start()
            await self.login.tried(before)
        if (trouble := self.login.trouble) is not None:
            raise HostError(trouble.kind, f"{self.name}: {trouble.message}", trouble.remedy)

    async def _asked(self) -> Allocation:
        known = self._held
        patience = duration(self.keys.abandon_after)
        there = self.keys.max_gpu_hours_per_day and await self._listed()
        most_s = inf if there else self._most_s()
        script = queue.asking(self.keys, self._job_name, self.python, patience, self.login.root, most_s)
        self.asking = True
        said = await self._said(script)
        listed = self._read(said)
        if not listed:
            job = queue.submitted(said)
            await self._was_in_vain(job)
            raise await self._unused(job, self._ended_early())
        found, *doubled = listed
        if doubled:
            await self._said(queue.cancelling_only(self.keys, [one.job for one in doubled]))
        if known is not None and known.job != found.job and await self._was_in_vain(known.job):
            raise await self._unused(known.job, self._ended_early())
        self._held = found
        return found

    async def _listed(self) -> list[Allocation]:
        return self._read(await self._said(queue.listing(self.keys, self._job_name)))

    def _read(self, said: str) -> list[Allocation]:
        """Read squeue's answer. Raises HostError."""
        try:
            return queue.allocations(said)
        except ValueError as err:
            raise HostError("config", f"{self.name}: {err}", "is it Slurm's squeue?") from err

    async def _was_in_vain(self, job: str) -> bool:
        """Note how an allocation ended, and return whether its node could not keep it for as long as it is of use."""
        self.ended = await self._how_it_ended(job)
        log.info("%s: job %s ended: %s", self.name, job, self.ended or "Slurm does not know how")
        lasted = time.monotonic() - self._entered.pop(job, time.monotonic())
        if lasted < LASTED_S and self.ended.startswith(BROKE):
            return True
        self._in_vain = 0
        return False

    async def _how_it_ended(self, job: str) -> str:
        """Return Slurm's word for the end of a job, and note when that was, if Slurm knows it."""
        said = await self.login.run(queue.ending(self.keys, self._job_name, job), ASK_S)
        words = said.stdout.decode(errors="replace")
        if (at := queue.when_it_ended(words)) is not None:
            self._hours.end(self.name, job, at)
        return queue.how_it_ended(words)

    def _ended_early(self) -> str:
        return f"ended before kpd could use it ({self.ended or 'unknown'})"

    async def _unused(self, job: str, what: str) -> HostError:
        """Give back what may have been asked for since, and return the error for a job that was of no use."""
        self._in_vain += 1
        await self.give_back()
        again_s = queue.next_try_s(self._in_vain)
        row = f", the last of {self._in_vain} in a row" if self._in_vain > 1 else ""
        message = f"{self.name}: job {job} {what}{row}; kpd asks for the next in {again_s / 60:.0f} min"
        remedy = f"has its node {self.python}, 3.6 or later, memory enough, and a /tmp that you can write?"
        return InVain(message, remedy, again_s)

    async def _check_reason(self, found: Allocation) -> None:
        """Give a job back that would wait for ever. Raises HostError."""
        if remedy := queue.remedy_of(found.reason):
            await self.give_back()
            raise HostError("config", f"{self.name}: Slurm would never begin the job: {found.reason}", remedy)

    async def _said(self, script: str) -> str:
        said: CommandResult = await self.login.run(script, ASK_S)
        if said.rc != 0:
            raise queue.refusal(self.name, said.rc, said.stderr.decode(errors="replace"))
        return said.stdout.decode(errors="replace")
