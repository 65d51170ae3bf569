"""Durations from Nsight Compute under sudo, where CUPTI tells none: the program runs once more, and that as root."""

import csv
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from uuid import uuid4

from kpd.hosts.errors import HostError
from kpd.hosts.host import Host, JobSpec
from kpd.measure import jobs
from kpd.production.observe.names import KernelName
from kpd.production.observe.observation import Observation
from kpd.production.observe.step import LAUNCHES, NO_FOLDER, ObservedProgram
from kpd.production.program import shell_path
from kpd.source.values import Dim3

METRIC = "gpu__time_duration.sum"
BYTES = 16 << 20
PERMIT_S = 20.0
TIMED_OUT = 124
"""The exit status of timeout(1) where it has ended the program."""
GRACE_S = 60.0
"""What Nsight Compute may take beside the program."""
_NS = {"nsecond": 1.0, "ns": 1.0, "usecond": 1e3, "us": 1e3, "msecond": 1e6, "ms": 1e6, "second": 1e9, "s": 1e9}

# What the program writes as root below the project's root is given to the user: else its next run could not write it.
# No user can kill what root runs, so root limits its time: that of the program alone, as its files come after it.
_SCRIPT = """
mkdir -p out; : > out/began
exec sudo -n @NCU@ --target-processes all --metrics @METRIC@ --kernel-name-base @BASE@ --print-kernel-base mangled \\
  --kernel-name @SYMBOL@ --launch-count @LAUNCHES@ --clock-control none --print-units base --csv --page raw \\
  --log-file "$PWD/out/ncu.csv" /bin/sh -c @INNER@ kpd "$(id -u):$(id -g)" "$PWD" "$PATH" "$HOME"
"""
_INNER = """
owner=$1 job=$2 PATH=$3 HOME=$4; export PATH HOME
timeout -k 10 @LIMIT@ /bin/sh -c @PROGRAM@
rc=$?
chown "$owner" "$job/out/ncu.csv"
find @ROOT@ -xdev -user 0 -newer "$job/out/began" -exec chown -h "$owner" {} +
exit $rc
"""
_PROGRAM = """
@EXPORTS@
cd @CWD@ || exit @NO_FOLDER@
@RUN@
"""


@dataclass(frozen=True, slots=True)
class TimedLaunch:
    """A launch of the kernel as Nsight Compute saw it."""

    grid: Dim3
    block: Dim3
    us: float


async def permitted(host: Host, ncu: str) -> str:
    """Return why this user cannot run Nsight Compute under sudo without a password; empty if they can."""
    said = await host.run(f"sudo -n {shlex.quote(ncu)} --version", PERMIT_S)
    return "" if said.rc == 0 else jobs.tail(said.stderr) or f"sudo ended with {said.rc}"


async def timed(host: Host, ncu: str, program: ObservedProgram, root: str, seen: Observation) -> Observation:
    """Run the program once under `sudo -n ncu`, and give each launch its duration; where that fails, say so.

    Raises HostError where the link is lost.
    """
    script = _script(ncu, program, root, seen.name)
    job = JobSpec(f"observe-timed-{uuid4().hex}", script, program.limit_s + GRACE_S, lease=program.lease)
    ran = await host.job(job)
    try:
        ended = program.endless and ran.rc == TIMED_OUT
        if (ran.rc and not ended) or ran.reason:
            why = jobs.tail(ran.stderr) or ran.reason or f"it ended with {ran.rc}"
            return _told(seen, f"sudo ncu gave no durations: {why}")
        text = (await host.read(jobs.out(host, job.id, "ncu.csv"), BYTES)).decode(errors="replace")
    except HostError as err:
        if err.kind not in ("not_found", "refused", "too_large"):
            raise
        return _told(seen, f"what sudo ncu wrote cannot be read: {err.message}")
    finally:
        await host.forget(job.id)
    return joined(seen, durations(text))


def _script(ncu: str, program: ObservedProgram, root: str, kernel: KernelName) -> str:
    base, name = ("mangled", kernel.symbol) if kernel.symbol else ("function", kernel.qualified.rpartition("::")[2])
    exports = "\n".join(f"export {name}={shlex.quote(value)}" for name, value in program.env.items())
    run = {
        "@EXPORTS@": exports, "@CWD@": shell_path(program.cwd), "@NO_FOLDER@": str(NO_FOLDER), "@RUN@": program.run,
    }  # fmt: skip
    inner = {
        "@LIMIT@": f"{program.limit_s:.3f}", "@PROGRAM@": shlex.quote(_filled(_PROGRAM, run)),
        "@ROOT@": shell_path(root),
    }  # fmt: skip
    outer = {
        "@NCU@": shlex.quote(ncu), "@METRIC@": METRIC, "@BASE@": base, "@SYMBOL@": shlex.quote(name),
        "@LAUNCHES@": str(LAUNCHES), "@INNER@": shlex.quote(_filled(_INNER, inner)),
    }  # fmt: skip
    return _filled(_SCRIPT, outer)


def _filled(script: str, words: Mapping[str, str]) -> str:
    return re.sub("|".join(words), lambda found: words[found[0]], script)


def durations(text: str) -> list[TimedLaunch]:
    """Read the launches of a raw page as CSV; a row that is none is left out."""
    _, head, rows = text.partition('"ID"')
    found: list[TimedLaunch] = []
    to_us = 0.0
    for row in csv.DictReader((head + rows).splitlines()):
        if not row["ID"]:
            to_us = _NS.get(row.get(METRIC) or "", 0.0) / 1000  # the row of units
            continue
        try:
            us = float((row[METRIC] or "").replace(",", "")) * to_us
            grid, block = (Dim3(*map(int, re.findall(r"\d+", row[name] or ""))) for name in ("Grid Size", "Block Size"))
        except (KeyError, ValueError, TypeError):
            continue
        found.append(TimedLaunch(grid, block, us))
    return found


def joined(seen: Observation, found: Sequence[TimedLaunch]) -> Observation:
    """Give the Nth launch that was observed the Nth duration, if there are as many and their geometry is the same."""
    if len(found) != min(seen.coverage.counted, LAUNCHES):
        what = f"{seen.coverage.counted} launches were observed, and sudo ncu has seen {len(found)}"
        return _told(seen, f"{what}: they have no durations")
    for number, (one, other) in enumerate(zip(seen.launches, found, strict=False)):
        if (one.grid, one.block) != (other.grid, other.block):
            return _told(seen, f"launch {number} has another grid or block under sudo ncu: none has a duration")
    launches = tuple(replace(one, duration_us=other.us) for one, other in zip(seen.launches, found, strict=False))
    timed = sum(one.duration_us is not None for one in launches)
    return replace(seen, launches=launches, coverage=replace(seen.coverage, timed=timed))


def _told(seen: Observation, problem: str) -> Observation:
    return replace(seen, problems=(*seen.problems, problem))
