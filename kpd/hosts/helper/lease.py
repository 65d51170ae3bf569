"""Holds a device for a job: waits for its lock, and checks until the end that the lock was not lost."""

import json
import os
import time
from pathlib import Path
from typing import NamedTuple

from kpd.hosts.helper.children import STUCK, Children
from kpd.hosts.helper.files import RequestRefused
from kpd.hosts.helper.gpu import GpuWatch
from kpd.hosts.helper.lock import Lock, Spoilt, opened
from kpd.hosts.helper.processes import kill, leftovers, name_of

LOOK = 1.0  # seconds between looks: at who holds the lock we wait for, and at whether we still hold ours


class LeaseTerms(NamedTuple):
    """What a job asks for: the device, the file that stands for it, and the holder's name for others to see.

    On a GPU nobody else may compute, except processes with the names in `tolerate`.
    """

    device: str
    path: Path
    gpu: bool
    tolerate: "list[str]"
    holder: str


class Lease:
    """One lease, taken by a job's supervisor and kept until the job ends, however that ends.

    Those who wait are in the kernel's queue for the file: on Linux 5 and later, first come, first served.
    """

    def __init__(self, terms: LeaseTerms, children: Children, folder: Path, output: int, notes: int) -> None:
        self.terms = terms
        self.children = children
        self.output = output  # the job's stdout, whose size says when in the job something was seen
        self.notes = notes
        self.locks = []  # type: list[Lock]
        self.token = 0
        self.lost = ""  # how the lease was lost, in words
        self.good_size = 0  # of the output, when the last look that found the lock ours began
        self.next = 0.0  # when to look again
        self.taint = ""  # why the job's measurements should not be believed
        self.gpu = None  # type: GpuWatch | None
        if terms.gpu:
            self.gpu = GpuWatch(children, folder, terms.device, terms.tolerate, output, self.note)

    def note(self, **fields: object) -> None:
        try:
            os.write(self.notes, json.dumps(fields).encode() + b"\n")
        except OSError:  # a full disk: notes may be lost, since `rc` holds the result
            return

    def take(self) -> bool:
        """Wait until the device is ours and nobody else computes on it; return False when the job was asked to end.

        Raises RequestRefused when there can be no lease.
        """
        if not self.queue():
            return False
        self.token = [lock.sign(self.terms.holder) for lock in self.locks][-1]
        self.end_leftovers()
        if self.gpu is not None and not self.gpu.await_clear():
            return False
        self.note(lease=self.terms.device, token=self.token)
        return not self.children.asked

    def queue(self) -> bool:
        """Wait for the device's locks, one after the other; one that gets spoilt meanwhile is left out."""
        spoilt = None  # type: Spoilt | None
        for lock in opened(self.terms.path):
            self.locks.append(lock)
            try:
                if not self.queue_for(lock):
                    return False
            except Spoilt as err:
                self.locks.pop().close()
                spoilt = err
        if spoilt is not None and not self.locks:
            raise spoilt
        return True

    def queue_for(self, lock: Lock) -> bool:
        while not self.children.asked:
            lock.open()  # again each time: if the file was replaced, the new one counts
            if (lock.try_take() or self.await_turn(lock)) and not lock.replaced():
                return True
        return False

    def await_turn(self, lock: Lock) -> bool:
        """Wait until the file's lock is ours; return False when waiting has become pointless."""
        waiter = self.children.spawn(lock.wait_turn)
        told = None
        try:
            while not self.children.asked and not lock.replaced():
                status = self.children.status(waiter)
                if status is not None:
                    return status == 0
                holder = lock.holder()
                if holder != told:
                    self.note(waits="lease", **holder)
                    told = holder
                self.children.nap(LOOK)
            return False
        finally:
            if self.children.status(waiter) is None:
                kill(waiter)

    def end_leftovers(self) -> None:
        """Kill the processes on the device whose jobs had a lease and whose supervisors are dead."""
        deadline = time.monotonic() + STUCK
        told = set()  # type: set[int]
        while not self.children.asked and time.monotonic() < deadline:
            left = leftovers(self.terms.device)
            if not left:
                return
            for pid in left:
                if pid not in told:
                    self.note(killed=pid, name=name_of(pid))
                    told.add(pid)
                kill(pid)
            self.children.nap(0.02)

    def step(self) -> float:
        """Do what is due while the script runs, and return in how many seconds to call this again."""
        now = time.monotonic()
        if now >= self.next or self.gpu is not None:  # a look at the lock precedes each look at the GPU
            self.look()
            self.next = now + LOOK
        left = self.next - now
        return left if self.gpu is None else min(left, self.gpu.step())

    def look(self) -> None:
        """Check whether the lock is still ours, and note it the first time that it is not."""
        if self.lost:
            return
        size = os.fstat(self.output).st_size
        try:
            why = next(filter(None, (lock.lost() for lock in self.locks)), "")
        except RequestRefused as err:
            why = err.message
        if why:
            self.lost = f"the lease on {self.terms.device} was lost: {why}"
            self.note(lost=self.lost, **{"from": self.good_size})
        else:
            self.good_size = size

    def script_ended(self, by_itself: bool) -> None:
        """Look a last time before the script's processes are ended: at the lock, then at the GPU.

        Only on a GPU, and at the GPU only if the script ended by itself.
        """
        if self.gpu is not None:
            self.look()
            if by_itself:
                self.gpu.finish()
            self.gpu.drop()

    def finish(self) -> None:
        """Decide whether the job was alone on the device, after all its processes have ended."""
        self.look()
        words = [self.lost, "" if self.gpu is None else self.gpu.taint()]  # the loss first: a long taint is cut
        self.taint = "; ".join(filter(None, words))

    def release(self) -> None:
        """Free the locks for the next job, a little sooner than the end of this process would."""
        for lock in self.locks:
            lock.close()
