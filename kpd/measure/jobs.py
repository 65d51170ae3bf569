"""Runs jobs of a measurement once by id, and separates their failures from the host's."""

import hashlib
import shlex
import signal
from collections.abc import Iterable

from kpd.hosts.errors import HostError, LostBuild
from kpd.hosts.host import Host, JobResult, JobSpec
from kpd.measure.bench import Say
from kpd.measure.seals import CHANGED, STALE

GONE = 90
"""The exit status of a script that misses a file on the host."""
CRASHES = (signal.SIGILL, signal.SIGABRT, signal.SIGBUS, signal.SIGFPE, signal.SIGSEGV)
"""Signals that a program's own errors end it with."""


async def run(host: Host, spec: JobSpec, say: Say | None = None) -> JobResult:
    """Run a job, or read its result if it has run, and return that. `say` is called with its stderr.

    The result is returned when the script came to its end or to its time limit. A job that was killed from outside,
    lost or disturbed says nothing about a candidate: it is forgotten, so that it can run again. Raises HostError for
    that, and for all other trouble of the host.
    """

    def show(stream: str, data: bytes) -> None:
        if say is not None and stream == "stderr":
            say(data.decode(errors="replace"))

    result = await host.job(spec, show)
    if cut_short(result) and (result.cached or result.reason == "lost"):
        await host.forget(spec.id)
        result = await host.job(spec, show)
    await refuse_unfinished(host, result)
    if result.taint:
        await host.forget(spec.id)
        raise HostError("busy", f"{host.name}: {result.taint}")
    return result


async def forget(host: Host, id: str) -> None:
    """End a job and let it run again when it is next asked for, if the host can be reached."""
    if host.up:
        await host.kill(id)
        await host.forget(id)


def cut_short(result: JobResult) -> bool:
    """Return whether the job was ended from outside: by an operator's skip, a shutdown, or a crash.

    This is no error if it happened before the result was asked for (`cached`), or if the host went down: the rest of
    the work may run now.
    """
    return result.reason in ("killed", "lost")


def crash(result: JobResult) -> str:
    """Return the name of the signal that the job's program crashed with; empty when it did not crash.

    A shell whose program was ended by a signal exits with that signal's number and 128.
    """
    number = -result.rc if result.rc < 0 else result.rc - 128
    return "" if result.reason else next((one.name for one in CRASHES if one == number), "")


async def refuse_unfinished(host: Host, result: JobResult) -> None:
    """Raise HostError when the script reached no end of its own, no crash and no time limit; forget the job then."""
    if cut_short(result) or (result.rc < 0 and not result.reason and not crash(result)):
        ended = result.reason or f"ended by signal {-result.rc}"
        await host.forget(result.id)
        raise HostError("host", f"{host.name}: job {result.id} was {ended}", "resume to run it again")
    if result.rc == GONE:
        await host.forget(result.id)
        raise LostBuild("not_found", host.name, tail(result.stderr), result.id)
    if result.rc in (STALE, CHANGED):
        await host.forget(result.id)
        raise LostBuild("stale" if result.rc == STALE else "corrupt", host.name, tail(result.stderr, 1))


async def unreported(host: Host, result: JobResult, why: str) -> HostError:
    """Return the error for a job that ended without a readable report, and forget the job so that it can run again."""
    await host.forget(result.id)
    return HostError("host", f"{host.name}: job {result.id} did not report: {why}; {tail(result.stderr)}")


def key(kind: str, *parts: str | bytes) -> str:
    """Hash all that a job's outcome depends on into its id: the host runs it once, and its folder is the cache."""
    hashed = hashlib.sha256()
    for part in parts:
        raw = part.encode() if isinstance(part, str) else part
        hashed.update(len(raw).to_bytes(8, "big") + raw)
    return f"{kind}-{hashed.hexdigest()[:32]}"


def out(host: Host, job: str, name: str) -> str:
    """Return the path on the host of the file `name` in a job's `out/` folder."""
    return f"{host.root}/jobs/{job}/out/{name}"


def tail(output: bytes, lines: int = 3) -> str:
    """Return the last few lines of a program's output, joined into one line."""
    return " · ".join(output.decode(errors="replace").split("\n")[-lines - 1 :]).strip(" ·")


def words(parts: Iterable[str]) -> str:
    """Quote the arguments for a shell and join them."""
    return " ".join(shlex.quote(part) for part in parts)
