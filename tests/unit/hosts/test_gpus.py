"""What nvidia-smi, nvcc and ncu print on real boxes, on broken ones, and on hostile ones."""

import pytest
from hypothesis import given, strategies as st

from kpd.hosts.preflight import gpus
from kpd.hosts.preflight.gpus import GpuInfo
from kpd.text.foreign import plain
from tests.support.hosts.gpu_listings import B200, H100, NCU, NVCC

GB10 = (
    "0, GPU-aaaaaaaa-1111-2222-3333-444455556666, 0000000F:01:00.0, NVIDIA GB10, 12.1, [N/A], 580.95.05, "
    "Enabled, [N/A]\n"
)


def in_words(*found: GpuInfo) -> str:
    return gpus.listed((gpu.name, gpu.arch, gpu.memory_mib) for gpu in found)


def test_a_box_with_two_h100_one_of_them_split() -> None:
    found, other = gpus.gpus_of(H100)
    assert other == ""
    assert found[0] == GpuInfo(
        0, "GPU-4c2f1c9e-6b0e-5d0c-9b1a-0d3a7e6f1a01", "00000000:19:00.0", "NVIDIA H100 80GB HBM3", "sm_90", 81559,
        "580.95.05", persistence=True, mig=False,
    )  # fmt: skip
    assert [gpu.mig for gpu in found] == [False, True]
    assert gpus.usable(found, ()) == found[:1]
    assert in_words(*found) == "2 × NVIDIA H100 80GB HBM3 (sm_90, 80 GiB)"


def test_the_highest_clocks_are_those_that_the_driver_tells() -> None:
    (one, other), _ = gpus.gpus_of(H100)
    said = f"{one.uuid}, 1980, 2619\n{other.uuid}, [N/A], [N/A]\nGPU-ffffffff, 1, 2\nnonsense\n"
    assert [gpu.clocks for gpu in gpus.with_clocks((one, other), said)] == ["1980/2619", ""]
    assert gpus.with_clocks((one,), 'Field "clocks.max.sm" is not a valid field to query.') == (one,)


def test_architectures_of_two_digits_and_memory_that_is_not_told() -> None:
    (b200,), _ = gpus.gpus_of(B200)
    (gb10,), _ = gpus.gpus_of(GB10)
    assert (b200.arch, b200.persistence, b200.memory_mib) == ("sm_100", False, 183359)
    assert (gb10.arch, gb10.memory_mib, gb10.mig) == ("sm_121", 0, False)
    assert in_words(b200, gb10) == "NVIDIA B200 (sm_100, 179 GiB), NVIDIA GB10 (sm_121)"


@pytest.mark.parametrize(
    "said",
    [
        "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. Make sure that the latest "
        "NVIDIA driver is installed and running.",
        "Failed to initialize NVML: Driver/library version mismatch\nNVML library version: 580.95",
        "No devices were found",
    ],
)
def test_no_list_but_a_reason(said: str) -> None:
    found, other = gpus.gpus_of(said + "\n")
    assert found == ()
    assert other == said.splitlines()[0]


def test_a_lost_gpu_beside_one_that_works() -> None:
    lost = "Unable to determine the device handle for GPU1: 0000:3B:00.0: GPU is lost.  Reboot the system to recover"
    found, other = gpus.gpus_of(H100.splitlines()[0] + "\n" + lost)
    assert [gpu.index for gpu in found] == [0]
    assert "GPU is lost" in other


def test_gpus_are_chosen_by_index_or_uuid() -> None:
    found, _ = gpus.gpus_of(H100)
    assert gpus.chosen(found, ()) == (found, ())
    assert gpus.chosen(found, (1,)) == (found[1:], ())
    assert gpus.chosen(found, (found[1].uuid.upper(), 0)) == (found, ())
    assert gpus.chosen(found, (7, "0", "GPU-no")) == (found[:1], (7, "GPU-no"))
    assert gpus.usable(found, (1,)) == ()


def test_versions() -> None:
    assert gpus.cuda_of(NVCC) == "13.0"
    assert gpus.ncu_of(NCU) == "2025.3.1.0"
    assert gpus.cuda_of(NCU) == gpus.ncu_of(NVCC) == ""


@pytest.mark.parametrize(
    ("cuda", "arch", "first"),
    [
        ("11.7", "sm_90", "11.8"), ("11.8", "sm_90", ""), ("12.6", "sm_100", "12.8"), ("12.10", "sm_100", ""),
        ("13.0", "sm_999", ""), ("", "sm_90", ""), ("12.4", "", ""),
    ],
)  # fmt: skip
def test_a_toolkit_older_than_the_gpu(cuda: str, arch: str, first: str) -> None:
    assert gpus.too_old(cuda, arch) == first


@given(st.text(), st.integers(1, 60))
def test_a_line_is_one_and_harmless(text: str, most: int) -> None:
    line = plain(text, most)
    assert line.isprintable()
    assert len(line) <= most
    assert line == line.strip()


HOSTILE = st.text() | st.lists(
    st.sampled_from([*H100, ", ", "GPU-", "\x1b[2J", "9.0", "\n", "9" * 30]), max_size=40
).map("".join)


@given(HOSTILE)
def test_whatever_is_printed_the_facts_are_harmless(said: str) -> None:
    found, other = gpus.gpus_of(said)
    assert other.isprintable()
    for gpu in found:
        assert all(str(value).isprintable() for value in (gpu.uuid, gpu.pci, gpu.name, gpu.arch, gpu.driver))
        assert gpu.index < 1000 and gpu.memory_mib < 10**8
    assert len({gpu.uuid for gpu in found}) == len(found)
    assert gpus.cuda_of(said).isprintable() and gpus.ncu_of(said).isprintable()


def test_a_name_cannot_carry_control_characters_or_break_the_columns() -> None:
    said = "0, GPU-aaaaaaaa, 00000000:19:00.0, \x1b[31mred\u202e, 9.9, 1, x" + "n" * 500 + ", 9.0, 81559, 580, On, Off"
    (gpu,), other = gpus.gpus_of(said)
    assert other == ""
    assert gpu.name.startswith("[31mred , 9.9, 1, xnnn") and len(gpu.name) == 60
    assert (gpu.arch, gpu.memory_mib, gpu.driver) == ("sm_90", 81559, "580")
