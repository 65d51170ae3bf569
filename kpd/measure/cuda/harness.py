"""A CUDA task's harness and its own kernel, compiled with kpd's driver into the program that judges."""

from kpd.hosts.host import Host
from kpd.measure import jobs
from kpd.measure.bench import Say
from kpd.measure.compiling import BuildError, first_error, readable
from kpd.measure.cuda.nvcc import CudaToolchain, refuse_no_compiler
from kpd.measure.cuda.sources import UNIT, pristine
from kpd.measure.driver.harness import HEADERS, SOURCES, BadHarness, Harness, described, native
from kpd.measure.run_context import RunContext
from kpd.workspace.task import Task

LIMIT_S = 300.0
ENGINE = ("cuda/device.cu", "cuda/clock.cu", "cuda/telemetry.c")
ENGINE_HEADERS = ("cuda/device.h",)


async def harness(
    host: Host, tools: CudaToolchain, task: Task, say: Say | None = None, where: RunContext | None = None
) -> Harness:
    """Compile the pristine task with the driver. Raises BuildError, which is the task's fault, and HostError."""
    compiled = [f"kpd/{name}" for name in (*ENGINE, *SOURCES)]
    sources = {f"kpd/{name}": native(name) for name in (*HEADERS, *ENGINE_HEADERS, *ENGINE, *SOURCES)}
    tree = await host.stage({**pristine(task), **sources})
    own = ("-D_GNU_SOURCE", "-Xcompiler", "-Wall", "-Ikpd", "-I.", "--threads=0")
    command = (tools.nvcc, *tools.flags(task.build.flags), *own, UNIT, *compiled, "-lpthread", "-ldl")
    script = (
        f'out="$PWD/out"\ncd {jobs.words([f"{host.root}/trees/{tree}"])} || exit {jobs.GONE}\n'
        f'{jobs.words(command)} -o "$out/bench" || exit $?\n'
        '"$out/bench" describe\n'
    )
    id = jobs.key("harness", tools.identity, script)
    result = await jobs.run(host, (where or RunContext()).spec(id, script, LIMIT_S), say)
    log = readable(result.stderr)
    if result.rc != 0:
        await refuse_no_compiler(host, result, log)
        raise BuildError(f"the task does not build: {first_error(log)}", log, "structural")
    try:
        return described(jobs.out(host, id, "bench"), result.stdout)
    except BadHarness as err:
        raise BuildError(f"{task.sectioned or 'harness.cu'}: {err}", log, "structural") from err
