"""A C task made ready on a host: its harness built, its machine's roofline known."""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial

from kpd.hosts.host import Host
from kpd.measure.bench import BuiltObject, Say
from kpd.measure.c import build
from kpd.measure.c.harness import harness
from kpd.measure.c.roofline import measure_roofline
from kpd.measure.c.toolchain import choose
from kpd.measure.driver.bench import DriverBench
from kpd.measure.flags import BUILD_FILE
from kpd.measure.run_context import beside, timed_on
from kpd.model.places import Device
from kpd.workspace.runfolder import read_files
from kpd.workspace.task import Task


async def prepare(host: Host, task: Task, device: Device, say: Say) -> DriverBench:
    """Build the task's harness and measure the machine's roofline; the host remembers both.

    Raises BuildError and TaskError, the task's fault, and HostError.
    """
    facts = await host.probe()
    tools = choose(host.name, facts)
    measuring, building = timed_on(facts, device), beside(facts, device)
    checking = replace(building, nice=0)  # its calls have time limits
    program = await harness(host, tools, read_files(task.folder, task.protected), task.build.limit_s, say, building)
    measure = partial(measure_roofline, host, tools, measuring)
    roofline = await measure()

    async def compile(tree: str, files: Mapping[str, bytes], say: Say) -> BuiltObject:
        own = build.candidate_flags(files[BUILD_FILE]) if BUILD_FILE in files else ()
        return await build.build(host, tools, tree, (*own, *task.build.flags), task.build.limit_s, say, building)

    listings = (build.ASSEMBLY, build.REMARKS)
    return DriverBench(host, task, device, program, roofline, measure, compile, listings, checking, measuring)
