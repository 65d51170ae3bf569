"""Builds a task's harness with kpd's driver, and reads the cases that it describes."""

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files as resources

from kpd.model.codec import CodecError, decode
from kpd.workspace.specs import CheckSpec
from kpd.workspace.task import TASK_FILE, Task, TaskError

OBJECT = "kernel.so"
"""The file in the `out/` folder of a build that the driver loads."""
HEADERS = ("kpd_task.h", "driver.h", "numbers.h", "report.h", "swap.h")
SOURCES = (
    "arena.c", "batches.c", "bounds.c", "check.c", "crew.c", "driver.c", "numbers.c", "referee.c", "report.c",
    "timed.c", "truth.c", "values.c", "worker.c",
)  # fmt: skip
"""The driver in C, without the part that calls kernels: each language has its own."""


class BadHarness(ValueError):
    """The harness describes its cases in an unusable way: the task's fault, not a candidate's."""


@dataclass(frozen=True, slots=True)
class HarnessCase:
    """A case's dims by name, and the size in bytes of each of its buffers; not all cases are timed, or checked."""

    name: str
    dims: dict[str, int]
    bytes: dict[str, int]
    timed: bool = True
    checked: bool = True


@dataclass(frozen=True, slots=True)
class Harness:
    """A built harness. `program` is its path on the host; `scaled`: it gives a scale for the error of each element."""

    program: str
    symbol: str
    cases: tuple[HarnessCase, ...]
    scaled: bool = False
    oracle: bool = True

    def command(self, spec: CheckSpec, measure: str = "") -> tuple[str, ...]:
        """Return the program with the settings of [check].

        `measure` is the path of the task's own kernel if its outputs are the truth, else of what measure_bounds found.
        """
        settings = {"inputs": ",".join(spec.distributions), "compare": spec.compare}
        if spec.truth == "baseline" and measure:
            settings["truth"] = measure
        if measure and spec.is_native:
            settings["bounds"] = measure
        elif not spec.is_native:
            settings |= {"rtol": str(spec.rtol or 0.0), "atol": str(spec.atol or 0.0)}
        return (self.program, *(f"{name}={value}" for name, value in settings.items()))


@dataclass(frozen=True, slots=True)
class _Described:
    symbol: str
    cases: tuple[HarnessCase, ...]
    scaled: bool = False
    oracle: bool = True


def refuse_weights(task: Task, cases: Sequence[HarnessCase]) -> None:
    """Check the cases that task.toml gives weights to. Raises TaskError for one that the harness does not time."""
    known = [case.name for case in cases if case.timed]
    if unknown := [name for name in task.weights if name not in known]:
        message = f"[cases.{unknown[0]}] is no case that the harness times"
        raise TaskError(task.folder / TASK_FILE, 0, message, f"its timed cases are {', '.join(known)}")


def native(name: str) -> bytes:
    """Read one of kpd's own sources in C or CUDA."""
    return (resources("kpd.measure") / "native" / name).read_bytes()


def described(program: str, said: bytes) -> Harness:
    """Parse what `program describe` printed. Raises BadHarness."""
    try:
        found = decode(said, _Described)
    except CodecError as err:
        raise BadHarness(f"its cases cannot be read: {err}") from err
    names = [case.name for case in found.cases]
    if not names or len(set(names)) < len(names):
        raise BadHarness("it must name at least one case, and none twice")
    for use in ("timed", "checked"):
        if not any(getattr(case, use) for case in found.cases):
            raise BadHarness(f"no case is {use}")
    return Harness(program, found.symbol, found.cases, found.scaled, found.oracle)
