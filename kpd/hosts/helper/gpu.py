"""Keeps a GPU free for one job: waits for other compute processes before it, and watches for them during it."""

import os
import time
from pathlib import Path
from typing import Callable  # noqa: UP035 - evaluated under Python 3.6 too

from kpd.hosts.helper.children import Children
from kpd.hosts.helper.processes import descends, deserted, exists, folder_of, kill, same_folder
from kpd.hosts.helper.smi import PROGRAM, Processes, SmiQuery, Unwatched, find

GLANCE = 0.1  # seconds between checks whether nvidia-smi has answered
WAIT = 1.0  # seconds from one answer to the next question, while others are waited for …
PACE = 2.0  # … and while the script runs …
SOON = 0.2  # … or sooner, when the script has written something: kpd uses that only after a look at the GPU
FOREVER = 3600.0
LISTED = 20  # processes in a note


def listed(processes: Processes) -> "list[dict[str, int | str]]":
    return [{"pid": pid, "name": processes[pid]} for pid in sorted(processes)[:LISTED]]


class GpuWatch:
    """A watch over a GPU that should have one job only.

    The job's own processes do not count, nor those whose names are tolerated. When nvidia-smi cannot list the
    processes, a note says why, and the job goes on unwatched.
    """

    def __init__(
        self,
        children: Children,
        folder: Path,
        device: str,
        tolerate: "list[str]",
        output: int,
        note: "Callable[..., None]",
    ) -> None:
        self.children = children
        self.folder = folder
        self.device = device
        self.tolerate = tolerate
        self.output = output  # the job's stdout, whose size says when in the job something was seen
        self.note = note
        self.program = find()
        self.look = None  # type: SmiQuery | None
        self.next = 0.0  # when to look again
        self.size = 0  # of the output, when the present look began …
        self.clear_size = 0  # … and when the last clear one did
        self.own = set()  # type: set[int]
        self.strange = {}  # type: dict[int, float]
        self.seen = {}  # type: Processes
        if not self.program:
            self.give_up(f"there is no {PROGRAM} on this host")

    def give_up(self, reason: str) -> None:
        self.program = ""
        self.note(unwatched=reason)

    def await_clear(self) -> bool:
        """Wait until nobody else computes on the device; return False when the job was asked to end."""
        told, killed = None, set()  # type: Processes | None, set[int]
        while self.program and not self.children.asked:
            found = self.poll()
            if found is None:
                self.children.nap(GLANCE)
                continue
            others, left, unsure = self.sort(found)
            for pid, name in left.items():
                if pid in killed:
                    others[pid] = name  # it hangs in the kernel, or its end takes time
                else:
                    kill(pid)
                    self.note(killed=pid, name=name)
                    killed.add(pid)
            if others and others != told:
                self.note(waits="foreign", processes=listed(others))
                told = others
            if not (others or left or unsure):
                break
            self.children.nap(WAIT if others else GLANCE)
        self.drop()
        self.next = time.monotonic() + PACE
        return not self.children.asked

    def step(self) -> float:
        """Do what is due while the script runs, and return in how many seconds to call this again."""
        now = time.monotonic()
        if not self.program:
            return FOREVER
        grown = os.fstat(self.output).st_size > self.size
        if self.look is None and now < self.next - (PACE - SOON if grown else 0.0):
            return GLANCE
        found = self.poll()
        if found is not None:
            self.judge(found)
            self.next = now + PACE
        return GLANCE

    def finish(self) -> None:
        """Complete the query that is under way and make a last one, after the script has ended by itself."""
        for _ in range(1 if self.look is None else 2):
            while self.program and not self.children.asked:
                found = self.poll()
                if found is not None:
                    self.judge(found)
                    break
                self.children.nap(GLANCE)

    def drop(self) -> None:
        """End the query that is under way, if there is one."""
        if self.look is not None:
            self.look.close()
            self.look = None

    def poll(self) -> "Processes | None":
        """Return the query's answer, None if it is not there yet; begin a query if none is under way."""
        try:
            if self.look is None:
                self.size = os.fstat(self.output).st_size
                self.look = SmiQuery(self.children, self.program)
            if not self.look.done():
                return None
            found = self.look.processes(self.device)
        except (Unwatched, OSError) as err:
            self.give_up(str(err))
            found = None
        self.drop()
        return found

    def judge(self, found: Processes) -> None:
        """Note who else computes while the script runs, and between which sizes of its output they appeared."""
        others, left, _ = self.sort(found)
        others.update(left)
        if not self.own and any(not exists(pid) for pid in others):
            # They may be the job's own: nvidia-smi may number processes differently from this container.
            self.give_up(f"{PROGRAM} names processes that this container cannot see")
            others = {pid: name for pid, name in others.items() if exists(pid)}
        if others:
            self.note(foreign=listed(others), **{"from": self.clear_size, "to": os.fstat(self.output).st_size})
            self.seen.update(others)
        elif self.seen or self.size > self.clear_size:  # what was written before this look can be believed
            self.clear_size = self.size
            self.note(clear=self.size)

    def sort(self, found: Processes) -> "tuple[Processes, Processes, bool]":
        """Split the processes on the GPU: those of others, those that dead jobs have left, and whether one is unsure.

        Unsure is a process that is still listed but may be gone.
        """
        others, left, unsure = {}, {}, False
        strange, self.strange = self.strange, {}
        for pid, name in found.items():
            folder = folder_of(pid)
            if name in self.tolerate or pid in self.own:
                continue
            if folder == self.folder or descends(pid, os.getpid()):
                self.own.add(pid)
            elif not exists(pid):  # the driver forgets a process a little after its end
                self.strange[pid] = strange.get(pid, time.monotonic())
                if time.monotonic() - self.strange[pid] < WAIT:
                    unsure = True
                else:
                    others[pid] = name
            elif folder is not None and same_folder(pid, folder) and deserted(folder):
                left[pid] = name
            else:
                others[pid] = name
        return others, left, unsure

    def taint(self) -> str:
        """Describe who else was seen computing while the script ran; empty if nobody was."""
        words = [f"{self.seen[pid]} ({pid})" for pid in sorted(self.seen)[:LISTED]]
        return f"foreign processes on the GPU: {', '.join(words)}" if words else ""
