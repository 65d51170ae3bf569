"""Reads what the library in `native/` writes of one process; `native/record.h` has the format. Pure.

A record comes from a program that may have been killed at any time, on a host that may be hostile: a line that cannot
be read is counted, and all others are used.
"""

import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from kpd.source.values import Dim3

MAGIC = b"kpdobs1\0"
KERNELS = 4096
_HEAD = struct.Struct("<8sQQ")
_COUNTS = struct.Struct("<QQQ")
HEADER = _HEAD.size + KERNELS * _COUNTS.size
"""The bytes before the first line."""
MOST_PARAMETERS = 1 << 15
"""The most bytes of all parameters of a launch that CUDA takes."""


class UnreadableRecord(Exception):
    """A file that is no record; the text says why."""


class LaunchParameter(NamedTuple):
    """One parameter of a launch as it was in memory: its place among them, in bytes, and its bytes."""

    offset: int
    data: bytes


class Counted(NamedTuple):
    """What is counted of a kernel, in full or not: successful launches by a call, runs on the GPU, their time in ns."""

    launched: int
    ran: int
    ns: int


class Launched(NamedTuple):
    """A launch by a call, or a node of a graph, for which the correlation is None. `result` is the driver's, 0 is good.

    `missing` says why parameters are not known.
    """

    kernel: int
    correlation: int | None
    thread: int
    stream: str
    grid: Dim3
    block: Dim3
    shared: int
    flags: tuple[str, ...]
    result: int
    parameters: tuple[LaunchParameter, ...]
    missing: str
    node: int = 0

    @property
    def captured(self) -> bool:
        """Whether a graph took the launch up, so that it ran only with that."""
        return "captured" in self.flags


class GraphNodes(NamedTuple):
    """An executable graph was made or changed; with `whole`, the nodes that follow replace all that it had."""

    graph: str
    node: Launched | None


class GraphLaunched(NamedTuple):
    """A launch of an executable graph."""

    graph: str
    correlation: int
    thread: int
    stream: str
    flags: tuple[str, ...]
    result: int


class KernelRun(NamedTuple):
    """A kernel ran on a GPU from `start` to `end`, in ns. `node` is the graph's node that it came from, or 0."""

    kernel: int
    correlation: int
    start: int
    end: int
    device: int
    stream: int
    node: int
    grid: Dim3
    block: Dim3


@dataclass(slots=True)
class ProcessRecord:
    """The record of one process. `ended` says that the program came to its own end, `unreadable` counts bad lines."""

    pid: int = 0
    program: str = ""
    driver: int = 0
    cupti: int = 0
    devices: dict[int, str] = field(default_factory=dict)
    symbols: dict[int, str] = field(default_factory=dict)
    counted: dict[int, Counted] = field(default_factory=dict)
    launches: list[Launched] = field(default_factory=list)
    graphs: list[GraphNodes | GraphLaunched] = field(default_factory=list)
    clones: dict[int, int] = field(default_factory=dict)
    runs: list[KernelRun] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    ended: bool = False
    unreadable: int = 0


def read_record(raw: bytes) -> ProcessRecord:
    """Read the record of a process. Raises UnreadableRecord where the file is none."""
    if len(raw) < HEADER or raw[: len(MAGIC)] != MAGIC:
        raise UnreadableRecord(f"{len(raw)} bytes that do not begin as a record does")
    _, used, _ = _HEAD.unpack_from(raw)
    found = ProcessRecord()
    for kernel in range(KERNELS):
        counts = Counted(*_COUNTS.unpack_from(raw, _HEAD.size + kernel * _COUNTS.size))
        if any(counts):
            found.counted[kernel] = counts
    # A process that was killed while it wrote leaves zeros for the rest of that line.
    for line in raw[HEADER : HEADER + used].split(b"\n"):
        text = line.strip(b"\0")
        if not text:
            continue
        kind, *fields = text.decode("utf-8", "replace").split("\t")
        try:
            _READERS[kind](found, fields)
        except (KeyError, ValueError, IndexError):
            found.unreadable += 1
    found.symbols.setdefault(0, "")
    return found


def _head(record: ProcessRecord, fields: list[str]) -> None:
    pid, _, cupti, driver, program = fields
    record.pid, record.cupti, record.driver, record.program = int(pid), int(cupti), int(driver), program


def _launch(record: ProcessRecord, fields: list[str]) -> None:
    kernel, correlation, thread, stream, grid, block, shared, flags, result, given = fields
    record.launches.append(
        Launched(
            int(kernel), int(correlation), int(thread), stream, _dim3(grid), _dim3(block), int(shared), _flags(flags),
            int(result), *_parameters(given),
        )
    )  # fmt: skip


def _node(record: ProcessRecord, fields: list[str]) -> None:
    graph, node, kernel, grid, block, shared, given = fields
    found = Launched(
        int(kernel), None, 0, "", _dim3(grid), _dim3(block), int(shared), ("graph",), 0, *_parameters(given), int(node)
    )
    record.graphs.append(GraphNodes(graph, found))


def _graph(record: ProcessRecord, fields: list[str]) -> None:
    graph, correlation, thread, stream, flags, result = fields
    record.graphs.append(
        GraphLaunched(graph, int(correlation), int(thread), stream, _flags(flags), int(result))
    )  # fmt: skip


def _ran(record: ProcessRecord, fields: list[str]) -> None:
    *numbers, grid, block = fields
    kernel, correlation, start, end, device, stream, node = map(int, numbers)
    if not 0 < start <= end:
        raise ValueError(f"a kernel that ran from {start} to {end}")
    record.runs.append(KernelRun(kernel, correlation, start, end, device, stream, node, _dim3(grid), _dim3(block)))


def _clone(record: ProcessRecord, fields: list[str]) -> None:
    clone, original = map(int, fields)
    record.clones[clone] = original


def _device(record: ProcessRecord, fields: list[str]) -> None:
    record.devices[int(fields[0])] = fields[1]


def _kernel(record: ProcessRecord, fields: list[str]) -> None:
    record.symbols[int(fields[0])] = fields[1]


_READERS: Mapping[str, Callable[[ProcessRecord, list[str]], None]] = {
    "H": _head,
    "D": _device,
    "K": _kernel,
    "L": _launch,
    "R": _ran,
    "N": _node,
    "G": _graph,
    "C": _clone,
    "I": lambda record, fields: record.graphs.append(GraphNodes(fields[0], None)),
    "W": lambda record, fields: record.warnings.append(fields[0]),
    "Z": lambda record, fields: setattr(record, "ended", True),
}


def _dim3(text: str) -> Dim3:
    x, y, z = map(int, text.split(","))
    return Dim3(x, y, z)


def _flags(text: str) -> tuple[str, ...]:
    return tuple(flag for flag in text.split(",") if flag)


def _parameters(text: str) -> tuple[tuple[LaunchParameter, ...], str]:
    """Return the parameters, and why they are not known; bytes whose layout is not known say nothing of one."""
    if text.startswith("?") or not text:
        return (), text[1:] or "cut"
    found = []
    for part in text.split(",") if text != "-" else ():
        if part.startswith("?"):
            return (), part[1:]
        offset, size, data = part.split(":")
        raw = bytes.fromhex(data)
        if len(raw) != int(size) or int(offset) + len(raw) > MOST_PARAMETERS:
            raise ValueError(f"a parameter of {size} bytes at {offset} with {len(raw)}")
        found.append(LaunchParameter(int(offset), raw))
    return tuple(found), ""
