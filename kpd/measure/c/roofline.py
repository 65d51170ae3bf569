"""What the host's CPU can do at best, measured: bandwidth by footprint and peak arithmetic, on one core."""

from kpd.hosts.host import Host
from kpd.measure import jobs
from kpd.measure.c.toolchain import CToolchain
from kpd.measure.driver.harness import native
from kpd.measure.roofline import Roofline, measured
from kpd.measure.run_context import RunContext

LIMIT_S = 60.0


async def measure_roofline(
    host: Host, tools: CToolchain, where: RunContext | None = None, again: bool = False
) -> Roofline:
    """About two seconds the first time; then the host has it, until its compiler or CPU is another.

    With `again` it is measured anew, and that is what the host has from then on. Raises HostError.
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
