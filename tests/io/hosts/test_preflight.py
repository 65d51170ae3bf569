"""What a host's preflight concludes from facts."""

from dataclasses import replace
from typing import Any

import pytest

from kpd.hosts.errors import HostError, HostKey, UnknownHostKey
from kpd.hosts.preflight import gpus
from kpd.hosts.preflight.cards import devices, down_card, host_card
from kpd.hosts.preflight.checks import checks
from kpd.hosts.preflight.counter_trial import CounterTrial
from kpd.model.hosts import Check, Confinement
from kpd.workspace.host_tables import HostConfig
from tests.support.hosts.gpu_listings import B200, H100
from tests.support.hosts.h100_box import BOTH, PERMITTED, SSH, facts


def check(name: str, config: HostConfig = SSH, tried: CounterTrial | None = PERMITTED, **more: Any) -> Check:
    return next(each for each in checks(facts(**more), config, tried) if each.name == name)


def test_a_box_on_which_all_is_well() -> None:
    found = checks(facts(), SSH, PERMITTED)
    assert [(each.name, each.state) for each in found] == [
        (name, "ok")
        for name in ("link", "python", "disk", "clock", "compiler", "disassembler", "sandbox", "gpu", "nvcc",
                     "ncu", "cpu counters", "gpu counters", "logout", "leases")
    ]  # fmt: skip
    words = {each.name: each.found for each in found}
    assert words["link"] == "ssh to me@box, 12.0 ms there and back"
    assert words["gpu"] == "2 × NVIDIA H100 80GB HBM3 (sm_90, 80 GiB); driver 580.95.05"
    assert words["nvcc"] == "CUDA 13.0, /usr/local/cuda/bin/nvcc"
    assert words["disk"] == "200.0 GiB free"


def test_what_confines_jobs_is_told() -> None:
    def of(system: str = "Linux", **more: Any) -> Check:
        return check("sandbox", system=system, confinement=Confinement(**more))

    all_of_it = (
        "candidates read the system's files and their own, and write in their own folder; "
        "builds open no TCP connection; builds signal no process outside; "
        "kernels start no program and open no connection"
    )
    six, bubblewrap = of(landlock=6, filtered=True), of(bubblewrap=True, filtered=True)
    assert six == Check("sandbox", "ok", f"Landlock 6, system calls filtered; {all_of_it}")
    assert bubblewrap == Check("sandbox", "ok", f"bubblewrap, system calls filtered; {all_of_it}")
    five = of(landlock=5, filtered=True).found
    assert "but a build could signal other" in five and "signal no process" not in five and "no TCP" in five
    lacking = [of(landlock=version, filtered=True).found.count("; but ") for version in (1, 2, 3, 4, 5, 6)]
    assert lacking == [3, 3, 2, 1, 1, 0]
    assert "no TCP" not in of(landlock=3, filtered=True).found
    bare = of(filtered=True)
    assert bare.state == "bad" and "read the files" in bare.found and "change" not in bare.found
    assert "kernels write no file" in bare.found and "a user of its own" in bare.remedy
    assert "install bubblewrap" in bare.remedy
    assert of().found.endswith("and change them") and of(landlock=7).state == "bad"
    assert of("Darwin").state == "off"


def test_a_host_without_a_disassembler_is_told_what_it_lacks() -> None:
    assert check("disassembler").state == "ok"
    assert "binutils" in check("disassembler", disassemblers=("cuobjdump",)).remedy
    assert "cuobjdump" in check("disassembler", disassemblers=("objdump",)).found
    assert check("disassembler", disassemblers=("llvm-objdump",), gpus=()).state == "ok"
    assert check("disassembler", disassemblers=(), system="Darwin").state == "off"


def test_a_machine_without_a_gpu_needs_nothing_of_nvidia() -> None:
    bare = {"gpus": (), "driver": "", "nvcc": "", "cuda": "", "ncu": "", "ncu_version": ""}
    states = {each.name: each.state for each in checks(facts(**bare), HostConfig())}
    assert {states[name] for name in ("gpu", "nvcc", "ncu", "gpu counters")} == {"off"}
    assert check("nvcc", gpus=()).state == "ok"  # it harms nobody
    assert check("link", HostConfig()).found.startswith("this machine, ")


def test_who_logs_in_nowhere_or_where_nothing_ends_with_a_login_needs_no_leave_of_logind() -> None:
    for found in (checks(facts(outlives=False), HostConfig()), checks(facts(outlives=None), SSH)):
        assert "logout" not in [each.name for each in found]


@pytest.mark.parametrize(
    ("name", "more", "found", "remedy"),
    [
        ("disk", {"disk_free": (1 << 30) - 1}, "1.0 GiB free", "free at least 1 GiB"),
        ("clock", {"skew_s": 3602.0}, "3602 s ahead of this machine's", "timedatectl"),
        ("clock", {"skew_s": -2.2}, "2 s behind this machine's", "measurements are not affected"),
        ("compiler", {"compilers": {}}, "no gcc", "sudo apt install gcc"),
        ("compiler", {"compilers": {}, "system": "Darwin"}, "no gcc", "xcode-select --install"),
        ("gpu", {"gpus": (), "gpu_trouble": "Failed to initialize NVML: Driver/library version mismatch"},
         "version mismatch", "sudo reboot"),
        ("gpu", {"gpus": (), "gpu_trouble": "something new"}, "something new", "run nvidia-smi"),
        ("nvcc", {"nvcc": "", "cuda": ""}, "no nvcc", "cuda_home"),
        ("nvcc", {"cuda": ""}, "does not say its version", "--version"),
        ("nvcc", {"cuda": "11.7"}, "too old for sm_90", "install CUDA 11.8 or later"),
        ("nvcc", {"gpus": gpus.gpus_of(B200)[0], "cuda": "12.6"}, "too old for sm_100", "install CUDA 12.8 or later"),
        ("ncu", {"ncu": "", "ncu_version": ""}, "are not profiled", "Nsight Compute"),
        ("ncu", {"ncu_version": ""}, "does not say its version", "--version"),
        ("cpu counters", {"gpus": (), "perf": "absent", "counters": "perf is not installed"},
         "not installed", "linux-perf"),
        ("cpu counters", {"gpus": (), "perf": "denied", "counters": "perf stat is not permitted (4)"},
         "not permitted", "sudo sysctl kernel.perf_event_paranoid=2"),
        ("logout", {"outlives": False}, "KillUserProcesses=yes", "systemctl restart systemd-logind"),
        ("leases", {"leases": "is not a folder", "config": replace(SSH, leases="/locks")}, "/locks is not a folder",
         "sudo install -d -m 1777"),
    ],
)  # fmt: skip
def test_what_is_bad_comes_with_what_helps(name: str, more: dict[str, Any], found: str, remedy: str) -> None:
    bad = check(name, **more)
    assert bad.state == "bad"
    assert found in bad.found
    assert remedy in bad.remedy
    assert "\n" not in bad.remedy


def test_a_spoilt_shared_folder_of_leases_is_told_but_stops_nothing() -> None:
    found = check("leases", leases="is not a folder: it is anna's")
    assert found.state == "off"
    assert found.found.startswith("/tmp/kpd-leases is not a folder: it is anna's: this user's own leases are used")
    assert "sudo install -d -m 1777 /tmp/kpd-leases" in found.remedy


def test_what_nobody_can_change_is_not_bad() -> None:
    assert (
        check(
            "cpu counters", perf="unsupported", counters="perf stat runs, but this machine does not support them"
        ).state
        == "off"
    )
    for perf, counters in (("absent", "perf is not installed"), ("denied", "perf stat is not permitted (4)")):
        found = check("cpu counters", perf=perf, counters=counters)
        assert (found.state, found.found) == ("off", f"{counters}; kernels on a GPU do not need them")
    assert check("clock", skew_s=2.4, rtt_s=1.0).state == "ok"  # within what a slow link leaves open


def test_gpus_that_config_chooses() -> None:
    second = replace(SSH, gpus=(1,))
    assert [device.id for device in devices(facts(), SSH)] == ["cpu", *(gpu.uuid for gpu in BOTH)]
    (cpu, gpu) = devices(facts(), second)
    assert (cpu.kind, cpu.name, cpu.arch) == ("cpu", "AMD EPYC 9554", "aarch64")
    assert (gpu.id, gpu.kind, gpu.arch, gpu.memory_mib) == (BOTH[1].uuid, "gpu", "sm_90", 81559)
    assert gpu.pci == "00000000:3B:00.0"
    assert check("gpu", second).found.startswith("1 of 2: NVIDIA H100")
    missing = check("gpu", replace(SSH, gpus=(1, 7, "GPU-x")))
    assert (missing.state, missing.found) == ("bad", "no GPU 7, GPU-x on this host; there: 0, 1")
    assert "correct gpus in config.toml" in missing.remedy
    assert check("gpu", second, gpus=()).found == "no GPU 1 on this host; there: none"


def test_a_gpu_that_mig_has_split_is_no_device() -> None:
    found, _ = gpus.gpus_of(H100)
    assert [device.id for device in devices(facts(gpus=found), SSH)] == ["cpu", found[0].uuid]
    some = check("gpu", gpus=found)
    assert (some.state, some.found) == (
        "ok", "1 of 2: NVIDIA H100 80GB HBM3 (sm_90, 80 GiB); GPU 1 is split by MIG and left out; driver 580.95.05",
    )  # fmt: skip
    for config, there in ((replace(SSH, gpus=(1,)), found), (SSH, found[1:])):
        bad = check("gpu", config, gpus=there)
        assert (bad.state, "sudo nvidia-smi -i 1 -mig 0" in bad.remedy) == ("bad", True)


def test_nvcc_that_is_not_where_config_says() -> None:
    assert check("nvcc", replace(SSH, cuda_home="/usr/local/cuda/")).state == "ok"
    elsewhere = check("nvcc", replace(SSH, cuda_home="/opt/cuda-12"))
    assert (elsewhere.state, "none in /opt/cuda-12" in elsewhere.found) == ("bad", True)
    assert check("nvcc", replace(SSH, cuda_home="/opt/cuda-12"), gpus=(), nvcc="", cuda="").state == "bad"
    assert check("nvcc", replace(SSH, cuda_home="~/cuda"), nvcc="/home/me/cuda/bin/nvcc").state == "ok"


@pytest.mark.parametrize(
    ("tried", "open", "rights", "state", "words"),
    [
        (None, True, "uid 0\n", "ok", "the driver permits them"),
        (None, None, "", "ok", "ncu was not tried"),
        (None, False, "uid 1000\ncaps 0", "bad", "NVreg_RestrictProfilingToAdminUsers=0"),
        (None, False, "uid 0\ncaps 0", "bad", "--cap-add SYS_ADMIN"),
        (PERMITTED, False, "uid 1000\n", "ok", "reads the counters"),
        (CounterTrial("denied", "ERR_NVGPUCTRPERM"), False, "uid 1000\n", "bad", "sudo tee /etc/modprobe.d/kpd.conf"),
        (CounterTrial("denied", "ERR_NVGPUCTRPERM"), True, "uid 1000\n", "bad", "virtual machine"),
        (CounterTrial("taken", "another profiler"), True, "", "bad", "dcgmi profile --pause"),
        (CounterTrial("problem", "ncu reads no counters"), True, "", "bad", "run ncu there"),
        (CounterTrial("untried", "not tried: the GPU was not free"), True, "", "ok", "was not free"),
        (CounterTrial("untried", "not tried: the GPU was not free"), False, "uid 1\n", "bad", "NVreg"),
    ],
)
def test_gpu_counters(tried: CounterTrial | None, open: bool | None, rights: str, state: str, words: str) -> None:
    found = check("gpu counters", tried=tried, counters_open=open, rights=rights)
    assert found.state == state
    assert words in f"{found.found} {found.remedy}"


def test_the_card_of_a_host_that_answers_and_of_one_that_does_not() -> None:
    card = host_card("box", SSH, facts(), PERMITTED)
    assert (card.link, card.system, card.device, card.cpu) == ("up", "Linux 6.1 aarch64", "AMD EPYC 9554", 7)
    assert (card.address, card.rtt_ms, card.error, len(card.devices)) == ("me@box", 12.0, "", 3)
    assert host_card("box", SSH, facts(compilers={})).error == "no C compiler; install gcc or clang on the host"
    down = down_card("box", SSH, HostError("unreachable", "box: no\x1b[2J answer", "look\nthere"), card)
    assert (down.link, down.trouble, down.rtt_ms, down.offered) == ("down", "unreachable", None, "")
    assert (down.devices, down.device) == (card.devices, card.device)
    assert down.checks == (Check("link", "bad", "no [2J answer", "look there"),)
    assert down.error == "no [2J answer; look there"


def test_the_card_of_a_host_whose_key_nobody_knows() -> None:
    error = UnknownHostKey("box: the host's key is unknown", HostKey("box", "ssh-ed25519 AAAA", "SHA256:abc"))
    card = down_card("box", SSH, error)
    assert (card.trouble, card.offered, card.address) == ("host_key", "SHA256:abc", "me@box")
    assert card.checks[0].remedy == "compare SHA256:abc with the host's own, then kpd hosts trust box"
