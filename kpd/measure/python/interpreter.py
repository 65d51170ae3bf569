"""Finds the Python of a task on a host, and the folders that it takes modules from."""

import json
from collections.abc import Iterable
from dataclasses import dataclass

from kpd.hosts.errors import HostError
from kpd.hosts.host import Host
from kpd.measure import jobs
from kpd.measure.python.needs import remedy
from kpd.measure.run_context import RunContext

OLDEST = (3, 10)
LIMIT_S = 60.0
ASK = (
    "import json, os, sys\n"
    "from importlib.machinery import PathFinder\n"
    "print(json.dumps({'path': os.path.realpath(sys.executable), 'version': sys.version_info[:3],"
    " 'modules': [one for one in sys.path if one and os.path.exists(one)],"
    " 'prefixes': [sys.prefix, sys.base_prefix]}))\n"
    "print(json.dumps([name for name in sys.argv[1:] if PathFinder.find_spec(name) is None]))\n"
)


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
    search, _, said = result.stdout.decode(errors="replace").partition("\n")
    if result.rc != 0:
        told = jobs.tail(result.stderr) or f"it ended with {result.rc}"
        raise HostError("not_found", f"{host.name}: {name}: {told}", "name a Python: python = in [build] of task.toml")
    try:
        said, lacks = said.strip().splitlines()[-2:]
        known, missing = json.loads(said), json.loads(lacks)
    except ValueError as err:
        raise HostError("host", f"{host.name}: {name} does not say where its modules are: {said[:200]!r}") from err
    version = tuple(known["version"])
    if version < OLDEST:
        message = f"{host.name}: {name} is Python {'.'.join(map(str, version))}, and kpd's runner needs 3.10"
        raise HostError("host", message, "name a newer one: python = in [build] of task.toml")
    if missing:
        raise HostError("not_found", f"{host.name}: {name} has no {', '.join(missing)}", remedy(name, missing))
    modules = tuple(known["modules"])
    roots = {f"{prefix}/bin": None for prefix in (*known["prefixes"], *(one.partition("/lib/")[0] for one in modules))}
    return Interpreter(
        known["path"], modules, ":".join((*roots, search)), jobs.key("python", said, json.dumps(modules))
    )
