"""What a GPU can do at best, measured: bandwidth by footprint and peak arithmetic."""

from kpd.hosts.host import Host
from kpd.measure import jobs
from kpd.measure.cuda.nvcc import CudaToolchain
from kpd.measure.driver.harness import native
from kpd.measure.roofline import Roofline, measured
from kpd.measure.run_context import RunContext
from kpd.model.places import Device

LIMIT_S = 120.0
SOURCE = "cuda/roofline.cu"


async def measure_roofline(
    host: Host, tools: CudaToolchain, device: Device, where: RunContext, again: bool = False
) -> Roofline:
    """A few seconds the first time; then the host has it for this GPU, until its toolkit is another.

    With `again` it is measured anew, and that is what the host has from then on. Raises HostError.
    """
    tree = await host.stage({"roofline.cu": native(SOURCE)})
    compiled = jobs.words(
        (tools.nvcc, *tools.flags(()), "-Xcompiler", "-Wall", f"{host.root}/trees/{tree}/roofline.cu")
    )
    script = f"{compiled} -o out/roofline || exit 2\nexec out/roofline\n"
    id = jobs.key("roofline", tools.identity, script, device.id)
    return await measured(host, where.spec(id, script, LIMIT_S), device.name, again)
