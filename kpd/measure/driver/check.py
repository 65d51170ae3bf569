"""Checks outputs against the task's oracle on new secret inputs, and that all accesses are in reference."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

from kpd.hosts.errors import HostError
from kpd.hosts.host import Host, JobResult
from kpd.measure import jobs
from kpd.measure.bench import CheckFailed, CheckPassed, Say
from kpd.measure.driver.harness import OBJECT, Harness
from kpd.measure.run_context import RunContext
from kpd.measure.seeds import Draws
from kpd.model.codec import CodecError, decode
from kpd.model.defects import (
    ChangedCode,
    Complaint,
    Crashed,
    Defect,
    LeftProcess,
    NoReturn,
    NotLoaded,
    TookTooLong,
    TookTooMuch,
    WrongResult,
    WrongValue,
)
from kpd.workspace.specs import CheckSpec

CALL_LIMIT_S = 5.0
"""The most that one call may take in a check, and at most a quarter of the check. Naive kernels take a millisecond."""
HOPELESS = 1e99
"""The driver's multiple of the tolerance for a value that is not finite, or is wrong where no error is tolerated."""

FULL = (
    "of device memory, of which",
    "worker cannot start: cudaErrorMemoryAllocation",
    "CUDA_ERROR_OUT_OF_MEMORY",  # kpd's runner for Python, which speaks to the driver
)
"""What a driver says where the GPU has too little memory."""
LOOK = "see what nvidia-smi says there; a restart of the host may be needed"
DEVICE_TROUBLE = {
    "cudaErrorInsufficientDriver": "install a newer NVIDIA driver, or an older CUDA toolkit",
    "cudaErrorSystemDriverMismatch": "restart the host: its NVIDIA driver was updated while it ran",
    "cudaErrorCompatNotSupportedOnDevice": "remove the CUDA compatibility package, or install a newer NVIDIA driver",
    "cudaErrorDevicesUnavailable": "set the GPU's compute mode to default, or end the process that has it",
    "cudaErrorNoDevice": LOOK,
    "cudaErrorSystemNotReady": "start nvidia-fabricmanager there",
    "cudaErrorECCUncorrectable": "restart the host, and replace the GPU if it happens again",
    "cudaErrorNvlinkUncorrectable": "restart the host, and replace the GPU if it happens again",
}
"""CUDA's errors that no kernel is to blame for, and what helps; see cudaError_t in the CUDA Runtime API."""


CheckEnd = CheckPassed | CheckFailed
"""What came of a check."""


@dataclass(frozen=True, slots=True)
class CheckFailure:
    """What the driver saw a kernel do wrong. From `output` on, the fields are about the worst of the wrong elements."""

    kind: str
    who: str
    case: str
    distribution: str
    when: str
    message: str
    signal: int
    output: str = ""
    index: int = 0
    got: str = ""
    want: str = ""
    multiple: float = 0.0
    wrong: int = 0
    compared: int = 0
    cancels: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """A report that may have a problem. All of the driver's have. `failed`: all that was wrong, as "case/inputs"."""

    problem: CheckFailure | None
    failed: tuple[str, ...] = ()


Some = TypeVar("Some", bound=Report)


@dataclass(frozen=True, slots=True, kw_only=True)
class PassedReport(Report):
    """The report of a check, with its worst element."""

    comparisons: int
    worst: float
    case: str
    distribution: str
    output: str
    index: int
    drawn: int = 0
    unchecked: int = 0
    spent: dict[str, float] = field(default_factory=dict)
    kept: str = ""
    fewest: int = 0

    def passed(self, spec: CheckSpec) -> CheckPassed:
        """Return what is told of a check without a problem."""
        worst_at = f"{self.case}, {self.distribution}: {self.output}[{self.index}]"
        return CheckPassed(
            self.comparisons, self.worst, worst_at, spec.truth, drawn=self.drawn, unchecked=self.unchecked,
            spent=self.spent, kept=self.kept, fewest=self.fewest,
        )  # fmt: skip


def call_limit_ms(spec: CheckSpec) -> int:
    """Return the milliseconds that one call may take in a check."""
    return int(1000 * min(CALL_LIMIT_S, spec.limit_s / 4))


async def check(
    host: Host, harness: Harness, built: str, job: str, spec: CheckSpec, where: RunContext | None = None,
    say: Say | None = None, reference: str = "", baseline: str = "",
) -> CheckPassed:  # fmt: skip
    """Check every case with every kind of input, from `spec.seeds` fresh secret seeds. `built` is a build job.

    `reference` and `baseline` are as in Harness.command. Raises CheckFailed, and HostError for the host's own trouble.
    """
    path = jobs.out(host, built, OBJECT)
    command = (*harness.command(spec, reference, baseline), *words(path, spec))
    script = seeded(command, path, reference, baseline)
    result = await jobs.run(host, (where or RunContext()).spec(job, script, spec.limit_s, seed("check")), say)
    return (await report_of(host, harness, result, PassedReport, "check", spec.limit_s)).passed(spec)


async def check_each(
    host: Host, harness: Harness, built: Sequence[str], job: str, spec: CheckSpec, where: RunContext,
    say: Say | None = None, reference: str = "", baseline: str = "",
) -> list[CheckEnd]:  # fmt: skip
    """Check the objects of several build jobs in one job of a driver that `chains`, and return what came of each.

    Raises CheckFailed and HostError where one of them has no report.
    """
    paths = [jobs.out(host, one, OBJECT) for one in built]
    program, *settings = harness.command(spec, reference, baseline)
    chained = [word for path in paths for word in ("also", *words(path, spec))][1:]
    script = seeded((program, *settings, f"limit_s={spec.limit_s}", *chained), *paths, reference, baseline)
    limit_s, seeds = len(paths) * spec.limit_s, b"".join(seed("check") for _ in paths)
    result = await jobs.run(host, where.spec(job, script, limit_s, seeds), say)
    lines = result.stdout.splitlines()
    if result.rc != 0 or len(lines) != len(paths):
        await refuse_driver_trouble(host, harness, result, "check", limit_s)
        raise await jobs.unreported(host, result, f"{len(lines)} reports of {len(paths)}")
    found: list[CheckEnd] = []
    for line in lines:
        try:
            report = await report_of(host, harness, replace(result, stdout=line), PassedReport, "check", limit_s)
            found.append(report.passed(spec))
        except CheckFailed as err:
            found.append(err)
    return found


def words(path: str, spec: CheckSpec) -> tuple[str, ...]:
    """Return the driver's command that checks the kernel at this path."""
    return ("check", path, str(spec.seeds), str(call_limit_ms(spec)))


def seeded(command: Iterable[str], *needed: str) -> str:
    """Return the script of a driver's command that must find the files in `needed`; empty names are left out."""
    there = " && ".join(f"[ -e {jobs.words([each])} ]" for each in needed if each)
    return f"{there} || exit {jobs.GONE}\nexec {jobs.words(command)}\n"


def seed(purpose: str) -> bytes:
    """Draw the secret seed that the driver reads from its input."""
    return f"{Draws(purpose).seed()}\n".encode()


async def report_of(
    host: Host, harness: Harness, result: JobResult, kind: type[Some], what: str, limit_s: float
) -> Some:
    """Read the driver's report. Raises CheckFailed where it tells of a problem, and HostError."""
    await refuse_driver_trouble(host, harness, result, what, limit_s)
    try:
        report = decode(result.stdout, kind)
    except CodecError as err:
        raise await jobs.unreported(host, result, str(err)) from err
    if report.problem is not None:
        await refuse_device_trouble(host, result, report.problem)
        raise CheckFailed(wrong(report.problem, report.failed, result.stderr))
    return report


async def refuse_driver_trouble(host: Host, harness: Harness, result: JobResult, what: str, limit_s: float) -> None:
    """Raise CheckFailed when the job took too long, HostError when the driver failed and no kernel is to blame.

    Kernels run in a process of their own, so where the driver crashes, the harness that it is built with is to blame.
    """
    if result.reason == "timeout":
        raise CheckFailed(WrongResult(TookTooLong(what, limit_s)))
    if result.excess:
        raise CheckFailed(WrongResult(TookTooMuch(what, result.excess)))
    if crashed := jobs.crash(result):
        await host.forget(result.id)
        raise HostError(
            "host",
            f"{host.name}: the task's {harness.file} crashed in the {what} ({crashed})",
            f"look in {harness.file} for what reads or writes outside its buffers, then start the run anew",
        )
    if result.rc not in (0, 1):
        await host.forget(result.id)
        said = jobs.tail(result.stderr)
        raise device_trouble(host, said) or HostError(
            "host", f"{host.name}: the {what} driver failed: {said}", "check the task's harness"
        )


async def refuse_device_trouble(host: Host, result: JobResult, problem: CheckFailure) -> None:
    """Raise HostError when the kernel failed because the device does not work or is full; forget the job then."""
    if problem.kind == "device" and (trouble := device_trouble(host, problem.message)) is not None:
        await host.forget(result.id)
        raise trouble


def device_trouble(host: Host, said: str) -> HostError | None:
    """Return the error of the GPU or its driver that `said` tells of; None when it tells of no such error."""
    if any(words in said for words in FULL):
        return HostError("busy", f"{host.name}: the GPU's memory is taken: {said}", "end other work on the GPU")
    known = (remedy for error, remedy in DEVICE_TROUBLE.items() if error in said)
    remedy = next(known, LOOK if "worker cannot start: cudaError" in said else "")
    return HostError("host", f"{host.name}: the GPU cannot be used: {said}", remedy) if remedy else None


def wrong(problem: CheckFailure, failed: tuple[str, ...] = (), stderr: bytes = b"") -> WrongResult:
    """Convert the driver's report; `failed` are all cases and inputs that were wrong, as "case/inputs"."""
    moment = "" if problem.when in ("check", "load") else problem.when
    by_incumbent = problem.who == "incumbent"
    return WrongResult(_misdeed(problem, stderr), problem.case, problem.distribution, moment, by_incumbent, failed)


def _misdeed(problem: CheckFailure, stderr: bytes) -> Defect:
    match problem.kind:
        case "crash":
            return Crashed(problem.signal, jobs.tail(stderr, 1))
        case "timeout":
            return NoReturn(problem.message)
        case "exit":
            return LeftProcess(problem.message)
        case "forged":
            return ChangedCode(problem.message)
        case "load":
            return NotLoaded(problem.message)
        case "wrong":
            multiple = None if problem.multiple >= HOPELESS else problem.multiple
            return WrongValue(
                problem.output, problem.index, problem.got, problem.want, multiple, problem.wrong, problem.compared,
                problem.cancels,
            )  # fmt: skip
    return Complaint(problem.message)
