"""Joins what calls launched with what ran: every launch of a process in its order, with its duration. Pure."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from kpd.production.observe.record import GraphLaunched, KernelRun, Launched, LaunchParameter, ProcessRecord
from kpd.source.values import Dim3


@dataclass(frozen=True, slots=True)
class SeenLaunch:
    """One launch that ran, or that no duration is known of. `process`, `thread` and `stream` count from 0.

    `flags` has "graph", "cooperative", "extra", "ptsz" (the thread's own default stream), "cluster=2x1x1".
    """

    symbol: str
    grid: Dim3
    block: Dim3
    shared_bytes: int
    process: int
    thread: int
    stream: int
    device: int | None
    flags: tuple[str, ...]
    parameters: tuple[LaunchParameter, ...]
    missing: str
    duration_us: float | None


class JoinError(Exception):
    """Launches and durations that do not belong together; the text says where."""


def launches(record: ProcessRecord, process: int = 0) -> Iterator[SeenLaunch]:
    """Yield every launch of the process that was recorded in full and that the driver took, in the order of the calls.

    A launch that a graph has taken up runs with that: each launch of a graph yields those of its nodes.
    """
    ran = _Runs(record)
    calls: list[tuple[int, Launched | tuple[GraphLaunched, list[Launched]]]] = [
        (one.correlation or 0, one) for one in record.launches if one.result == 0 and not one.captured
    ]
    calls += [(one.correlation, (one, nodes)) for one, nodes in _graphs(record) if one.result == 0]
    calls.sort(key=lambda call: call[0])
    threads: dict[int, int] = {}
    streams: dict[str, int] = {}
    for correlation, call in calls:
        by, parts = (call, [call]) if isinstance(call, Launched) else call
        thread = threads.setdefault(by.thread, len(threads))
        stream = streams.setdefault(by.stream, len(streams))
        for one in parts:
            run = ran.take(correlation, one)
            flags = (*one.flags, *(flag for flag in by.flags if flag not in one.flags))
            yield SeenLaunch(
                record.symbols.get(one.kernel, ""), one.grid, one.block, one.shared, process, thread, stream,
                None if run is None else run.device, flags, one.parameters, one.missing,
                None if run is None else (run.end - run.start) / 1000,
            )  # fmt: skip


def _graphs(record: ProcessRecord) -> Iterator[tuple[GraphLaunched, list[Launched]]]:
    """Yield each launch of a graph with the nodes that it had then."""
    nodes: defaultdict[str, dict[int, Launched]] = defaultdict(dict)
    for step in record.graphs:
        if isinstance(step, GraphLaunched):
            if "captured" not in step.flags:
                yield step, list(nodes[step.graph].values())
        elif step.node is None:
            nodes[step.graph] = {}
        else:
            nodes[step.graph][step.node.node] = step.node


class _Runs:
    """What ran, by the call that launched it. Of a graph's runs each is given to its node, as far as that is known."""

    def __init__(self, record: ProcessRecord) -> None:
        self._clones = record.clones
        self._by_call: defaultdict[int, list[KernelRun]] = defaultdict(list)
        for run in record.runs:
            self._by_call[run.correlation].append(run)

    def take(self, correlation: int, launch: Launched) -> KernelRun | None:
        """Return what ran for this launch, once. None without one, and where two may be meant."""
        runs = self._by_call.get(correlation, [])
        fitting = [
            one for one in runs if (one.kernel, one.grid, one.block) == (launch.kernel, launch.grid, launch.block)
        ]
        if launch.node:
            known = [one for one in fitting if launch.node in self._origins(one.node)]
            fitting = known or (fitting if len(fitting) == 1 else [])
        if not fitting:
            return None
        runs.remove(fitting[0])
        return fitting[0]

    def _origins(self, node: int) -> set[int]:
        """Return the node, and those that it was cloned from."""
        found: set[int] = set()
        while node and node not in found:
            found.add(node)
            node = self._clones.get(node, 0)
        return found


def timed(seen: Sequence[SeenLaunch], durations: Iterable[tuple[Dim3, Dim3, float]]) -> tuple[SeenLaunch, ...]:
    """Join the Nth launch to the Nth of another run that was timed, each as (grid, block, µs). Raises JoinError."""
    others = list(durations)
    if len(others) != len(seen):
        raise JoinError(f"{len(seen)} launches were observed and {len(others)} timed")
    for number, (one, (grid, block, _)) in enumerate(zip(seen, others, strict=True)):
        if (one.grid, one.block) != (grid, block):
            raise JoinError(
                f"launch {number} has grid {one.grid} and block {one.block}, and where it was timed {grid} and {block}"
            )
    return tuple(replace(one, duration_us=us) for one, (_, _, us) in zip(seen, others, strict=True))


@dataclass(frozen=True, slots=True)
class KernelTotal:
    """All launches of a kernel in all processes: how many, and their time on the GPU in ms; None where not known."""

    symbol: str
    count: int
    ms: float | None


def totals(records: Iterable[ProcessRecord]) -> tuple[KernelTotal, ...]:
    """Sum what was counted of each kernel, the longest first. Runs on the GPU count, else launches by calls."""
    counts: defaultdict[str, int] = defaultdict(int)
    ns: defaultdict[str, int] = defaultdict(int)
    for record in records:
        for kernel, counted in record.counted.items():
            symbol = record.symbols.get(kernel, "")
            counts[symbol] += max(counted.ran, counted.launched)
            ns[symbol] += counted.ns
    found = [KernelTotal(symbol, count, ns[symbol] / 1e6 if ns[symbol] else None) for symbol, count in counts.items()]
    return tuple(sorted(found, key=lambda one: (-(one.ms or 0), -one.count, one.symbol)))


def devices(records: Iterable[ProcessRecord]) -> Mapping[int, str]:
    """Return the names of the GPUs that were used, by their number in the program."""
    return {number: name for record in records for number, name in record.devices.items()}
