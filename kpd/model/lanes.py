"""Tells what a run does in each of its lanes: the iteration under way, what it waits for, whether it measures."""

from kpd.model.hosts import DeviceRef
from kpd.model.iteration import Iteration
from kpd.model.run import Run
from kpd.model.status import Ended, Paused
from kpd.model.waits import ForAllocation, HostTrouble, Wait


def first_lane(run: Run) -> int:
    """Return the lane that does what concerns the whole run."""
    return next(iter(run.lanes), 0)


def lane_of(run: Run, it: Iteration) -> int:
    """Return the lane of an iteration; the first goes on with those of a lane whose device is gone."""
    here = run.lanes
    return it.lane if it.lane in here or not here else first_lane(run)


def current_in(run: Run, lane: int) -> Iteration | None:
    """Return the iteration under way in a lane, the oldest where one of a lane that is gone is there, too."""
    return next((it for it in run.open if lane_of(run, it) == lane), None)


def place_in(run: Run, lane: int) -> DeviceRef:
    """Return a lane's device, with empty names before the run has begun, and where there is no such lane."""
    return run.lanes.get(lane, ("", "")) if run.started is not None else ("", "")


def lanes_on(run: Run, place: DeviceRef) -> list[int]:
    """Return the lanes on a device: that which measures there first, then that which has an iteration under way."""
    lanes = [lane for lane, device in run.lanes.items() if device == place]
    return sorted(lanes, key=lambda lane: (not measures_in(run, lane), current_in(run, lane) is None))


def measures_in(run: Run, lane: int) -> bool:
    """Return whether it measures on the device of this lane now, unless the queue is held.

    A run that waits for the device or its lease does not.
    """
    if not run.begun or waits_in(run, lane) or (isinstance(run.status, Paused) and run.status.infra):
        return False
    it = current_in(run, lane)
    now = it.under_way if it is not None else None
    return now is not None and now.use == "measures"


def waits_in(run: Run, lane: int) -> Wait | None:
    """Return what the run waits for in a lane. In the first one that is also what the whole run waits for."""
    return run.lane_waits.get(lane) if lane else None if isinstance(run.status, Ended) else run.status.wait


def wait_of(run: Run, it: Iteration) -> Wait | None:
    """Return what an iteration under way waits for: its lane's own wait, or the host that it has from the first."""
    whole = run.waiting if isinstance(run.waiting, HostTrouble | ForAllocation) and it.host == run.host else None
    return waits_in(run, lane_of(run, it)) or whole
