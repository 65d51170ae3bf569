"""Renders kinds of devices, and what a run has found on those that it has left."""

from collections.abc import Iterator

from kpd.model.headline import headline, on_former
from kpd.model.hosts import DeviceKind
from kpd.model.run import Run
from kpd.text.foreign import plain
from kpd.text.headlines import headline as told


def device_kind(kind: DeviceKind) -> str:
    """Name a kind: `NVIDIA H100 80GB HBM3 (driver 580.95.05, 1980/2619 MHz)`."""
    facts = (f"driver {plain(kind.driver)}" if kind.driver else "", f"{plain(kind.clocks)} MHz" if kind.clocks else "")
    known = ", ".join(filter(None, facts))
    return f"{plain(kind.name)} ({known})" if known else plain(kind.name)


def formerly(run: Run) -> Iterator[str]:
    """Say what was found on each kind of device that the run was on before, in comparison with the baseline there."""
    for former in run.former:
        if former.incumbent is None:
            yield f"on {device_kind(former.kind)} not even the baseline was measured"
            continue
        found = headline(on_former(run, former))
        best = f"iteration {found.of} was the best, {told(found)}" if found is not None else "nothing was faster"
        yield f"on {device_kind(former.kind)} {best}, over the baseline there"
