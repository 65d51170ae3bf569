"""Raw timing samples: what the driver measured, before anything is concluded from it."""

from dataclasses import dataclass

from kpd.model.codec import CodecError, decode, encode


@dataclass(frozen=True, slots=True)
class CaseSample:
    """One case in one process: a batch is `reps` calls in a row; quad i is A B B A.

    `a_ns` and `b_ns` are the batches' nanoseconds in the order they ran: quad i holds a[2i], b[2i], b[2i+1], a[2i+1].
    A is the incumbent, B the candidate.
    """

    reps: int
    a_ns: tuple[int, ...]
    b_ns: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class ProcessSample:
    """One fresh process. `taint` says in words why its times should not be believed; empty when they should."""

    process: int
    cases: dict[str, CaseSample]
    taint: str = ""


def samples_to_json(samples: tuple[ProcessSample, ...]) -> bytes:
    """The samples as they lie in `timing.json`."""
    return encode({"version": 1, "samples": samples})


def samples_from_json(raw: bytes | str) -> tuple[ProcessSample, ...]:
    """Samples as `samples_to_json` wrote them. Raises CodecError on anything else, odd or uneven batches included."""
    frame = decode(raw, _Frame)
    if frame.version != 1:
        raise CodecError(f"timing.json has version {frame.version}; this kpd reads version 1")
    for sample in frame.samples:
        for name, case in sample.cases.items():
            if case.reps < 1 or not case.a_ns or len(case.a_ns) != len(case.b_ns) or len(case.a_ns) % 2:
                raise CodecError(f"process {sample.process}, case {name!r}: batches are not whole A B B A quads")
            if min(*case.a_ns, *case.b_ns) <= 0:
                raise CodecError(f"process {sample.process}, case {name!r}: a batch took no time at all")
    return frame.samples


@dataclass(frozen=True, slots=True)
class _Frame:
    version: int
    samples: tuple[ProcessSample, ...]
