"""Finds the Python of a task on a host, and the folders that it takes modules from."""

from collections.abc import Iterable
from dataclasses import dataclass

import msgspec

from kpd.hosts.errors import HostError
from kpd.hosts.host import Host
from kpd.measure import jobs
from kpd.measure.python.needs import NAME_ANOTHER, remedy
from kpd.measure.run_context import RunContext

OLDEST = (3, 10)
LIMIT_S = 60.0
ASK = """\
import json, os, sys
try:
    from importlib.machinery import PathFinder
    missing = [name for name in sys.argv[1:] if PathFinder.find_spec(name) is None]
except ImportError:
    missing = []
print(json.dumps({
    "path": os.path.realpath(sys.executable), "version": sys.version_info[:3],
    "modules": [one for one in sys.path if one and os.path.exists(one)],
    "prefixes": [sys.prefix, getattr(sys, "base_prefix", "")], "missing": missing,
}))
"""


class _Answer(msgspec.Struct):
    """What ASK prints in its last line."""

    path: str
    version: tuple[int, int, int]
    modules: tuple[str, ...]
    prefixes: tuple[str, ...]
    missing: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Interpreter:
    """A Python on a host: its path, the folders of its modules, and the PATH that a job in a sandbox needs to use it.

    `identity` tells it from another one, for the names of jobs.
    """

    path: str
    modules: tuple[str, ...]
    search: str
    identity: str


async def found(host: Host, name: str, system: str, needs: Iterable[str] = ()) -> Interpreter:
    """Find the Python that a task calls `name`.

    Raises HostError where there is none, or none that will do, or one that lacks a library which the task `needs`.
    """
    if system != "Linux":
        raise HostError("host", f"{host.name}: kpd's runner for Python needs Linux, and this is {system}")
    python = jobs.words([name])
    script = f"printf '%s\\n' \"$PATH\"\n{python} -c {jobs.words([ASK, *needs])}\n"
    # Not in a sandbox: it tells what a sandbox has to let in.
    result = await jobs.run(host, RunContext(confined=False).spec(jobs.key("interpreter", script), script, LIMIT_S))
    await host.forget(result.id)  # another one may be installed
    if result.reason == "timeout":
        raise HostError("host", f"{host.name}: {name} did not answer within {LIMIT_S:g} s", NAME_ANOTHER)
    search, _, said = result.stdout.decode(errors="replace").partition("\n")
    if result.rc != 0:
        told = jobs.tail(result.stderr) or f"it ended with {result.rc}"
        raise HostError("not_found", f"{host.name}: {name}: {told}", NAME_ANOTHER)
    last = said.strip().rpartition("\n")[2]
    try:
        known = msgspec.json.decode(last, type=_Answer)
    except msgspec.MsgspecError as err:
        message = f"{host.name}: {name} does not say where its modules are, as a Python does: {last[:200]!r}"
        raise HostError("host", message, NAME_ANOTHER) from err
    if known.version < OLDEST:
        message = f"{host.name}: {name} is Python {'.'.join(map(str, known.version))}, and kpd's runner needs 3.10"
        raise HostError("host", message, NAME_ANOTHER)
    if known.missing:
        raise HostError(
            "not_found", f"{host.name}: {name} has no {', '.join(known.missing)}", remedy(name, known.missing)
        )
    roots = {f"{one}/bin": None for one in (*known.prefixes, *(one.partition("/lib/")[0] for one in known.modules))}
    search = ":".join((*roots, search))
    return Interpreter(known.path, known.modules, search, jobs.key("python", last, search))
