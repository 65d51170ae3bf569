"""Defines raw timing samples, and checks from telemetry whether a GPU ran at its usual clock."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from kpd.model import clocks
from kpd.model.codec import CodecError, decode, encode


@dataclass(frozen=True, slots=True)
class Batches:
    """Batches of `reps` calls each; quad i is A B B A. A task's own benchmark gives one batch of each side.

    `a_ns` and `b_ns` are the batches' nanoseconds in the order they ran: quad i holds a[2i], b[2i], b[2i+1], a[2i+1]. A
    is the incumbent, B the candidate.
    """

    reps: int
    a_ns: tuple[float, ...]
    b_ns: tuple[float, ...]

    @property
    def whole(self) -> bool:
        """Whether the batches are whole quads, or one pair."""
        count = len(self.a_ns)
        return self.reps >= 1 and count == len(self.b_ns) and (count == 1 or (count > 0 and count % 2 == 0))


@dataclass(frozen=True, slots=True)
class ClockReadings:
    """A GPU while a case was timed: the least and the most of each reading.

    `reasons` are NVML's bits for a lowered clock.
    """

    sm_mhz: tuple[float, float]
    mem_mhz: tuple[float, float]
    power_w: tuple[float, float]
    temp_c: tuple[float, float]
    reasons: int


@dataclass(frozen=True, slots=True)
class DriverClock:
    """A case's timing by the clock of the driver's own process, in nanoseconds, from its begin to its end.

    In at most `late_ns` of it the timed process had yet to wake up, or the driver to hear that it was done; other
    work can make that long. `busy_ns` is the CPU time of that process, 0 where the system does not tell. `spent_ns`
    is what it says of all its batches, also of those that were taken again; 0 on a GPU, whose own clock times them.
    In `waited_ns` others had its CPU, as the system says; in `others_ns` of that, at the least, it was neither
    another thread of that process nor the driver. Its CPU was taken from it `forced` times; None where the system
    does not tell, in older samples, and where inputs are restored between calls, which is spent, too.
    """

    wall_ns: int
    spent_ns: int
    late_ns: int = 0
    busy_ns: int = 0
    waited_ns: int = 0
    others_ns: int = 0
    forced: int | None = None


@dataclass(frozen=True, slots=True)
class CaseSample(Batches):
    """One case in one process. `device_ns` is the time of one call of A and of B on the device, without the launch.

    `host_ns` is the time that one call keeps the host, which goes on while the device works.

    On a GPU the batches find their data in its memory; those of `warm` find it in the L2. The quads take turns
    on `layouts` layouts: in each, both objects lie elsewhere in memory. `weight` says how much the case
    counts in verdict and score, relative to the others. The batches of `fresh` came after all others, in pairs: of each
    call of these the inputs are wholly new. There are none where the candidate was not faster in any case.
    """

    device_ns: tuple[float, float] | None = None
    warm: Batches | None = None
    telemetry: ClockReadings | None = None
    layouts: int = 1
    weight: float = 1.0
    clock: DriverClock | None = None
    host_ns: tuple[float, float] | None = None
    fresh: Batches | None = None


@dataclass(frozen=True, slots=True)
class ProcessSample:
    """One fresh process. `taint` says why its times should not be believed; it is empty when they should.

    `score` is the score of a task's own benchmark, as a time. The verdict is then about it, and the cases, if there are
    any, show where the difference comes from. `compared`: its code in memory was compared with what was loaded; None
    where nobody has told. `spent` says where its time went, in seconds by part (docs/python-kernels.md); it is empty
    where nobody has told. One that is `quick` has its times from the clock of the process of the kernels, which they
    may have changed: it may reject a candidate, and accepts none. In one of an audit that is `apart` either kernel had
    a process of its own, and both were called by turns.
    """

    process: int
    cases: dict[str, CaseSample]
    taint: str = ""
    score: CaseSample | None = None
    compared: bool | None = None
    spent: Mapping[str, float] = field(default_factory=dict)
    quick: bool = False
    apart: bool = False

    @property
    def judged(self) -> dict[str, CaseSample]:
        """The cases that the verdict is about, by name; the score alone if there is one."""
        return self.cases if self.score is None else {"score": self.score}


def deciding(samples: Iterable[ProcessSample]) -> list[ProcessSample]:
    """Return the samples that a verdict is about: those without a taint, and of them the quick ones only if all are."""
    kept = [sample for sample in samples if not sample.taint]
    return [sample for sample in kept if not sample.quick] or kept


def all_quick(samples: Iterable[ProcessSample]) -> bool:
    """Return whether a verdict is about quick ones, so that it may reject only."""
    return any(sample.quick for sample in deciding(samples))


def weighted(sample: ProcessSample, weights: Mapping[str, float]) -> ProcessSample:
    """Return the sample with these weights of its cases; the others keep theirs."""
    cases = {name: replace(case, weight=weights.get(name, case.weight)) for name, case in sample.cases.items()}
    return replace(sample, cases=cases)


def samples_to_json(samples: tuple[ProcessSample, ...]) -> bytes:
    """Encode the samples as `timing.json` holds them."""
    return encode({"version": 1, "samples": samples})


def samples_from_json(raw: bytes | str) -> tuple[ProcessSample, ...]:
    """Decode samples that `samples_to_json` wrote. Raises CodecError on anything else, and on uneven batches."""
    frame = decode(raw, _Frame)
    if frame.version != 1:
        raise CodecError(f"timing.json has version {frame.version}; this kpd reads version 1")
    for sample in frame.samples:
        for name, case in (*sample.cases.items(), *sample.judged.items()):
            for batches in (case, case.warm) if case.warm else (case,):
                if not batches.whole:
                    raise CodecError(f"process {sample.process}, case {name!r}: batches are not whole A B B A quads")
                if min(*batches.a_ns, *batches.b_ns) <= 0:
                    raise CodecError(f"process {sample.process}, case {name!r}: a batch took no time at all")
    return frame.samples


@dataclass(frozen=True, slots=True)
class _Frame:
    version: int
    samples: tuple[ProcessSample, ...]


MOVED_SHARE = 0.1
"""The share by which the clock may vary within a case: with more, its quads cannot be compared."""


def taint(case: str, seen: ClockReadings) -> str:
    """Return why the times of the case should not be believed; empty when they should."""
    if slowed := lowered(case, seen):
        return slowed
    if seen.reasons & clocks.IDLE:  # a reading while nothing ran says nothing about the case
        return ""
    least, greatest = sorted(seen.sm_mhz)
    if greatest - least > MOVED_SHARE * greatest:
        return f"the GPU's clock ran at {least:g} to {greatest:g} MHz during {case}"
    return ""


def lowered(case: str, seen: ClockReadings) -> str:
    """Return why the GPU lowered its clock during the case, if that is a problem; empty when it did not."""
    reasons = clocks.words(seen.reasons & clocks.TROUBLE)
    if reasons:
        return (
            f"the GPU's clock was lowered during {case}: {reasons[0]} ({seen.temp_c[1]:g} C, {seen.power_w[1]:.0f} W)"
        )
    return ""


def both(one: ClockReadings | None, other: ClockReadings | None) -> ClockReadings | None:
    """Merge two readings into one spread; where one is None, return the other."""
    if one is None or other is None:
        return one or other
    return ClockReadings(
        _spread(one.sm_mhz, other.sm_mhz), _spread(one.mem_mhz, other.mem_mhz), _spread(one.power_w, other.power_w),
        _spread(one.temp_c, other.temp_c), one.reasons | other.reasons,
    )  # fmt: skip


def _spread(one: tuple[float, float], other: tuple[float, float]) -> tuple[float, float]:
    return min(*one, *other), max(*one, *other)
