"""A bench that answers what a test wrote down."""

from collections.abc import AsyncGenerator
from dataclasses import dataclass, field

from kpd.hosts.job import Leave, never
from kpd.measure.bench import Say
from kpd.measure.contest import MOST
from kpd.measure.samples import CaseSample, ProcessSample


@dataclass
class Canned:
    """A bench whose candidate takes `candidate_ns` against 1000, disturbed in every process while `busy`.

    As a host does, it ends a job when nobody reads on, and answers one that it has run before with what that found;
    `ends_after` so many processes it is shut down. With `has_quick` it has quick processes, in which the candidate
    takes `quick_ns`.
    """

    candidate_ns: int = 500
    busy: bool = False
    cases: tuple[str, ...] = ("case",)
    ends_after: int = MOST
    has_quick: bool = False
    quick_ns: int = 500
    ran: dict[str, list[ProcessSample]] = field(default_factory=dict)
    asked: list[tuple[str, int, int]] = field(default_factory=list)
    leave: Leave = never

    async def time(
        self, incumbent: str, candidate: str, job: str, first: int, processes: int, say: Say, quick: int = 0,
        leave: Leave = never,
    ) -> AsyncGenerator[ProcessSample]:  # fmt: skip
        self.asked.append((job, first, processes))
        self.leave = leave
        if job in self.ran:
            for sample in self.ran[job]:
                yield sample
            return
        self.ran[job] = []
        for number in range(first, first + processes):
            if number == self.ends_after:
                raise ShutDown
            is_quick = self.has_quick and number < quick
            ns = self.quick_ns if is_quick else self.candidate_ns
            case = CaseSample(1, (1000, 1001), (ns, ns + 1))
            name = self.cases[number % len(self.cases)]
            sample = ProcessSample(number, {name: case}, "other work" if self.busy else "", quick=is_quick)
            self.ran[job].append(sample)
            yield sample

    async def forget(self, job: str) -> None:
        del self.ran[job]


class ShutDown(Exception):
    """The daemon ends."""
