"""Runs a small kernel under ncu, the only sure test of whether this user may read GPU counters."""

import asyncio
import hashlib
import re
import shlex
from dataclasses import dataclass
from typing import Literal

from kpd.hosts.errors import HostError
from kpd.hosts.host import Host
from kpd.hosts.job import JobResult, JobSpec, LeaseRequest
from kpd.hosts.preflight.gpus import GpuInfo, usable
from kpd.hosts.preflight.probe import HostFacts
from kpd.text.foreign import plain

LIMIT_S = 60.0
METRIC = "smsp__inst_executed.sum"
NOT_BUILT = 91
TAKEN_MARK = "driver resource was unavailable"
"""A part of what ncu prints when another profiler uses the GPU's counters."""
TAKEN = "another profiler uses the GPU's counters"

# The clocks are left alone: ncu would lock them for as long as it runs. Its lock file lies in the job's TMPDIR; in /tmp
# it would belong to whoever ran ncu first.
_SCRIPT = f"""
cat > kernel.cu <<'END'
#include <cstdio>
__global__ void touch(int *out) {{ out[threadIdx.x] = threadIdx.x; }}
int main() {{
    int *out = nullptr;
    cudaError_t error = cudaMalloc(&out, 32 * sizeof *out);
    if (!error) touch<<<1, 32>>>(out);
    if (!error) error = cudaDeviceSynchronize();
    if (error) std::fprintf(stderr, "==ERROR== CUDA: %s\\n", cudaGetErrorString(error));
    return error != cudaSuccess;
}}
END
@NVCC@ @ARCH@ -o kernel kernel.cu || exit {NOT_BUILT}
exec @NCU@ --csv --clock-control none --metrics {METRIC} ./kernel
"""


@dataclass(frozen=True, slots=True)
class CounterTrial:
    """The result of the trial, for people in `words`: a yes, a no, another obstacle to ncu, or no try at all."""

    answer: Literal["permitted", "denied", "taken", "problem", "untried"]
    words: str


def trial(facts: HostFacts, gpu: GpuInfo) -> JobSpec | None:
    """Return the trial's job for this GPU, under its lease; None where nvcc or ncu is missing.

    Its id is a hash of everything that the answer depends on, including the boot and this user's rights, so that a host
    runs it once.
    """
    if not (facts["nvcc"] and facts["ncu"]):
        return None
    parts = {
        "@NVCC@": shlex.quote(facts["nvcc"]),
        "@ARCH@": f"-arch={gpu.arch}" if gpu.arch else "",
        "@NCU@": shlex.quote(facts["ncu"]),
    }
    script = re.sub("@[A-Z]+@", lambda mark: parts[mark[0]], _SCRIPT)
    depends = (script, gpu.uuid, gpu.driver, facts["cuda"], facts["ncu_version"], facts["rights"])
    id = f"counters-{hashlib.sha256(repr(depends).encode()).hexdigest()[:32]}"
    env = {"CUDA_VISIBLE_DEVICES": gpu.uuid}
    return JobSpec(id, script, LIMIT_S, env=env, lease=LeaseRequest(gpu.uuid, gpu=True))


async def try_counters(
    host: Host, facts: HostFacts, wanted: tuple[int | str, ...], patience_s: float
) -> CounterTrial | None:
    """Try the first of the GPUs that are `wanted`, or read the answer of an earlier try; None without such a GPU.

    It takes some seconds the first time, and longer while the GPU is busy, at most `patience_s`. It never raises
    HostError. An answer that is neither yes nor no is forgotten, so that it is tried again another time.
    """
    spec = next((trial(facts, gpu) for gpu in usable(facts["gpus"], wanted)), None)
    if spec is None:
        return None
    try:
        async with asyncio.timeout(patience_s):
            result = await host.job(spec)
            if result.cached and result.reason:  # an earlier daemon's trial was cut off
                await host.forget(spec.id)
                result = await host.job(spec)
            tried = classify(result)
            if tried.answer in ("taken", "problem"):
                await host.forget(spec.id)
    except TimeoutError:
        return CounterTrial("untried", f"not tried: the GPU was not free within {patience_s:g} s")
    except HostError as err:
        return CounterTrial("untried", f"not tried: {plain(err.message)}")
    return tried


def classify(result: JobResult) -> CounterTrial:
    """Return the answer that the job's result gives."""
    said = (result.stdout + b"\n" + result.stderr).decode(errors="replace")
    if "ERR_NVGPUCTRPERM" in said:
        return CounterTrial("denied", "ncu is denied the counters (ERR_NVGPUCTRPERM)")
    if TAKEN_MARK in said:
        return CounterTrial("taken", TAKEN)
    if result.rc == 0 and not result.reason and re.search(rf'"{METRIC}",.*"[1-9][0-9,.]*"\s*$', said, re.MULTILINE):
        return CounterTrial("permitted", "ncu reads the counters")
    if result.reason:
        return CounterTrial("problem", f"the trial of ncu was {_ENDS[result.reason]}")
    if result.rc == NOT_BUILT:
        return CounterTrial("problem", f"nvcc does not build a kernel: {_telling(said, 'error')}")
    return CounterTrial(
        "problem", f"ncu reads no counters: {_telling(said, '==ERROR==') or f'it ended with {result.rc}'}"
    )


_ENDS = {
    "timeout": f"cut off after {LIMIT_S:g} s", "killed": "killed", "lost": "lost",
    "memory": "cut off as it took too much memory", "threads": "cut off as it started too many threads",
}  # fmt: skip


def _telling(said: str, mark: str) -> str:
    """Return the first line with `mark`, with the next one if it ends in a colon; without such a line the last one."""
    rows = [row for row in said.splitlines() if row.strip()]
    first = next((nth for nth, row in enumerate(rows) if mark in row), len(rows) - 1)
    told = [row.strip().removeprefix("==ERROR==").strip() for row in rows[max(0, first) :][:2]]
    return plain(" ".join(told if told and told[0].endswith(":") else told[:1]))
