"""Records of programs under observation, as an NVIDIA H100 80GB HBM3 left them (driver 580.159.04, CUDA 13.0).

`all` and `ptsz` (built with `-default-stream per-thread`) are of launches.cu, whose words are seen.txt; `kill` is
of `launches kill`, `few` of `launches loop 50000` with 100 launches in full, `torch` of with_torch.py.
"""

import functools
import gzip
from collections.abc import Mapping
from dataclasses import dataclass

from kpd.production.observe.launches import devices, launches, totals
from kpd.production.observe.names import called
from kpd.production.observe.observation import Observation, observation
from kpd.production.observe.record import HEADER, ProcessRecord, read_record
from kpd.source.kernels import Kernel, kernels
from kpd.source.source import Source
from tests.places import DATA

OBSERVED = DATA / "observe"


def raw(name: str) -> bytes:
    return gzip.decompress((OBSERVED / f"{name}.record.gz").read_bytes())


def record(name: str) -> ProcessRecord:
    return read_record(raw(name))


def written(*lines: str) -> bytes:
    """A record with these lines, as the library writes them."""
    text = "".join(f"{line}\n" for line in lines).encode()
    head = b"kpdobs1\0" + len(text).to_bytes(8, "little") + (1 << 20).to_bytes(8, "little")
    return head.ljust(HEADER, b"\0") + text


@functools.cache
def names() -> dict[str, str]:
    rows = (OBSERVED / "names.txt").read_text().splitlines()
    return dict(row.split("\t", 1) for row in rows)  # type: ignore[misc]


def kernel(name: str) -> Kernel:
    """The kernel as launches.cu has it."""
    [found] = [one for one in kernels(Source.of((OBSERVED / "launches.cu").read_text())) if one.qualified == name]
    return found


def observed(of: str, wanted: str, source: Kernel | None = None) -> Observation:
    found = record(of)
    known = {symbol: names()[symbol] for symbol in found.symbols.values() if symbol}
    [name] = called(known, wanted)
    seen = list(launches(found))
    return observation(
        name, source, seen, totals([found]), devices([found]), found.warnings, "2026-11-23T23:29:55", "k"
    )


@dataclass(frozen=True, slots=True)
class Told:
    """A launch in the words of a program, or of a table. Numbers have seven digits: those of a float."""

    kernel: str
    grid: tuple[int, ...]
    block: tuple[int, ...]
    shared: int
    scalars: tuple[tuple[str, float], ...]


def told() -> list[Told]:
    """Return what launches.cu printed before each launch, without the scalar whose type is its own."""
    found = []
    for line in (OBSERVED / "seen.txt").read_text().splitlines():
        what, _, rest = line.partition(" ")
        if what not in ("LAUNCH", "GRAPH"):
            continue
        words = rest.split(" ")
        first = next(at for at, word in enumerate(words) if "=" in word)
        *name, grid, block, shared = words[:first]
        scalars = [word.split("=") for word in words[first:] if not word.startswith("mode=")]
        sizes = [tuple(map(int, size.split(","))) for size in (grid, block)]
        found.append(Told(" ".join(name), *sizes, int(shared), rounded({key: float(value) for key, value in scalars})))
    return found


def table(seen: Observation) -> list[Told]:
    """Return the launches as they were observed."""
    numbers = [one for one in seen.parameters if one.kind == "number"]
    return [
        Told(seen.name.shown, one.grid, one.block, one.shared_bytes,
             rounded({number.name: float(number.values[at]) for number in numbers}))
        for at, one in enumerate(seen.launches)
    ]  # fmt: skip


def rounded(scalars: Mapping[str, float]) -> tuple[tuple[str, float], ...]:
    return tuple(sorted((name, float(f"{value:.7g}")) for name, value in scalars.items()))
