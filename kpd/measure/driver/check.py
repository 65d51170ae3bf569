"""Are the outputs right? Against the task's oracle, on inputs that nobody has seen, in a process of its own."""

import secrets
from dataclasses import dataclass

from kpd.hosts.errors import HostError
from kpd.hosts.host import Host, JobResult
from kpd.measure import jobs
from kpd.measure.bench import CheckPassed, Incorrect, Say
from kpd.measure.driver.harness import OBJECT, Harness
from kpd.measure.run_context import RunContext
from kpd.model.codec import CodecError, decode
from kpd.model.faults import (
    Complaint,
    Crashed,
    LeftProcess,
    Misdeed,
    NoReturn,
    NotLoaded,
    TookTooLong,
    Wrong,
    WrongValue,
)
from kpd.workspace.specs import CheckSpec

CALL_LIMIT_S = 5.0
"""What one call of a kernel may take in a check, if the check has four times as long; naive ones take a millisecond."""
HOPELESS = 1e99
"""The driver's multiple of the tolerance for a value that is no finite number, or wrong where none is tolerated."""

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


@dataclass(frozen=True, slots=True)
class CheckFailure:
    """What the driver saw a kernel do wrong. `output` and what follows are of the worst element, if values are."""

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


@dataclass(frozen=True, slots=True)
class _Report:
    comparisons: int
    worst: float
    case: str
    distribution: str
    output: str
    index: int
    failed: tuple[str, ...]
    problem: CheckFailure | None


async def check(
    host: Host, harness: Harness, built: str, job: str, spec: CheckSpec, where: RunContext | None = None,
    say: Say | None = None,
) -> CheckPassed:  # fmt: skip
    """Every case with every kind of inputs, from `spec.seeds` fresh secret seeds. `built` is an Object's job.

    Raises Incorrect, and HostError for the host's own trouble.
    """
    call_limit_ms = int(1000 * min(CALL_LIMIT_S, spec.limit_s / 4))
    path = jobs.out(host, built, OBJECT)
    arguments = (path, spec.seeds, spec.rtol, spec.atol, call_limit_ms)
    script = (
        f"[ -e {jobs.words([path])} ] || exit {jobs.GONE}\n"
        f"exec {jobs.words([harness.program, 'check', *map(str, arguments)])}\n"
    )
    secret = f"{secrets.token_hex(8)}\n".encode()
    result = await jobs.run(host, (where or RunContext()).spec(job, script, spec.limit_s, secret), say)
    await refuse_driver_trouble(host, result, "check", spec.limit_s)
    try:
        report = decode(result.stdout, _Report)
    except CodecError as err:
        raise await jobs.unreported(host, result, str(err)) from err
    if report.problem is not None:
        await refuse_device_trouble(host, result, report.problem)
        raise Incorrect(wrong(report.problem, report.failed, result.stderr))
    worst_at = f"{report.case}, {report.distribution}: {report.output}[{report.index}]"
    return CheckPassed(report.comparisons, report.worst, worst_at)


async def refuse_driver_trouble(host: Host, result: JobResult, what: str, limit_s: float) -> None:
    """Raises Incorrect when the job took too long, HostError when it failed by itself and not because of a kernel."""
    if result.reason == "timeout":
        raise Incorrect(Wrong(TookTooLong(what, limit_s)))
    if result.rc not in (0, 1):
        await host.forget(result.id)
        said = jobs.tail(result.stderr)
        raise device_trouble(host, said) or HostError(
            "host", f"{host.name}: the {what} driver failed: {said}", "check the task's harness"
        )


async def refuse_device_trouble(host: Host, result: JobResult, problem: CheckFailure) -> None:
    """Raises HostError when a kernel met a device that does not work, or is full; the job is forgotten then."""
    if problem.kind == "device" and (trouble := device_trouble(host, problem.message)) is not None:
        await host.forget(result.id)
        raise trouble


def device_trouble(host: Host, said: str) -> HostError | None:
    """What is the GPU's or its driver's own trouble in what the driver said of CUDA, None when it is none."""
    if "of device memory, of which" in said or "worker cannot start: cudaErrorMemoryAllocation" in said:
        return HostError("busy", f"{host.name}: the GPU's memory is taken: {said}", "end other work on the GPU")
    known = (remedy for error, remedy in DEVICE_TROUBLE.items() if error in said)
    remedy = next(known, LOOK if "worker cannot start: cudaError" in said else "")
    return HostError("host", f"{host.name}: the GPU cannot be used: {said}", remedy) if remedy else None


def wrong(problem: CheckFailure, failed: tuple[str, ...] = (), stderr: bytes = b"") -> Wrong:
    """What the driver saw a kernel do; `failed` are all cases and inputs that were wrong, "case/inputs"."""
    moment = "" if problem.when in ("check", "load") else problem.when
    by_incumbent = problem.who == "incumbent"
    return Wrong(_misdeed(problem, stderr), problem.case, problem.distribution, moment, by_incumbent, failed)


def _misdeed(problem: CheckFailure, stderr: bytes) -> Misdeed:
    match problem.kind:
        case "crash":
            return Crashed(problem.signal, jobs.tail(stderr, 1))
        case "timeout":
            return NoReturn()
        case "exit":
            return LeftProcess()
        case "load":
            return NotLoaded(problem.message)
        case "wrong":
            multiple = None if problem.multiple >= HOPELESS else problem.multiple
            return WrongValue(
                problem.output, problem.index, problem.got, problem.want, multiple, problem.wrong, problem.compared
            )
    return Complaint(problem.message)
