"""Prepares a CUDA task on a GPU: builds its harness, measures the device's roofline."""

from collections.abc import Mapping
from functools import partial

from kpd.hosts.host import Host, LeaseRequest
from kpd.measure import jobs
from kpd.measure.bench import BuiltObject, Say
from kpd.measure.compiling import BuildError, first_error, readable
from kpd.measure.cuda import build
from kpd.measure.cuda.nvcc import CudaToolchain, choose, refuse_no_compiler
from kpd.measure.cuda.sources import all_units, layer, pristine
from kpd.measure.driver.bench import DriverBench
from kpd.measure.driver.harness import HEADERS, SOURCES, BadHarness, Harness, described, native
from kpd.measure.driver.linking import PROGRAM, Driver, link
from kpd.measure.driver.sanitize import SANITIZER, present
from kpd.measure.elsewhere import Builds
from kpd.measure.flags import BUILD_FILE
from kpd.measure.objects import allowed
from kpd.measure.objects.inspect import Inspector
from kpd.measure.roofline import Roofline, measured
from kpd.measure.run_context import RunContext, timed_context, untimed_context
from kpd.model.hosts import Device
from kpd.workspace.run_files import read_files
from kpd.workspace.task import Task

COMPILED_S = 300.0
ENGINE = (
    "cuda/device.cu",
    "cuda/change.cu",
    "cuda/calls.cu",
    "cuda/clock.cu",
    "cuda/fresh.cu",
    "cuda/gate.cu",
    "cuda/overflow.cu",
    "cuda/squeezed.cu",
    "cuda/telemetry.c",
)
ENGINE_HEADERS = ("cuda/device.h",)
WHOLE = '-Xlinker --whole-archive "$driver" -Xlinker --no-whole-archive'
"""The driver, of which a harness may replace no part by a function of the same name."""


async def harness(
    host: Host, tools: CudaToolchain, task: Task, say: Say | None = None, where: RunContext | None = None
) -> Harness:
    """Compile the pristine task with the driver. Raises BuildError when the task is at fault, and HostError."""
    own = ("-D_GNU_SOURCE", "-Xcompiler", "-Wall", "-Ikpd", "-I.", "--threads=0")
    sources = {f"kpd/{name}": native(name) for name in (*HEADERS, *ENGINE_HEADERS, *ENGINE, *SOURCES)}
    parts = [f"kpd/{name}" for name in (*ENGINE, *SOURCES)]
    compiled = jobs.words((tools.nvcc, *tools.flags(()), *own, "-lib", *parts))
    driver = Driver(sources, f'{compiled} -o "$driver"', "driver.a")
    files, protected = (read_files(task.folder, names) for names in (task.editable, task.protected))
    units = jobs.words((tools.nvcc, *tools.flags(task.build.flags), *own, *all_units(task, protected, files)))
    linked = f'{units} {WHOLE} -lpthread -ldl -o "$out/{PROGRAM}"'
    result = await link(host, tools.identity, driver, pristine(task), linked, COMPILED_S, say, where or RunContext())
    log = readable(result.stderr)
    if result.rc != 0 and not jobs.crash(result):
        await refuse_no_compiler(host, result, log)
        raise BuildError(f"the task does not build: {first_error(log)}", log, "structural")
    try:
        return described(jobs.out(host, result.id, PROGRAM), result, task.sectioned or "harness.cu")
    except BadHarness as err:
        raise BuildError(str(err), log, "structural") from err


ROOFLINE_S = 120.0
SOURCE = "cuda/roofline.cu"


async def measure_roofline(
    host: Host, tools: CudaToolchain, device: Device, where: RunContext, again: bool = False
) -> Roofline:
    """Measure this GPU's roofline, which takes a few seconds, or read the host's earlier result.

    The result holds until the toolkit changes. With `again` it is measured anew and replaces the earlier one. Raises
    HostError.
    """
    tree = await host.stage({"roofline.cu": native(SOURCE)})
    compiled = jobs.words(
        (tools.nvcc, *tools.flags(()), "-Xcompiler", "-Wall", f"{host.root}/trees/{tree}/roofline.cu")
    )
    script = f"{compiled} -o out/roofline || exit 2\nexec out/roofline\n"
    id = jobs.key("roofline", tools.identity, script, device.id)
    return await measured(host, where.spec(id, script, ROOFLINE_S), device.name, again)


async def prepare(host: Host, task: Task, device: Device, say: Say) -> DriverBench:
    """Build the task's harness and measure the GPU's roofline; the host remembers both.

    Raises BuildError and TaskError when the task is at fault, and HostError.
    """
    facts = await host.probe()
    tools = choose(host.name, facts, device)
    env = {"CUDA_VISIBLE_DEVICES": device.id, "KPD_NCU": facts["ncu"]}
    # A check need not wait until no other process uses the GPU. It takes the lock: it would disturb others' timing.
    checking, measuring = RunContext(lease=LeaseRequest(device.id), env=env), timed_context(facts, device, env)
    building = untimed_context(facts, device)
    program = await harness(host, tools, task, say, building)
    protected = read_files(task.folder, task.protected)
    measure = partial(measure_roofline, host, tools, device, measuring)
    roofline = await measure()

    builds = Builds(host, building, tools.identity, lambda facts: choose("", facts, device).identity)
    lay = layer(task)

    async def compile(tree: str, files: Mapping[str, bytes], say: Say) -> BuiltObject:
        own = build.candidate_flags(files[BUILD_FILE], tools.arch, task.check.fast_math) if BUILD_FILE in files else ()
        return await build.build(
            host, tools, tree, (*own, *task.build.flags), task.build.limit_s, say, building,
            all_units(task, protected, files), builds, {**protected, **lay(files)},
        )  # fmt: skip

    listings = ("", build.PTXAS)
    sanitizer = await present(host, tools.beside(SANITIZER)) if task.check.sanitizer else ""
    return DriverBench(
        host, task, device, program, roofline, measure, compile, listings, checking, measuring, cached=False,
        inspector=Inspector(allowed.CUDA, building, tools.beside("cuobjdump")), lay=lay, sanitizer=sanitizer,
    )  # fmt: skip
