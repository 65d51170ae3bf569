"""What one thread of a launch did, by the GPU's own counters: how much work a harness has to make up."""

from collections.abc import Mapping
from dataclasses import dataclass

from kpd.onboarding.configs import Config

# Nsight Compute's names. Instructions of warps are those of 32 threads each.
_BYTES = ("dram__bytes.sum",)
_READ_AND_WRITTEN = ("dram__bytes_read.sum", "dram__bytes_write.sum")
_OF_THREADS = ("smsp__thread_inst_executed.sum", "sm__thread_inst_executed.sum")
_OF_WARPS = ("smsp__inst_executed.sum", "sm__inst_executed.sum")
WARP = 32


@dataclass(frozen=True, slots=True)
class Workload:
    """Bytes of the device's memory, and instructions, for each thread of a launch; None where no counter says."""

    threads: int
    bytes: float | None
    instructions: float | None


def workload(config: Config) -> Workload:
    """Of the launch whose counters the configuration has. Instructions of warps are spread over full warps."""
    blocks = config.grid.x * config.grid.y * config.grid.z
    in_block = config.block.x * config.block.y * config.block.z
    threads = blocks * in_block
    moved = _first(config.counters, _BYTES)
    if moved is None and all(name in config.counters for name in _READ_AND_WRITTEN):
        moved = sum(config.counters[name] for name in _READ_AND_WRITTEN)
    executed = _first(config.counters, _OF_THREADS)
    if executed is not None:
        return Workload(threads, _each(moved, threads), executed / threads)
    warps = blocks * -(-in_block // WARP)
    return Workload(threads, _each(moved, threads), _each(_first(config.counters, _OF_WARPS), warps))


def _first(counters: Mapping[str, float], names: tuple[str, ...]) -> float | None:
    return next((counters[name] for name in names if name in counters), None)


def _each(amount: float | None, of: int) -> float | None:
    return None if amount is None else amount / of
