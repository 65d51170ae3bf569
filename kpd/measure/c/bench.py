"""Prepares a C task on a host: builds its harness, measures the machine's roofline."""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial

from kpd.hosts.host import Host
from kpd.hosts.preflight.probe import HostFacts
from kpd.measure import jobs
from kpd.measure.bench import BuiltObject, Say
from kpd.measure.c import build, layout
from kpd.measure.c.toolchain import CToolchain, choose
from kpd.measure.compiling import BuildError, first_error, readable
from kpd.measure.driver.bench import DriverBench
from kpd.measure.driver.harness import HEADERS, SOURCES, BadHarness, Harness, described, native
from kpd.measure.driver.linking import PROGRAM, Driver, link
from kpd.measure.driver.units import units
from kpd.measure.elsewhere import Builds
from kpd.measure.flags import BUILD_FILE
from kpd.measure.objects import allowed
from kpd.measure.objects.allowed import with_threads
from kpd.measure.objects.inspect import Inspector
from kpd.measure.roofline import Roofline, measured
from kpd.measure.run_context import RunContext, timed_context, untimed_context
from kpd.model.hosts import Device
from kpd.workspace.run_files import read_files
from kpd.workspace.task import Task

COMPILED = (*SOURCES, "cpu.c")
STRICT = "-std=gnu11 -D_GNU_SOURCE -O2 -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3 -Wall"
"""How the driver is compiled everywhere: some systems check the bounds of library calls by default, others do not."""


async def harness(
    host: Host, tools: CToolchain, protected: Mapping[str, bytes], limit_s: float, say: Say | None = None,
    where: RunContext | None = None,
) -> Harness:  # fmt: skip
    """Compile the task's harness.c (one of its `protected` files) with the driver. Raises BuildError and HostError.

    The driver's header is on the include path as `kpd_task.h`. A BuildError here is the task's fault, not a
    candidate's.
    """
    strict = f"{tools.command} {STRICT} -pthread -Ikpd"
    sources = {f"kpd/{name}": native(name) for name in (*HEADERS, *COMPILED)}
    compiled = " ".join(f"kpd/{name}" for name in COMPILED)
    driver = Driver(sources, f'{strict} -nostdlib -r -o "$driver" {compiled}', "driver.o")
    dynamic = "" if tools.system == "Darwin" else " -ldl"
    linked = f'{strict} -Itask task/harness.c "$driver" -o "$out/{PROGRAM}" -lm -lpthread{dynamic}'
    own = {f"task/{name}": data for name, data in protected.items()}
    result = await link(host, tools.identity, driver, own, linked, limit_s, say, where or RunContext())
    log = readable(result.stderr)
    if result.rc != 0 and not jobs.crash(result):
        raise BuildError(f"harness.c does not build: {first_error(log)}", log, "structural")
    try:
        return described(jobs.out(host, result.id, PROGRAM), result)
    except BadHarness as err:
        raise BuildError(str(err), log, "structural") from err


LIMIT_S = 60.0


async def measure_roofline(
    host: Host, tools: CToolchain, where: RunContext | None = None, again: bool = False
) -> Roofline:
    """Measure the CPU's roofline, which takes about two seconds, or read the host's earlier result.

    The result holds until the compiler or the CPU changes. With `again` it is measured anew and replaces the earlier
    one. Raises HostError.
    """
    tree = await host.stage({"roofline.c": native("roofline.c")})
    flags = jobs.words(tools.flags(("-std=gnu11", "-D_GNU_SOURCE", "-O3", "-march=native")))
    script = (
        f"{tools.command} {flags} {jobs.words([f'{host.root}/trees/{tree}/roofline.c'])} -o out/roofline || exit 2\n"
        "exec out/roofline\n"
    )
    where = where or RunContext()
    id = jobs.key("roofline", tools.identity, script, str(where.cpus))
    return await measured(host, where.spec(id, script, LIMIT_S), "the CPU", again)


async def prepare(host: Host, task: Task, device: Device, say: Say) -> DriverBench:
    """Build the task's harness and measure the machine's roofline; the host remembers both.

    Raises BuildError and TaskError when the task is at fault, and HostError.
    """
    facts = await host.probe()
    tools = choose(host.name, facts)
    measuring, building = timed_context(facts, device), untimed_context(facts, device)
    checking = replace(building, nice=0)  # a check must not be slowed down: its calls have time limits
    protected = read_files(task.folder, task.protected)
    program = await harness(host, tools, protected, task.build.limit_s, say, building)
    is_cpp = task.language == "c++"
    compiler, kernel, calls = (tools.cpp, "kernel.cpp", allowed.CPP) if is_cpp else (tools, build.SOURCE, allowed.C)
    measure = partial(measure_roofline, host, tools, measuring)
    roofline = await measure()

    def identity(facts: HostFacts) -> str:
        other = choose("", facts)
        return (other.cpp if is_cpp else other).identity

    builds = Builds(host, building, compiler.identity, identity)

    async def compile(tree: str, files: Mapping[str, bytes], say: Say) -> BuiltObject:
        own = build.candidate_flags(files[BUILD_FILE], task.check.fast_math) if BUILD_FILE in files else ()
        return await build.build(
            host, compiler, tree, program.symbol, (*own, *task.build.flags), task.build.limit_s, say, building,
            units(protected, files, kernel, build.SUFFIXES[kernel]), builds, {**protected, **files},
        )  # fmt: skip

    listings = (build.ASSEMBLY, build.REMARKS)
    return DriverBench(
        host, task, device, program, roofline, measure, compile, listings, checking, measuring,
        inspector=Inspector(with_threads(calls, task.build.flags), building, begins_late=True),
        place=layout.placed(host, compiler),
    )  # fmt: skip
