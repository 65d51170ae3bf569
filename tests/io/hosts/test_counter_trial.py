"""The trial of ncu, on programs that stand in for NVIDIA's."""

import contextlib
import re
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import Any

import pytest
from hypothesis import given, strategies as st

from kpd.hosts.host import Host
from kpd.hosts.job import JobResult
from kpd.hosts.local import Local
from kpd.hosts.preflight import counter_trial, gpus
from kpd.hosts.preflight.counter_trial import CounterTrial, classify, try_counters
from tests.support.hosts.h100_box import BOTH, PERMITTED, facts
from tests.support.hosts.installs import Install, install, prints

__all__ = ["install"]  # the fixture


PROFILED = """==PROF== Connected to process 2213 (/root/jobs/x/kernel)
==PROF== Profiling "touch" - 0: 0%....50%....100% - 1 pass
==PROF== Disconnected from process 2213
"ID","Process ID","Process Name","Host Name","Kernel Name","Context","Stream","Block Size","Grid Size","Device","CC",\
"Section Name","Metric Name","Metric Unit","Metric Value"
"0","2213","kernel","127.0.0.1","touch(int *)","1","7","(32, 1, 1)","(1, 1, 1)","0","9.0",\
"Command line profiler metrics","smsp__inst_executed.sum","inst","1,032"
"""
DENIED = (
    "==PROF== Connected to process 2213 (/root/kernel)\n==ERROR== ERR_NVGPUCTRPERM - The user does not have permission "
    "to access NVIDIA GPU Performance Counters on the target device 0. For instructions on enabling permissions and to "
    "get more information see https://developer.nvidia.com/ERR_NVGPUCTRPERM\n"
)
BUSY = (
    "==PROF== Connected to process 2213\n==ERROR== An error was reported by the driver:\n\nProfiling failed because "
    "a driver resource was unavailable. Ensure that no other tool (like DCGM) is collecting profiling data.\n"
)


def result(said: str, rc: int = 0, reason: Any = "", stderr: str = "") -> JobResult:
    return JobResult("id", rc, said.encode(), stderr.encode(), 3.0, reason)


@pytest.mark.parametrize(
    ("done", "answer", "words"),
    [
        (result(PROFILED), "permitted", "reads the counters"),
        (result(DENIED, 1), "denied", "ERR_NVGPUCTRPERM"),
        (result("", 255, stderr=DENIED), "denied", "ERR_NVGPUCTRPERM"),
        (result(BUSY, 9), "taken", "another profiler"),
        (result(PROFILED.replace("1,032", "n/a")), "problem", "ncu reads no counters"),
        (result(PROFILED, 1), "problem", "ncu reads no counters"),
        (result("==ERROR== CUDA: no CUDA-capable device is detected", 1), "problem", "CUDA: no CUDA-capable device"),
        (result("==ERROR== An error was reported by the driver:\n\n    and this is it\n==PROF== end", 1), "problem",
         "An error was reported by the driver: and this is it"),
        (result("==ERROR== An error was reported by the driver:", 1), "problem", "was reported by the driver:"),
        (result("", 91, stderr="nvcc fatal\nkernel.cu(1): error: no host compiler\nlast"), "problem",
         "nvcc does not build a kernel: kernel.cu(1): error: no host compiler"),
        (result("", 127), "problem", "it ended with 127"),
        (result("half", -9, "timeout"), "problem", "cut off after 60 s"),
    ],
)  # fmt: skip
def test_what_ncu_says(done: JobResult, answer: str, words: str) -> None:
    tried = classify(done)
    assert tried.answer == answer
    assert words in tried.words


@given(st.binary(), st.integers(-15, 255))
def test_whatever_ncu_says_it_is_told_harmlessly(said: bytes, rc: int) -> None:
    assert classify(JobResult("id", rc, said, said, 0.0)).words.isprintable()


def test_the_trial_is_named_by_all_that_its_answer_depends_on() -> None:
    def id(gpu: gpus.GpuInfo = BOTH[0], **more: Any) -> str:
        spec = counter_trial.trial(facts(**more), gpu)
        assert spec is not None and spec.lease is not None and spec.lease.gpu and spec.lease.device == gpu.uuid
        return spec.id

    same = id()
    assert id(disk_free=7, rtt_s=9.0) == same
    others = {
        id(BOTH[1]), id(replace(BOTH[0], driver="1")), id(cuda="12"), id(ncu_version="1"), id(rights="uid 0"),
        id(nvcc="/else/nvcc"),
    }  # fmt: skip
    assert len(others - {same}) == 6
    assert counter_trial.trial(facts(ncu=""), BOTH[0]) is None
    assert counter_trial.trial(facts(nvcc=""), BOTH[0]) is None


@contextlib.asynccontextmanager
async def box(tmp_path: Path) -> AsyncIterator[Host]:
    host = Host("box", PurePosixPath(tmp_path / "host"), Local(), leases=str(tmp_path / "leases"))
    await host.connect()
    try:
        yield host
    finally:
        await host.close()


def stand_in(tmp_path: Path, install: Install, ncu_says: str, ends: int) -> dict[str, Any]:
    """An nvcc that needs a source with a kernel in it, and an ncu that notes each run."""
    install("nvidia-smi", "exit 0")
    nvcc = install("nvcc", 'grep -q __global__ kernel.cu && [ "$1" = -arch=sm_90 ] && : >kernel')
    runs = tmp_path / "runs"
    ncu = install("ncu", f'echo "$CUDA_VISIBLE_DEVICES $*" >>{runs}\n{prints(ncu_says)}\nexit {ends}')
    return {"nvcc": str(nvcc), "ncu": str(ncu)}


async def test_a_yes_or_a_no_is_tried_once(tmp_path: Path, install: Install) -> None:
    tools = stand_in(tmp_path, install, PROFILED, 0)
    async with box(tmp_path) as host:
        for _ in range(2):
            assert await try_counters(host, facts(**tools), (), 20.0) == PERMITTED
        assert await try_counters(host, facts(**tools, rights="other"), (), 20.0) == PERMITTED
        assert await try_counters(host, facts(**tools), (1,), 20.0) == PERMITTED
        assert await try_counters(host, facts(), (7,), 20.0) is None
    runs = (tmp_path / "runs").read_text().splitlines()
    assert [run.split()[0] for run in runs] == [BOTH[0].uuid, BOTH[0].uuid, BOTH[1].uuid]
    assert all(re.search(r"--clock-control none .*\./kernel$", run) for run in runs)


@pytest.mark.parametrize(("said", "answer"), [(BUSY, "taken"), ("==ERROR== out of memory", "problem")])
async def test_what_may_pass_is_tried_again(tmp_path: Path, install: Install, said: str, answer: str) -> None:
    tools = stand_in(tmp_path, install, said, 9)
    async with box(tmp_path) as host:
        tried = await try_counters(host, facts(**tools), (), 20.0)
        assert tried is not None and tried.answer == answer
        stand_in(tmp_path, install, DENIED, 1)
        tried = await try_counters(host, facts(**tools), (), 20.0)
        assert tried is not None and tried.answer == "denied"


async def test_a_trial_that_hangs_or_has_no_host_is_no_error(tmp_path: Path, install: Install) -> None:
    tools = stand_in(tmp_path, install, PROFILED, 0)
    install("ncu", f"[ -e {tmp_path}/go ] || sleep 60\n{prints(PROFILED)}")
    async with box(tmp_path) as host:
        tried = await try_counters(host, facts(**tools), (), 0.5)
        assert tried == CounterTrial("untried", "not tried: the GPU was not free within 0.5 s")
        (tmp_path / "go").touch()
        assert await try_counters(host, facts(**tools), (), 20.0) == PERMITTED
    tried = await try_counters(host, facts(**tools), (), 20.0)
    assert tried is not None and (tried.answer, "not connected" in tried.words) == ("untried", True)
