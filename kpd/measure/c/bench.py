"""A C task made ready on a host: its harness built, its machine's roofline known."""

from collections.abc import Mapping

from kpd.hosts.host import Host, Lease
from kpd.hosts.preflight.probe import measuring_cpu
from kpd.measure.bench import Object, Say
from kpd.measure.c import build
from kpd.measure.c.harness import harness
from kpd.measure.c.roofline import measure_roofline
from kpd.measure.c.toolchain import choose
from kpd.measure.driver.bench import DriverBench, Rates
from kpd.measure.roofline import Roofline, work
from kpd.measure.where import Where
from kpd.model.nouns import Device
from kpd.workspace.runfolder import read_files
from kpd.workspace.task import Task

FLAGS = "build.json"


async def prepare(host: Host, task: Task, device: Device, say: Say) -> DriverBench:
    """Build the task's harness and measure the machine's roofline; the host remembers both.

    Raises BuildError and TaskError, the task's fault, and HostError.
    """
    facts = await host.probe()
    tools = choose(host.name, facts)
    cpu = measuring_cpu(facts)
    program = await harness(host, tools, read_files(task.folder, task.protected), task.build.limit_s, say)
    measuring = Where(cpu, Lease(device.id))
    roofline = await measure_roofline(host, tools, measuring)

    async def compile(tree: str, files: Mapping[str, bytes], say: Say) -> Object:
        own = build.candidate_flags(files[FLAGS]) if FLAGS in files else ()
        return await build.build(host, tools, tree, (*own, *task.build.flags), task.build.limit_s, say)

    def rates(of: Roofline) -> Rates:
        works = {case.name: work(task, of, case.dims) for case in program.cases}
        return Rates(works, (of.memory_gbs, of.peak_gflops))

    async def again() -> Rates:
        return rates(roofline.better(await measure_roofline(host, tools, measuring, again=True)))

    listings = (build.ASSEMBLY, build.REMARKS)
    return DriverBench(host, task, device, program, rates(roofline), again, compile, listings, Where(cpu), measuring)
