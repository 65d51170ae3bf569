"""Raw timing samples: what the driver measured, before anything is concluded from it."""

from dataclasses import dataclass

from kpd.model.codec import CodecError, decode, encode


@dataclass(frozen=True, slots=True)
class Batches:
    """A batch is `reps` calls in a row; quad i is A B B A. Of a task's own benchmark there is one batch of each.

    `a_ns` and `b_ns` are the batches' nanoseconds in the order they ran: quad i holds a[2i], b[2i], b[2i+1], a[2i+1].
    A is the incumbent, B the candidate.
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
    """A GPU while a case was timed: the least and most that was read. `reasons` are NVML's bits for a lowered clock."""

    sm_mhz: tuple[float, float]
    mem_mhz: tuple[float, float]
    power_w: tuple[float, float]
    temp_c: tuple[float, float]
    reasons: int


@dataclass(frozen=True, slots=True)
class CaseSample(Batches):
    """One case in one process. `device_ns` is what one call of each took on the device, without the launch.

    On a GPU the batches find their data in its memory; those of `warm` find it in the L2.
    """

    device_ns: tuple[float, float] | None = None
    warm: Batches | None = None
    telemetry: ClockReadings | None = None


@dataclass(frozen=True, slots=True)
class ProcessSample:
    """One fresh process. `taint` says in words why its times should not be believed; empty when they should.

    `score` is what a task's own benchmark makes of its cases, as a time: then the verdict is about it, and the cases,
    if there are any, tell where.
    """

    process: int
    cases: dict[str, CaseSample]
    taint: str = ""
    score: CaseSample | None = None

    @property
    def judged(self) -> dict[str, CaseSample]:
        """What the verdict is about, by name."""
        return self.cases if self.score is None else {"score": self.score}


def samples_to_json(samples: tuple[ProcessSample, ...]) -> bytes:
    """The samples as they lie in `timing.json`."""
    return encode({"version": 1, "samples": samples})


def samples_from_json(raw: bytes | str) -> tuple[ProcessSample, ...]:
    """Samples as `samples_to_json` wrote them. Raises CodecError on anything else, odd or uneven batches included."""
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
