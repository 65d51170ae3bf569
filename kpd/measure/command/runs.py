"""Runs a task's command as a job, and interprets the report of each run."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from importlib.resources import files as resources

from kpd.hosts.host import Host, JobResult
from kpd.measure import jobs
from kpd.measure.command.correctness import claims
from kpd.measure.command.result import BadResult, Result, UnclearResult, approved, complaint, last_object, result
from kpd.measure.command.shape import ResultShape
from kpd.measure.samples import ClockReadings
from kpd.model.codec import CodecError, decode
from kpd.model.defects import Complaint, Defect, Unjudged, UnknownWord, WrongResult
from kpd.text.faults import wrong
from kpd.workspace.records import expression, folders

PACKAGES = ("kpd", "kpd/hosts", "kpd/hosts/helper", "kpd/measure", "kpd/measure/command")
MODULES = (
    "kpd/hosts/helper/children",
    "kpd/hosts/helper/files",
    "kpd/hosts/helper/processes",
    "kpd/measure/command/nvml",
    "kpd/measure/command/runner",
)
START = (
    "import sys; sys.path.insert(0, sys.argv[1])\n"
    "from kpd.measure.command.runner import main\n"
    "sys.exit(main(sys.argv[2]))"
)
SPARE_S = 10.0
"""The time a run may need besides its command: to copy files, and to end processes that ignore a signal."""
TOLD_LINES = 6
OK = '{"ok": true}'


@dataclass(frozen=True, slots=True)
class CommandRun:
    """One run as the runner reports it. `side` is a letter of the order, `rc` is negative for a signal.

    `touched` are the protected files that were changed. `stdout` and `stderr` are the ends of the output. `telemetry`
    is the GPU's while the command computed on it, where that is known.
    """

    side: str
    rc: int
    timeout: bool
    seconds: float
    touched: tuple[str, ...]
    stdout: str
    stderr: str
    telemetry: ClockReadings | None = None


@dataclass(frozen=True, slots=True)
class TaskCommand:
    """A command of the task: its words for a shell, the time limit of one run, and the files it must not change.

    `shape` says where its result has what. A command that `judges` has to say that its result is right. `records` are
    the files that it may write.
    """

    words: str
    limit_s: float
    protected: tuple[str, ...]
    shape: ResultShape
    judges: bool = False
    records: tuple[str, ...] = ()

    def limit(self, runs: int) -> float:
        """Return the time limit in seconds for a job of `runs` runs."""
        return runs * (self.limit_s + SPARE_S)


class RunFailed(Exception):
    """A run of the command failed; `what` and the message say how."""

    def __init__(self, what: Defect) -> None:
        super().__init__(wrong(WrongResult(what)))
        self.what = what


def sources() -> dict[str, bytes]:
    """Return the runner and the modules it imports, as files to stage."""
    found = {f"{package}/__init__.py": b"" for package in PACKAGES}
    found |= {
        f"{module}.py": resources("kpd").joinpath(f"{module.removeprefix('kpd/')}.py").read_bytes()
        for module in MODULES
    }
    return found


def object_of(tree: str) -> str:
    """Return the id of a staged tree's build job: the tree is all that a build depends on."""
    return f"command-{tree}"


def tree_of(built: str) -> str:
    """Return the tree that a build job belongs to."""
    return built.partition("-")[2]


def script(host: Host, runner: str, command: TaskCommand, sides: str, built: Mapping[str, str]) -> str:
    """Return the script of a job that runs the `sides` in turn.

    `runner` is the tree of `sources`, `built` each side's build job.
    """
    order = {
        "command": command.words,
        "limit_s": command.limit_s,
        "sides": sides,
        "trees": {side: f"{host.root}/trees/{tree_of(job)}" for side, job in built.items()},
        "caches": {side: jobs.out(host, job, "cache") for side, job in built.items()},
        "protected": command.protected,
        "gone": jobs.GONE,
        "records": [expression(entry) for entry in command.records],
        "folders": folders(command.records),
    }
    return (
        f"exec {jobs.words(['python3', '-I', '-B', '-c', START, f'{host.root}/trees/{runner}', json.dumps(order)])}\n"
    )


def report(line: bytes) -> CommandRun:
    """Parse one line of the runner's report. Raises CodecError."""
    return decode(line, CommandRun)


async def reported(host: Host, job: JobResult, sides: str) -> list[CommandRun]:
    """Parse the runs of a job that has ended. Raises HostError.

    There are fewer runs than asked for only if the last of them failed.
    """
    try:
        found = [report(line) for line in job.stdout.splitlines()]
    except CodecError as err:
        raise await jobs.unreported(host, job, str(err)) from err
    whole = len(found) == len(sides) or (found and ended_badly(found[-1]))
    if job.rc != 0 or not whole or not sides.startswith("".join(run.side for run in found)):
        raise await jobs.unreported(host, job, f"{len(found)} of {len(sides)} runs did")
    return found


def ended_badly(run: CommandRun) -> bool:
    """Return whether the runner stopped after this run."""
    return run.rc != 0 or run.timeout or bool(run.touched)


def passed(run: CommandRun, command: TaskCommand) -> None:
    """Raise RunFailed unless the command succeeded and changed no protected file."""
    if run.touched:
        raise RunFailed(Complaint(f"protected file changed while it ran: {', '.join(run.touched)}"))
    if run.timeout:
        raise RunFailed(Complaint(f"`{command.words}` did not finish within {command.limit_s:g} s"))
    if run.rc != 0:
        ended = f"exited with {run.rc}" if run.rc > 0 else f"was ended by signal {-run.rc}"
        table = last_object(run.stdout) or {}
        said = complaint(table, tuple(claims(table))) or jobs.tail(
            (run.stderr.strip() or run.stdout.strip()).encode(), TOLD_LINES
        )
        raise RunFailed(Complaint(f"`{command.words}` {ended}: {said or 'it gave no reason'}"))


def confirmed(run: CommandRun, command: TaskCommand) -> None:
    """Raise RunFailed unless a check succeeded and its last JSON object has "ok": true.

    The exit status is not enough: a candidate's code could end the process with 0 before the check was done.
    """
    passed(run, command)
    said = last_object(run.stdout) or {}
    missing = f"`{command.words}` exited with 0 but did not print {OK}"
    try:
        approved(said, replace(command.shape, score="", verdict=""))
    except UnclearResult as err:
        raise RunFailed(UnknownWord(err.claim.place, err.claim.said)) from err
    except BadResult as err:
        raise RunFailed(Complaint(f"{missing}: {err}")) from err
    if said.get("ok") is not True:
        raise RunFailed(Complaint(f"{missing}: let it print {OK} as the last line of its stdout when all is right"))


def read(run: CommandRun, command: TaskCommand) -> Result:
    """Parse the result of a run. Raises RunFailed when the run failed, or printed no result that says it is right."""
    passed(run, command)
    try:
        found = result(run.stdout, command.shape)
    except UnclearResult as err:
        raise RunFailed(UnknownWord(err.claim.place, err.claim.said)) from err
    except BadResult as err:
        raise RunFailed(Complaint(f"`{command.words}`: {err}")) from err
    if command.judges and not found.confirmed:
        raise RunFailed(Unjudged(command.words))
    return found
