"""A CUDA task made ready on a GPU: its harness built, the device's roofline known."""

from collections.abc import Mapping
from functools import partial

from kpd.hosts.host import Host, LeaseRequest
from kpd.measure.bench import BuiltObject, Say
from kpd.measure.cuda import build
from kpd.measure.cuda.harness import harness
from kpd.measure.cuda.nvcc import choose
from kpd.measure.cuda.roofline import measure_roofline
from kpd.measure.cuda.sources import layer
from kpd.measure.driver.bench import DriverBench
from kpd.measure.flags import BUILD_FILE
from kpd.measure.run_context import RunContext, beside, timed_on
from kpd.model.places import Device
from kpd.workspace.task import Task


async def prepare(host: Host, task: Task, device: Device, say: Say) -> DriverBench:
    """Build the task's harness and measure the GPU's roofline; the host remembers both.

    Raises BuildError and TaskError, the task's fault, and HostError.
    """
    facts = await host.probe()
    tools = choose(host.name, facts, device)
    env = {"CUDA_VISIBLE_DEVICES": device.id, "KPD_NCU": facts["ncu"]}
    # A check need not wait until others leave the GPU alone. It has the lock all the same: it would spoil their timing.
    checking, measuring = RunContext(lease=LeaseRequest(device.id), env=env), timed_on(facts, device, env)
    building = beside(facts, device)
    program = await harness(host, tools, task, say, building)
    measure = partial(measure_roofline, host, tools, device, measuring)
    roofline = await measure()

    async def compile(tree: str, files: Mapping[str, bytes], say: Say) -> BuiltObject:
        own = build.candidate_flags(files[BUILD_FILE], tools.arch) if BUILD_FILE in files else ()
        return await build.build(host, tools, tree, (*own, *task.build.flags), task.build.limit_s, say, building)

    listings = ("", build.PTXAS)
    sanitizer = tools.beside("compute-sanitizer") if task.check.sanitizer else ""
    return DriverBench(
        host, task, device, program, roofline, measure, compile, listings, checking, measuring, cached=False,
        lay=layer(task), sanitizer=sanitizer,
    )  # fmt: skip
