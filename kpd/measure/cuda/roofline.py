"""What a GPU can do at best, measured: bandwidth by footprint and peak arithmetic."""

from kpd.hosts.errors import HostError
from kpd.hosts.host import Host
from kpd.measure import jobs
from kpd.measure.cuda.nvcc import Toolchain
from kpd.measure.driver.harness import native
from kpd.measure.roofline import Roofline, roofline_of
from kpd.measure.where import Where
from kpd.model.codec import CodecError
from kpd.model.nouns import Device

LIMIT_S = 120.0
SOURCE = "cuda/roofline.cu"


async def measure_roofline(host: Host, tools: Toolchain, device: Device, where: Where, again: bool = False) -> Roofline:
    """A few seconds the first time; then the host has it for this GPU, until its toolkit is another.

    With `again` it is measured anew, and that is what the host has from then on. Raises HostError.
    """
    tree = await host.stage({"roofline.cu": native(SOURCE)})
    compiled = jobs.words(
        (tools.nvcc, *tools.flags(()), "-Xcompiler", "-Wall", f"{host.root}/trees/{tree}/roofline.cu")
    )
    script = f"{compiled} -o out/roofline || exit 2\nexec out/roofline\n"
    id = jobs.key("roofline", tools.identity, script, device.id)
    if again:
        await host.forget(id)
    result = await jobs.run(host, where.spec(id, script, LIMIT_S))
    try:
        if result.rc != 0:
            raise CodecError(jobs.tail(result.stderr))
        return roofline_of(result.stdout)
    except CodecError as err:
        await host.forget(id)
        raise HostError("host", f"{host.name}: the roofline of {device.name} could not be measured: {err}") from err
