"""Makes a harness's program: kpd's driver, which is compiled once for a host, linked with the task's own unit.

Compiling the driver takes seconds, and its outcome does not depend on the task. The first harness on a host compiles
it. This process then holds it in memory, and stages it for later ones as it stages sources: checked by hash each time.
Its own hash is the first line that a job prints, before anything of a task is compiled or run. So no file that a task
or a candidate could have changed is linked with another task, and a restarted kpd compiles the driver anew.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from kpd.hosts.host import Host, JobResult
from kpd.measure import jobs, seals
from kpd.measure.bench import Say
from kpd.measure.run_context import RunContext
from kpd.workspace.run_files import digest

PROGRAM = "bench"
"""The file in the `out/` folder of a harness's job that runs kernels."""
LIMIT = 16 << 20
"""The most bytes of a compiled driver; it has half a million."""

_compiled: dict[str, bytes] = {}
"""The drivers that jobs of this process have compiled, by host and by all that they are made of."""


@dataclass(frozen=True, slots=True)
class Driver:
    """kpd's driver for a language: its files by path, and the shell command that compiles them to `$driver`.

    `file` is the name of what it makes.
    """

    files: Mapping[str, bytes]
    command: str
    file: str


async def link(
    host: Host, identity: str, driver: Driver, task: Mapping[str, bytes], command: str, limit_s: float,
    say: Say | None, where: RunContext,
) -> JobResult:  # fmt: skip
    """Make a program of the driver and the task's files, and let it describe its cases: a job that runs once.

    `command` is shell that links `$driver` with them as `$out/bench`. `identity` is that of the compiler. A driver is
    compiled anew for a host that was restarted: it may be another machine. Raises HostError.
    """
    known = jobs.key("driver", host.name, host.boot, identity, driver.command, *_parts(driver.files))
    compiled = _compiled.get(known)
    place = jobs.words([f"{host.root}/trees"])
    if compiled is None:  # beside `out/`, which holds the same whoever compiles the driver
        given, file, make = driver.files, f'"$PWD/{driver.file}"', f"{driver.command} >&2 || exit $?\n"
    else:
        headers = {path: data for path, data in driver.files.items() if path.endswith(".h")}
        given, file, make = {**headers, f"kpd/{driver.file}": compiled}, f"kpd/{driver.file}", ""
    tree = await host.stage({**given, **task})
    script = (
        f'driver={file}\nout="$PWD/out"\ncd {place}/{tree} || exit {jobs.GONE}\n{make}{seals.SHA256}sha256 "$driver"\n'
        f'{command} || exit $?\n"$out/{PROGRAM}" describe || exit $?\n{seals.TAKE}'
    )
    id = jobs.key("harness", identity, driver.command, command, *_parts({**driver.files, **task}))
    result = await jobs.run(host, where.spec(id, script, limit_s), say)
    own, _, rest = result.stdout.partition(b"\n")
    if compiled is None and result.rc == 0 and not result.cached:
        found = await host.read(f"{host.root}/jobs/{id}/{driver.file}", LIMIT)
        if digest(found).encode() in own.split()[:1]:
            _compiled[known] = found
    return replace(result, stdout=rest)


def _parts(files: Mapping[str, bytes]) -> list[str | bytes]:
    return [part for path in sorted(files) for part in (path, files[path])]
