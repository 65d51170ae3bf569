"""Checks that Python files can be parsed; there is nothing to compile."""

import re
import shlex
from pathlib import PurePosixPath

from kpd.hosts.errors import HostError
from kpd.hosts.host import Host
from kpd.measure import jobs
from kpd.measure.bench import BuiltObject, Say
from kpd.measure.command.runs import object_of
from kpd.measure.compiling import BuildError, readable
from kpd.measure.run_context import RunContext

# This runs under the task's own Python, which may be older or newer.
SYNTAX = """
import sys
for path in sys.argv[1:]:
    try:
        compile(open(path, "rb").read(), path, "exec")
    except SyntaxError as err:
        sys.exit("%s:%s: error: %s\\n %s" % (path, err.lineno or 0, err.msg, (err.text or "").strip()))
    except ValueError as err:
        sys.exit("%s:0: error: %s" % (path, err))
"""


async def build(
    host: Host, tree: str, editable: tuple[str, ...], command: str, limit_s: float, say: Say | None = None,
    where: RunContext | None = None,
) -> BuiltObject:  # fmt: skip
    """Parse the tree's editable Python files with the Python of `command`. Raises BuildError and HostError.

    The job's `out/` folder holds a folder for what frameworks compile when the candidate runs.
    """
    python = [path for path in editable if path.endswith(".py")]
    check = f"exec {jobs.words([interpreter(command), '-c', SYNTAX, *python])}\n" if python else ""
    script = f"mkdir out/cache && cd {jobs.words([f'{host.root}/trees/{tree}'])} || exit {jobs.GONE}\n{check}"
    id = object_of(tree)
    result = await jobs.run(host, (where or RunContext()).spec(id, script, limit_s), say)
    log = readable(result.stderr)
    if result.rc == 127:
        await host.forget(id)
        raise HostError("not_found", f"{host.name}: {jobs.tail(result.stderr)}")
    if result.rc != 0:
        first = log.partition("\n")[0].replace("error: ", "", 1)
        raise BuildError(first or "it cannot be parsed", log, "semantic")
    return BuiltObject(id, result.cached, "", 0, log)


def interpreter(command: str) -> str:
    """Find the Python that a command begins with, as written there; python3 when it begins with something else."""
    for word in shlex.split(command):
        if re.match(r"^\w+=", word) or word == "env":
            continue
        return word if re.match(r"python[\d.]*$", PurePosixPath(word).name) else "python3"
    return "python3"
