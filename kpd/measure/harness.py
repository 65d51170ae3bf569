"""A task's harness and kpd's driver as one program on the host, and the cases that it describes."""

from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files as resources

from kpd.hosts.host import Host, JobSpec
from kpd.measure import jobs
from kpd.measure.bench import Say
from kpd.measure.build import BuildError, first_error, readable
from kpd.measure.toolchain import Toolchain
from kpd.model.codec import CodecError, decode

DRIVER = ("kpd_task.h", "driver.h", "driver.c", "arena.c", "worker.c")


@dataclass(frozen=True, slots=True)
class Case:
    """A case's dims by name, and the size in bytes of each of its buffers."""

    name: str
    dims: dict[str, int]
    bytes: dict[str, int]


@dataclass(frozen=True, slots=True)
class Harness:
    """`program` is its path on the host."""

    program: str
    symbol: str
    cases: tuple[Case, ...]


@dataclass(frozen=True, slots=True)
class _Described:
    symbol: str
    cases: tuple[Case, ...]


def native(name: str) -> bytes:
    """A C source of kpd's own."""
    return (resources("kpd.measure") / "native" / name).read_bytes()


async def harness(
    host: Host, tools: Toolchain, protected: Mapping[str, bytes], limit_s: float, say: Say | None = None
) -> Harness:
    """Compile the task's harness.c (one of its `protected` files) with the driver. Raises BuildError and HostError.

    The driver is on the include path as `kpd_task.h`. A BuildError here is the task's fault, not a candidate's.
    """
    sources = {f"kpd/{name}": native(name) for name in DRIVER}
    tree = await host.stage({**sources, **{f"task/{name}": data for name, data in protected.items()}})
    compiled = " ".join(f"kpd/{name}" for name in DRIVER if name.endswith(".c"))
    dynamic = "" if tools.system == "Darwin" else " -ldl"
    script = (
        f'out="$PWD/out"\ncd {jobs.words([f"{host.root}/trees/{tree}"])} || exit {jobs.GONE}\n'
        f"{tools.command} -std=gnu11 -D_GNU_SOURCE -O2 -Wall -Ikpd -Itask {compiled} task/harness.c"
        f' -o "$out/bench" -lm{dynamic} || exit 1\n'
        '"$out/bench" describe\n'
    )
    id = jobs.key("harness", tools.identity, script)
    result = await jobs.run(host, JobSpec(id, script, limit_s), say)
    log = readable(result.stderr)
    if result.rc != 0:
        raise BuildError(f"harness.c does not build: {first_error(log)}", log, "structural")
    try:
        described = decode(result.stdout, _Described)
    except CodecError as err:
        raise BuildError(
            f"harness.c describes its cases in a way that cannot be read: {err}", log, "structural"
        ) from err
    _refuse_doubles([case.name for case in described.cases])
    return Harness(jobs.out(host, id, "bench"), described.symbol, described.cases)


def _refuse_doubles(names: list[str]) -> None:
    if not names or len(set(names)) < len(names):
        raise BuildError("harness.c must name at least one case, and none twice", "", "structural")
