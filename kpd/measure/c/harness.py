"""A task's harness.c, compiled with kpd's driver."""

from collections.abc import Mapping

from kpd.hosts.host import Host
from kpd.measure import jobs
from kpd.measure.bench import Say
from kpd.measure.c.toolchain import CToolchain
from kpd.measure.compiling import BuildError, first_error, readable
from kpd.measure.driver.harness import HEADERS, SOURCES, BadHarness, Harness, described, native
from kpd.measure.run_context import RunContext

COMPILED = (*SOURCES, "cpu.c")


async def harness(
    host: Host, tools: CToolchain, protected: Mapping[str, bytes], limit_s: float, say: Say | None = None,
    where: RunContext | None = None,
) -> Harness:  # fmt: skip
    """Compile the task's harness.c (one of its `protected` files) with the driver. Raises BuildError and HostError.

    The driver is on the include path as `kpd_task.h`. A BuildError here is the task's fault, not a candidate's.
    """
    sources = {f"kpd/{name}": native(name) for name in (*HEADERS, *COMPILED)}
    tree = await host.stage({**sources, **{f"task/{name}": data for name, data in protected.items()}})
    compiled = " ".join(f"kpd/{name}" for name in COMPILED)
    dynamic = "" if tools.system == "Darwin" else " -ldl"
    script = (
        f'out="$PWD/out"\ncd {jobs.words([f"{host.root}/trees/{tree}"])} || exit {jobs.GONE}\n'
        f"{tools.command} -std=gnu11 -D_GNU_SOURCE -O2 -Wall -pthread -Ikpd -Itask {compiled} task/harness.c"
        f' -o "$out/bench" -lm -lpthread{dynamic} || exit 1\n'
        '"$out/bench" describe\n'
    )
    id = jobs.key("harness", tools.identity, script)
    result = await jobs.run(host, (where or RunContext()).spec(id, script, limit_s), say)
    log = readable(result.stderr)
    if result.rc != 0:
        raise BuildError(f"harness.c does not build: {first_error(log)}", log, "structural")
    try:
        return described(jobs.out(host, id, "bench"), result.stdout)
    except BadHarness as err:
        raise BuildError(f"harness.c: {err}", log, "structural") from err
