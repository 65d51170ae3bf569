"""What kpd sees of a machine with a GPU, and whether leases hold there: recorded on the machine itself.

    python benchmarks/gpu_host.py FOLDER

Reaches this machine through an SSH server on its own loopback, so it needs neither sshd nor an account. Writes into
FOLDER: `probe.txt` (what the probe's programs printed, for the tests) and `gpu_host.json` (facts, checks, and what
happened to measurements that met other processes). Needs an NVIDIA GPU and nvcc.
"""

import argparse
import asyncio
import itertools
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from statistics import median
from typing import Any

from loopback import reached

from kpd.hosts.host import Host, JobSpec, LeaseRequest
from kpd.hosts.job import JobNotes, JobResult
from kpd.hosts.preflight import probe
from kpd.hosts.preflight.cards import host_card
from kpd.hosts.preflight.counter_trial import try_counters
from kpd.model.codec import encode
from kpd.workspace.host_tables import HostConfig

SPIN = """
#include <cstdio>
#include <cstdlib>
#include <unistd.h>
__global__ void touch(float *out) { out[threadIdx.x] += 1.0f; }
int main(int, char **argv) {
    float *out;
    if (cudaMalloc(&out, 1024) != cudaSuccess) return 1;
    const double seconds = atof(argv[1]);
    cudaEvent_t begin, end;
    cudaEventCreate(&begin), cudaEventCreate(&end);
    printf("up\\n"), fflush(stdout);
    for (int batch = 0; batch < seconds * 20; batch++) {
        cudaEventRecord(begin);
        for (int i = 0; i < 100; i++) touch<<<1, 128>>>(out);
        cudaEventRecord(end);
        cudaEventSynchronize(end);
        float ms;
        cudaEventElapsedTime(&ms, begin, end);
        printf("%f\\n", 10 * ms), fflush(stdout);
        usleep(50000);
    }
    return 0;
}
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, metavar="FOLDER")
    folder: Path = parser.parse_args().folder
    scratch = folder / "scratch"
    scratch.mkdir(parents=True, exist_ok=True)
    (scratch / "spin.cu").write_text(SPIN)
    subprocess.run(["nvcc", "-o", scratch / "spin", scratch / "spin.cu"], check=True)
    found = asyncio.run(record(folder, scratch))
    (folder / "gpu_host.json").write_text(json.dumps(found, indent=2) + "\n")
    sys.stdout.write(json.dumps(found, indent=2) + "\n")


async def record(folder: Path, scratch: Path) -> dict[str, Any]:
    async with reached(scratch) as host:
        said = await host.job(JobSpec("probe", probe.script("", host.leases), probe.LIMIT_S))
        (folder / "probe.txt").write_bytes(said.stdout)
        begun = time.perf_counter()
        facts = await host.probe()
        probed = time.perf_counter() - begun
        begun = time.perf_counter()
        tried = await try_counters(host, facts, (), 60.0)
        first = time.perf_counter() - begun
        begun = time.perf_counter()
        await try_counters(host, facts, (), 60.0)
        card = host_card("gpu", HostConfig("ssh", "gpu"), facts, tried)
        lease = LeaseRequest(facts["gpus"][0].uuid, gpu=True)
        return {
            "device": next(device.name for device in card.devices if device.kind == "gpu"),
            "probe_s": round(probed, 3),
            "counters_tried_first_s": round(first, 2),
            "counters_tried_again_s": round(time.perf_counter() - begun, 4),
            "card": json.loads(encode(card)),
            "nvidia_smi_s": smi_times(),
            "one_after_the_other": await one_after_the_other(host, lease),
            "foreign_before": await foreign_before(host, lease, scratch),
            "foreign_during": await foreign_during(host, lease, scratch),
            "leftover": await leftover(host, lease, scratch),
            "watching_costs": await watching_costs(host, lease, scratch),
        }


def smi_times() -> dict[str, float]:
    query = ["nvidia-smi", "--query-compute-apps=pid,process_name,gpu_uuid", "--format=csv,noheader,nounits"]
    took = []
    for _ in range(10):
        begun = time.perf_counter()
        subprocess.run(query, check=True, capture_output=True)
        took.append(time.perf_counter() - begun)
    return {"median": round(median(took), 4), "max": round(max(took), 4)}


async def one_after_the_other(host: Host, lease: LeaseRequest) -> dict[str, Any]:
    """Four jobs at once that all want the device."""
    script = "date +%s.%N; sleep 0.3; date +%s.%N"
    results = await asyncio.gather(*(host.job(JobSpec(f"turn{n}", script, 30.0, lease=lease)) for n in range(4)))
    spans = sorted(tuple(map(float, result.stdout.split())) for result in results)
    overlaps = sum(before[1] > after[0] for before, after in itertools.pairwise(spans))
    return {"overlaps": overlaps, "tokens": sorted(result.token for result in results)}


async def foreign_before(host: Host, lease: LeaseRequest, scratch: Path) -> dict[str, Any]:
    other = await spin(scratch, 4.0)
    begun = time.perf_counter()
    result, notes = await noted(host, JobSpec("before", "date", 30.0, lease=lease))
    waited = time.perf_counter() - begun
    await other.wait()
    return {"foreign_pid": other.pid, "waited_s": round(waited, 2), "notes": notes, "taint": result.taint}


async def foreign_during(host: Host, lease: LeaseRequest, scratch: Path) -> dict[str, Any]:
    job = asyncio.create_task(noted(host, JobSpec("during", f"{scratch}/spin 8", 60.0, lease=lease)))
    await asyncio.sleep(3)
    other = await spin(scratch, 2.5)
    result, notes = await job
    await other.wait()
    return {"foreign_pid": other.pid, "notes": notes, "taint": result.taint, "stdout_bytes": len(result.stdout)}


async def leftover(host: Host, lease: LeaseRequest, scratch: Path) -> dict[str, Any]:
    """A job's supervisor is killed while its process computes; the next one that wants the device clears that away."""
    computes = asyncio.Event()
    spec = JobSpec("orphaned", f"{scratch}/spin 60", 90.0, lease=lease)
    job = asyncio.create_task(host.job(spec, lambda *_: computes.set()))
    await computes.wait()
    supervisor = (await host.read("jobs/orphaned/pgid", 1 << 16)).split()[1]
    os.kill(int(supervisor), 9)
    begun = time.perf_counter()
    result, notes = await noted(host, JobSpec("after", "date", 30.0, lease=lease))
    lost = await job
    return {"lost": lost.reason, "waited_s": round(time.perf_counter() - begun, 2), "notes": notes, "rc": result.rc}


async def watching_costs(host: Host, lease: LeaseRequest, scratch: Path) -> dict[str, Any]:
    """Microseconds a launch of a tiny kernel, with the GPU watched by the lease and without, in turns."""
    found: dict[str, list[float]] = {"watched": [], "unwatched": []}
    for turn in range(3):
        for name, hold in (("watched", lease), ("unwatched", None)):
            result = await host.job(JobSpec(f"{name}{turn}", f"{scratch}/spin 8", 60.0, lease=hold))
            times = [float(line) for line in result.stdout.split()[2:]]
            found[name].append(median(times))
    return {name: [round(us, 3) for us in medians] for name, medians in found.items()}


async def noted(host: Host, spec: JobSpec) -> tuple[JobResult, list[dict[str, Any]]]:
    """The job's result and all its notes."""
    lines = JobNotes()
    notes: list[dict[str, Any]] = []
    async for piece in host.follow(spec):
        if isinstance(piece, JobResult):
            return piece, notes
        if piece.stream == "notes":
            notes += lines.add(piece.data)
    raise AssertionError("a job ends with its result")


async def spin(scratch: Path, seconds: float) -> asyncio.subprocess.Process:
    other = await asyncio.create_subprocess_exec(
        str(scratch / "spin"), str(seconds), stdout=asyncio.subprocess.PIPE, env={"PATH": os.environ["PATH"]}
    )
    assert other.stdout is not None
    await other.stdout.readline()
    asyncio.get_running_loop().create_task(other.stdout.read())
    return other


if __name__ == "__main__":
    main()
