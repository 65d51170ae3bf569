"""What a host says of itself: on this machine, with programs that stand in for NVIDIA's, and with bad ones."""

import getpass
import os
import shutil
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from kpd.hosts.errors import HostError
from kpd.hosts.job import JobSpec, LeaseRequest
from kpd.hosts.preflight import probe
from kpd.hosts.preflight.gpus import gpus_of
from kpd.measure.run_context import NICE, RunContext, command_context, timed_context, untimed_context
from kpd.model.hosts import Cpus, Device
from tests.places import DATA
from tests.support.hosts.gpu_listings import H100, NCU, NVCC
from tests.support.hosts.installs import HELPER, Install, install, prints
from tests.support.hosts.local import host_at, linux_only, names

__all__ = ["install"]

CPU = Device("cpu", "cpu", "Neoverse-V2")
GPU = Device("GPU-1", "gpu", "NVIDIA H100")


async def test_probing_this_machine(tmp_path: Path) -> None:
    async with host_at(tmp_path) as host:
        facts = await host.probe()
        assert names(host, "jobs") == []
    assert facts["system"] == os.uname().sysname and facts["cpu"]
    assert facts["python"] == ".".join(map(str, sys.version_info[:3]))
    assert abs(facts["clock"] - time.time()) < 60 and facts["disk_free"] > 0
    assert abs(facts["skew_s"]) < 60 and facts["rtt_s"] >= 0
    assert set(facts["compilers"]) == {name for name in probe.COMPILERS if shutil.which(name)}
    assert all(any(char.isdigit() for char in version) for version in facts["compilers"].values())
    if sys.platform == "linux":
        assert probe.measuring_cpu(facts) == max(os.sched_getaffinity(0))
        assert f"uid {os.getuid()}\n" in facts["rights"] and "\nboot " in facts["rights"]


async def test_a_gpu_box_with_its_tools_on_the_path(tmp_path: Path, install: Install) -> None:
    asked = tmp_path / "asked"
    clocks = "GPU-4c2f1c9e-6b0e-5d0c-9b1a-0d3a7e6f1a01, 1980, 2619\n"
    listed = f'case "$1" in *clocks*)\n{prints(clocks)}\n;; *)\n{prints(H100)}\nesac'
    install("nvidia-smi", f'echo "$@" >>{asked}\n{listed}')
    nvcc = install("nvcc", f'[ "$*" = --version ] && {prints(NVCC)}')
    ncu = install("ncu", prints(NCU))
    async with host_at(tmp_path / "host") as host:
        facts = await host.probe()
    assert sorted(asked.read_text().splitlines()) == sorted((probe.gpus.QUERY, probe.gpus.CLOCKS))
    assert [(gpu.arch, gpu.clocks) for gpu in facts["gpus"]] == [("sm_90", "1980/2619"), ("sm_90", "")]
    assert (facts["driver"], facts["gpu_trouble"]) == ("580.95.05", "")
    assert (facts["nvcc"], facts["cuda"]) == (str(nvcc), "13.0")
    assert (facts["ncu"], facts["ncu_version"]) == (str(ncu), "2025.3.1.0")


async def test_cuda_home_goes_before_the_path(
    tmp_path: Path, install: Install, monkeypatch: pytest.MonkeyPatch
) -> None:
    install("nvcc", prints(NVCC))
    home = tmp_path / "it's a $(exit 1) folder"
    install(f"../{home.name}/bin/nvcc", prints(NVCC.replace("13.0", "12.8")))
    monkeypatch.setenv("HOME", str(tmp_path))
    async with host_at(tmp_path / "host") as host:
        for given_home in (str(home), home.name, f"~/{home.name}"):
            host.cuda_home = given_home
            facts = await host.probe()
            assert (facts["nvcc"], facts["cuda"]) == (f"{home}/bin/nvcc", "12.8")
        assert names(host, "jobs") == []


@linux_only
@pytest.mark.parametrize(
    ("make", "wrong"),
    [
        (lambda path: path.mkdir(), ""),
        (lambda path: None, ""),
        (lambda path: path.touch(), f"is not a folder: it is {getpass.getuser()}'s"),
        (lambda path: path.symlink_to("/tmp"), "is a symbolic link"),
        (lambda path: path.parent.rmdir(), "is not there and cannot be made"),
    ],
)
async def test_the_folder_of_locks(tmp_path: Path, make: Callable[[Path], None], wrong: str) -> None:
    leases = tmp_path / "a b" / "leases"
    leases.parent.mkdir()
    make(leases)
    assert probe.facts(HELPER, await ran(tmp_path, probe.script("", str(leases))))["leases"] == wrong
    assert probe.facts(HELPER, await ran(tmp_path, probe.script()))["leases"] is None


@linux_only
@pytest.mark.parametrize(
    ("cgroup", "outlives"),
    [
        ("0::/user.slice/user-1000.slice/session-3.scope", False),
        ("12:pids:/\n1:name=systemd:/user.slice/user-1000.slice/session-c1.scope", False),
        ("0::/user.slice/user-1000.slice/user@1000.service/app.slice/kpd.service", None),
        ("0::/system.slice/sshd.service", None),
    ],
)
async def test_logind_is_asked_about_its_own_sessions(
    tmp_path: Path, install: Install, cgroup: str, outlives: bool | None
) -> None:
    (tmp_path / "cgroup").write_text(f"{cgroup}\n")
    install("id", 'case "$1" in -un) echo me;; *) echo 1000;; esac')
    install("busctl", f"[ $# = 7 ] && {prints(LOGIND)}")
    said = await ran(tmp_path, probe.script().replace("/proc/self/cgroup", str(tmp_path / "cgroup")))
    assert probe.facts(HELPER, said)["outlives"] is outlives


async def ran(root: Path, script: str) -> str:
    async with host_at(root / "host") as host:
        done = await host.job(JobSpec(f"probe-{time.time_ns()}", script, probe.LIMIT_S))
        return done.stdout.decode()


LOGIND = 'b true\nas 0\nas 1 "root"'
SAID = """== cpu 0
 Neoverse-V2

== gcc 0
 gcc (Debian) 12.2.0
 Copyright

== cc 127
 cc: not found

== clang 0
 clang version 14

== paranoid 0
 2
"""


def test_sections_become_facts() -> None:
    facts = probe.facts(HELPER, SAID, 3.5, 0.012)
    assert facts["compilers"] == {"gcc": "gcc (Debian) 12.2.0", "clang": "clang version 14"}
    assert (facts["cpu"], probe.measuring_cpu(facts)) == ("Neoverse-V2", 7)
    assert facts["counters"] == "no hardware counters: perf is not installed"
    assert (facts["skew_s"], facts["rtt_s"]) == (3.5, 0.012)
    assert (facts["gpus"], facts["gpu_trouble"], facts["nvcc"], facts["ncu"]) == ((), "", "", "")


@pytest.mark.parametrize(
    ("cpus", "cores", "gpus", "spare"),
    [
        (range(2), "", 0, (0,)),
        (range(2), "0 1", 0, (0,)),
        (range(2), "0-1", 0, ()),
        (range(1), "0", 0, ()),
        ((3, 5, 7), "0-1 2-3 4-5 6-7", 0, (3, 5)),
        (range(8), "0,4 1,5 2,6 3,7", 0, (0, 1, 2, 4, 5, 6)),
        (range(8), "", 1, (0, 1, 2, 3, 4, 5)),
        (range(8), "0,4 1,5 2,6 3,7", 1, (0, 1, 2, 4, 5)),
        (range(16), "", 8, tuple(range(8))),
        (range(2), "", 1, (0,)),
        (range(1), "", 1, ()),
        (range(4), "no such file", 0, (0, 1, 2)),
    ],
)
def test_what_builds_leave_alone(cpus: Sequence[int], cores: str, gpus: int, spare: tuple[int, ...]) -> None:
    """The CPU that is timed on, the other threads of its core, and what timing on GPUs needs."""
    section = "".join(f" {core}\n" for core in cores.split(" "))
    facts = probe.facts({**HELPER, "cpus": list(cpus), "pinning": True}, f"== cores 0\n{section}")
    facts["gpus"] = gpus_of(H100)[0][:1] * gpus
    assert probe.spare_cpus(facts) == spare
    measuring, building = timed_context(facts, CPU), untimed_context(facts, CPU)
    assert measuring == RunContext((cpus[-1],), LeaseRequest("cpu"))
    assert building == (RunContext(spare, nice=NICE) if spare else RunContext(lease=LeaseRequest("cpu"))), (
        "else it waits for its lease"
    )
    assert timed_context(facts, GPU) == RunContext((), LeaseRequest("GPU-1", gpu=True))


@pytest.mark.parametrize(("cpus", "pinned"), [("", ()), ("all", ()), (1, (3,)), (3, (1, 2, 3)), (4, (0, 1, 2, 3))])
def test_a_command_has_as_many_cpus_as_its_task_says(cpus: Cpus, pinned: tuple[int, ...]) -> None:
    facts = probe.facts({**HELPER, "cpus": [0, 1, 2, 3], "pinning": True}, "")
    assert command_context(facts, CPU, cpus) == RunContext(pinned, LeaseRequest("cpu"))
    assert command_context(facts, GPU, cpus) == RunContext(pinned, LeaseRequest("GPU-1", gpu=True))


def test_a_command_that_needs_more_cpus_than_there_are_is_refused() -> None:
    facts = probe.facts({**HELPER, "cpus": [0, 1, 2, 3], "pinning": True}, "")
    with pytest.raises(HostError, match="needs 5 CPUs, and its jobs may use 4 here"):
        command_context(facts, CPU, 5)


def test_nothing_is_beside_where_nothing_can_be_pinned() -> None:
    facts = probe.facts({**HELPER, "pinning": False}, "")
    assert probe.spare_cpus(facts) == ()
    assert untimed_context(facts, CPU) == timed_context(facts, CPU) == RunContext(lease=LeaseRequest("cpu"))


def test_a_bare_machine() -> None:
    facts = probe.facts({**HELPER, "system": "Darwin", "pinning": False}, "")
    assert probe.measuring_cpu(facts) is None and facts["cpu"] == "aarch64"
    assert facts["counters"] == "no hardware counters: perf stat does not exist on Darwin"


@pytest.mark.parametrize(
    ("rights", "open"),
    [
        ("uid 1000\n caps 0000000000000000\n admin_only 1\n boot x", False),
        ("uid 1000\n caps 0000000000000000\n admin_only 0", True),
        ("uid 0\n caps 000001ffffffffff\n admin_only 1", True),
        ("uid 0\n caps 00000000a80425fb\n admin_only 1", False),  # root of a container
        ("uid 0\n admin_only 1", True),
        ("uid 1000\n caps 0000000000000000", None),
        ("", None),
        ("uid 0\n caps zz\n admin_only yes", None),
    ],
)
def test_who_may_read_gpu_counters(rights: str, open: bool | None) -> None:
    assert probe.facts(HELPER, f"== rights 0\n {rights}\n\n")["counters_open"] is open


@pytest.mark.parametrize(
    ("said", "outlives"),
    [
        ('me\n b false\n as 0\n as 1 "root"', True),
        ('me\n b true\n as 0\n as 1 "root"', False),
        ('root\n b true\n as 0\n as 1 "root"', True),
        ('me\n b true\n as 0\n as 2 "root" "me"', True),
        ('me\n b true\n as 1 "you"\n as 0', True),
        ('me\n b true\n as 2 "you" "me"\n as 0', False),
        ("me\n Failed to get property KillUserProcesses", None),
        ("me\n b true", None),
        ("", None),
    ],
)
def test_what_logind_ends_with_a_login(said: str, outlives: bool | None) -> None:
    assert probe.facts(HELPER, f"== logind 0\n {said}\n\n")["outlives"] is outlives


@pytest.mark.parametrize(
    ("section", "trouble"),
    [
        ("== gpus 0\n \n", "nvidia-smi ended with 0 and said nothing"),
        ("== gpus hangs\n", "nvidia-smi does not answer within 15 s"),
        ("== gpus 9\n NVIDIA-SMI has failed\x1b[31m because\n", "NVIDIA-SMI has failed [31m because"),
    ],
)
def test_a_driver_that_does_not_list_its_gpus(section: str, trouble: str) -> None:
    facts = probe.facts(HELPER, section)
    assert (facts["gpus"], facts["gpu_trouble"]) == ((), trouble)


@given(st.text() | st.lists(st.sampled_from(["== gpus 0", "\n", " ", "==", "nvcc", "/a/b", "x", "\x1b"])).map("".join))
def test_whatever_is_said_there_are_facts(said: str) -> None:
    facts = probe.facts(HELPER, said)
    for text in (facts["cpu"], facts["gpu_trouble"], facts["counters"], facts["nvcc"], facts["ncu"], facts["cuda"]):
        assert text.isprintable()
    assert all(version.isprintable() for version in facts["compilers"].values())


@given(st.dictionaries(st.sampled_from(["cpu", "gcc", "gpus", "nvcc"]), st.text(), min_size=1))
def test_no_output_passes_for_another_section(texts: dict[str, str]) -> None:
    """As sed writes them: each line behind a blank, and an empty line at the end."""
    said = "".join(
        f"== {name} 0\n" + "".join(f" {row}\n" for row in text.split("\n")) + "\n" for name, text in texts.items()
    )
    found = probe.sections(said)
    assert {name: section.text for name, section in found.items()} == {name: t.strip() for name, t in texts.items()}


@pytest.mark.parametrize(
    ("said", "what", "words"),
    [
        (
            "812345,,cycles:u,9,100.00,,\n99,,instructions:u,9,100.00,,\n7,,cache-misses:u,9,100.00,,",
            "counts",
            "counts cycles",
        ),
        (
            "812345,,cycles,9,100.00,,\n99,,instructions,9,100,,\n<not supported>,,cache-misses,0,100,,",
            "counts",
            "counts only",
        ),
        (
            "<not supported>,,cycles,0,100.00,,\n<not supported>,,instructions,0,100.00,,",
            "unsupported",
            "does not support them",
        ),
        ("Error:\nAccess to performance monitoring is limited.", "denied", "kernel.perf_event_paranoid = 4"),
    ],
)
def test_what_perf_stat_says(said: str, what: str, words: str) -> None:
    answer = probe.counters_of("Linux", said, "4")
    assert answer[0] == what and words in answer[1]


RECORDED = DATA / "hosts" / "h100_probe.txt"


def test_what_a_real_h100_said() -> None:
    """Recorded by benchmarks/gpu_host.py on an NVIDIA H100 80GB HBM3; docs/figures/gpu_host.json has the rest."""
    facts = probe.facts(HELPER, RECORDED.read_text())
    (gpu,) = facts["gpus"]
    assert (gpu.name, gpu.arch, gpu.pci) == ("NVIDIA H100 80GB HBM3", "sm_90", "00000000:00:06.0")
    assert gpu.uuid == "GPU-676fe257-081c-a0b9-f335-5b2ab9f950db" and gpu.memory_mib == 81559
    assert (facts["driver"], facts["cuda"], facts["nvcc"]) == ("580.159.04", "13.0", "/usr/local/cuda/bin/nvcc")
    assert facts["ncu_version"] == "2025.3.1.0" and facts["counters_open"] is True
    assert facts["gpu_trouble"] == ""
