"""What was measured belongs to the device that it was measured of."""

import json
from dataclasses import replace

import pytest

from kpd.engine.peaks import Peaks, still_known, with_peaks
from kpd.model.codec import decode, encode
from kpd.model.hosts import Device, HostCard

CPU = Device("cpu", "cpu", "Xeon")
ONE, TWO = Device("GPU-1", "gpu", "H100", "sm_90"), Device("GPU-2", "gpu", "H100", "sm_90")
CARD = HostCard("lab", "ssh", device="Xeon", devices=(CPU, ONE, TWO))
GPU_PEAKS: Peaks = (2900.0, 52_000.0)
MEASURED = with_peaks(with_peaks(CARD, CPU, (20.0, 90.0)), TWO, GPU_PEAKS)


def test_a_gpu_and_the_cpu_of_one_host_have_their_own() -> None:
    assert (MEASURED.bandwidth_gbs, MEASURED.peak_gflops) == (20.0, 90.0)
    assert MEASURED.devices == (CPU, ONE, replace(TWO, bandwidth_gbs=2900.0, peak_gflops=52_000.0))


@pytest.mark.parametrize("device", [CPU, TWO])
def test_a_task_that_measures_no_device_takes_nothing_away(device: Device) -> None:
    assert with_peaks(MEASURED, device, (None, None)) == MEASURED


def test_what_is_still_there_when_the_host_is_probed_anew() -> None:
    assert still_known(CARD, MEASURED) == MEASURED
    assert still_known(CARD, None) == CARD
    other = replace(CARD, device="EPYC", devices=(CPU, ONE, replace(TWO, name="H200")))
    assert still_known(other, MEASURED) == other
    assert still_known(replace(CARD, devices=(CPU, ONE)), MEASURED).devices == (CPU, ONE)


def test_cards_of_older_logs_are_read() -> None:
    old = json.loads(encode(CARD))
    for device in old["devices"]:
        del device["bandwidth_gbs"], device["peak_gflops"]
    assert decode(json.dumps(old), HostCard) == CARD
    assert decode(encode(MEASURED), HostCard) == MEASURED
