"""Builds a task's harness with kpd's driver, and reads the cases that it describes."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.resources import files as resources

from kpd.hosts.host import JobResult
from kpd.measure import jobs, seals
from kpd.model.codec import CodecError, decode
from kpd.workspace.specs import CheckSpec
from kpd.workspace.task import TASK_FILE, Task, TaskError

OBJECT = "kernel.so"
"""The file in the `out/` folder of a build that the driver loads."""
HEADERS = ("kpd_task.h", "driver.h", "engine.h", "numbers.h", "report.h", "swap.h", "worker.h")
SOURCES = (
    "ahead.c", "alike.c", "apart.c", "arena.c", "batches.c", "bounds.c", "calls.c", "check.c", "contents.c",
    "counters.c", "crew.c", "driver.c", "fence.c", "forward.c", "fresh.c", "limits.c", "mappings.c", "numbers.c",
    "orders.c", "overwrites.c", "patterns.c", "places.c", "referee.c", "renewed.c", "repeat.c", "report.c",
    "requests.c", "rows.c", "sandbox.c", "secret.c", "serve.c", "sizes.c", "sizes_between.c", "sizes_beyond.c",
    "sizes_in_turn.c", "sizes_kept.c", "sizes_overflow.c", "steady.c", "timed.c", "truth.c", "turns.c", "uneven.c",
    "values.c", "worker.c",
)  # fmt: skip
"""The driver in C, without the part that calls kernels: each language has its own."""


FIRST_CALL_S, FIRST_CALL_SHARE = 60.0, 0.2
"""How long a call that may compile may take at least, in seconds, and as a share of the whole check's limit."""


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
    """A built harness. `program` is its path on the host, `file` the task's file that it was built from.

    `hashes` are the sha256 of the files in the program's folder, by name.

    `scaled`: it gives a scale for the error of each element. `varies`: it can be asked for sizes that no case has.
    `forks`: it has the command `times`, which forks the processes of a contest. `compiles`: a kernel's first call may
    compile, and so take longer than others. `chains`: several commands can be one job, each in a process of its own.
    `far`: on a CPU it has the command `far`, for sizes far beyond the cases'.
    """

    program: str
    symbol: str
    cases: tuple[HarnessCase, ...]
    scaled: bool = False
    oracle: bool = True
    varies: bool = True
    file: str = "harness.c"
    hashes: Mapping[str, str] = field(default_factory=dict)
    forks: bool = False
    compiles: bool = False
    chains: bool = False
    far: bool = False

    def command(self, spec: CheckSpec, reference: str = "", baseline: str = "") -> tuple[str, ...]:
        """Return the program with the settings of [check].

        `reference` is the path on the host of the task's own kernel if its outputs are the truth, or of its errors if
        they are the tolerance; empty if neither. `baseline` is the path of the task's own kernel if sizes are drawn.
        """
        settings = {"inputs": ",".join(spec.distributions), "compare": spec.compare}
        if spec.nonfinite != "any":
            settings["nonfinite"] = spec.nonfinite
        if baseline:
            settings["baseline"] = baseline
        if reference and spec.truth == "baseline":
            settings["truth"] = reference
        if reference and spec.is_native:
            settings["bounds"] = reference
        elif not spec.is_native:
            settings |= {"rtol": str(spec.rtol or 0.0), "atol": str(spec.atol or 0.0)}
        if spec.sizes == "any":
            settings["sizes"] = "any"
        if self.compiles:
            settings["first_ms"] = f"{1000 * first_call_s(spec.limit_s):g}"
        return (self.program, *(f"{name}={value}" for name, value in settings.items()))


def first_call_s(limit_s: float) -> float:
    """Return how long a call that may compile may take: a share of what the whole check may, but not too little."""
    return min(limit_s, max(FIRST_CALL_S, limit_s * FIRST_CALL_SHARE))


@dataclass(frozen=True, slots=True)
class _Described:
    symbol: str
    cases: tuple[HarnessCase, ...]
    scaled: bool = False
    oracle: bool = True
    varies: bool = True
    far: bool = False


def refuse_mismatch(task: Task, harness: Harness) -> None:
    """Raise TaskError when task.toml weighs a case that the harness does not time, or compares by what it lacks."""
    known = [case.name for case in harness.cases if case.timed]
    if unknown := [name for name in task.weights if name not in known]:
        message = f"[cases.{unknown[0]}] is not a case that the harness times"
        raise TaskError(task.folder / TASK_FILE, 0, message, f"its timed cases are {', '.join(known)}")
    if task.check.truth == "oracle" and not harness.oracle:
        remedy = 'write one (kpd_task.h; in Python a function truth), or truth = "baseline" in [check]'
        raise TaskError(task.folder / TASK_FILE, 0, "the harness has no oracle", remedy)
    if task.check.sizes == "any" and not harness.varies:
        message = 'sizes = "any" in [check], but the harness has no dims, or a case has a grid or a block of its own'
        raise TaskError(task.folder / TASK_FILE, 0, message, 'write sizes = "listed"')
    if task.check.compare == "scaled" and not harness.scaled:
        message = 'compare = "scaled" in [check], but the harness gives no scale'
        remedy = "write scaled_oracle (kpd_task.h), in Python a function scale, or compare by another rule"
        raise TaskError(task.folder / TASK_FILE, 0, message, remedy)


def native(name: str) -> bytes:
    """Read one of kpd's own sources in C or CUDA."""
    return (resources("kpd.measure") / "native" / name).read_bytes()


def described(program: str, result: JobResult, file: str = "harness.c") -> Harness:
    """Parse what `program describe` printed, a line, and after it `seals.TAKE`. Raises BadHarness."""
    if crashed := jobs.crash(result):
        raise BadHarness(f"{file}: it crashes while it describes its cases ({crashed})")
    cases, _, hashes = result.stdout.partition(b"\n")
    try:
        found = decode(cases, _Described)
    except CodecError as err:
        raise BadHarness(f"{file}: its cases cannot be read: {err}") from err
    names = [case.name for case in found.cases]
    if not names or len(set(names)) < len(names):
        raise BadHarness(f"{file}: it must name at least one case, and none twice")
    for use in ("timed", "checked"):
        if not any(getattr(case, use) for case in found.cases):
            raise BadHarness(f"{file}: no case is {use}")
    left = seals.taken(hashes)
    return Harness(
        program, found.symbol, found.cases, found.scaled, found.oracle, found.varies, file, left, far=found.far
    )
