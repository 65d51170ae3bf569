"""Puts measured peaks of devices on the host's card: per GPU, and for the CPU on the host."""

from dataclasses import replace

from kpd.model.hosts import Device, HostCard

Peaks = tuple[float | None, float | None]
"""Bandwidth in GB/s and arithmetic in GFLOP/s, where they are known."""


def with_peaks(card: HostCard, device: Device, peaks: Peaks) -> HostCard:
    """Return the card with a device's measured peaks; a task that measured none leaves the card as it is."""
    if peaks == (None, None):
        return card
    bandwidth_gbs, peak_gflops = peaks
    if device.kind == "cpu":
        return replace(card, bandwidth_gbs=bandwidth_gbs, peak_gflops=peak_gflops)
    devices = tuple(
        replace(one, bandwidth_gbs=bandwidth_gbs, peak_gflops=peak_gflops) if one.id == device.id else one
        for one in card.devices
    )
    return replace(card, devices=devices)


def still_known(card: HostCard, before: HostCard | None) -> HostCard:
    """Return the card of a host probed anew, with the known peaks of those devices that it still has."""
    if before is None:
        return card
    if before.device == card.device:
        card = replace(card, bandwidth_gbs=before.bandwidth_gbs, peak_gflops=before.peak_gflops)
    for device in before.devices:
        if any((one.id, one.name, one.kind) == (device.id, device.name, "gpu") for one in card.devices):
            card = with_peaks(card, device, (device.bandwidth_gbs, device.peak_gflops))
    return card
