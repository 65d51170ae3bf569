"""A job's lines as they come: whole, bounded, and tainted by whoever else was on the device."""

from kpd.hosts.host import Host, LeaseRequest
from tests.support.hosts.gpu_leases import GPU, Smi, process
from tests.support.hosts.local import linux_only
from tests.support.measure.reports import _host, _nvidia, read

__all__ = ["_host", "_nvidia"]


@linux_only
async def test_what_was_written_before_a_clear_look_is_good_whoever_comes_later(host: Host, nvidia: Smi) -> None:
    wait = f"n=$(wc -l < {nvidia.asked}); while [ $(wc -l < {nvidia.asked}) -lt $((n + 2)) ]; do sleep 0.05; done"
    async with process() as pid:
        listed = f"echo '{pid}, train, {GPU}' > {nvidia.path}"
        found, _ = await read(host, f"echo one; {wait}; {listed}; echo two", LeaseRequest(GPU, gpu=True))
    assert found == [("one", ""), ("two", f"foreign processes on the device: train ({pid})")]
