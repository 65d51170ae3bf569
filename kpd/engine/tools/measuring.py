"""Tools that measure: the trials of an agent in its session."""

from typing import Annotated, Any

from msgspec import Meta

from kpd.agents.agent import BadReply, Proposal
from kpd.engine import trials
from kpd.engine.attempt import CandidateFailed
from kpd.engine.proposing import usable
from kpd.engine.tools.desk import Desk, Workplace
from kpd.engine.tools.tool import Answer
from kpd.engine.trials import MOST_PROCESSES, PROCESSES, Spent, TrialProfile, Wish
from kpd.model.trials import Tried
from kpd.operations.operation import Refused
from kpd.text import trials as told
from kpd.text.faults import fault
from kpd.workspace.paths import OutsideFolder, inside
from kpd.workspace.run_files import read_plain

Processes = Annotated[
    int, Meta(ge=2, le=MOST_PROCESSES, description="fresh processes to time in; more narrow the interval")
]
WithProfile = Annotated[bool, Meta(description="also collect counters, and the rules that fire on them")]
FINISH = "end your turn: kpd then measures what lies in the tree"


async def measure(desk: Desk, processes: Processes = PROCESSES, profile: WithProfile = False) -> Answer:
    """Measure the tree as it stands: build it, check its results, time it in pairs against the incumbent.

    It costs one of your trials, and seconds on the device. A trial decides nothing: only the full measurement of what
    lies in the tree at the end of your turn counts. Times are in microseconds a call; a gain is in percent of the
    incumbent's time, with its 95 % interval.
    """
    place = workplace(desk)
    async with place.measuring:
        return await _tried(place, candidate(place), Wish(processes, profile))


async def _tried(place: Workplace, files: dict[str, bytes], wish: Wish) -> Answer:
    try:
        tried, profiled = await trials.measure_trial(place.attempt, files, wish, place.budget)
    except Spent as err:
        raise Refused(str(err), FINISH) from err
    left = trials.left(place.attempt, place.budget)
    text = "\n".join([told.tried(tried), *_profile_lines(profiled), told.left(left)])
    return {"text": text, "trial": trial_json(tried), "profile": profiled, "left": left}


def trial_json(tried: Tried) -> dict[str, Any]:
    """Return a trial's data with their units in the names, as agents get it."""
    return {
        "trial": tried.trial, "end": tried.end, "against": tried.against, "device_s": tried.device_s,
        "gain_pct": tried.gain, "processes": tried.processes, "cases_us": tried.cases, "fault": tried.fault,
        "trouble": tried.trouble, "flags": tried.flags, "is_trial": True,
    }  # fmt: skip


def _profile_lines(profiled: TrialProfile | None) -> list[str]:
    if profiled is None:
        return []
    found = [f"[{one.rule}] {one.severity}: {one.message} → {one.action}" for one in profiled.findings]
    return [f"bottleneck: {profiled.bottleneck}", *found]


def workplace(desk: Desk) -> Workplace:
    """Return where the agent of a session works. Raises Refused outside of sessions."""
    if desk.session is None:
        raise Refused("only an agent in a session of kpd can measure", "kpd run TASK --agent NAME starts one")
    return desk.session


def candidate(place: Workplace) -> dict[str, bytes]:
    """Read all files of the candidate that lies in the tree now. Raises Refused."""
    try:
        found = {}
        for name in place.attempt.task.editable:
            path = inside(place.tree, name)
            if path.exists():
                found[name] = read_plain(path)
        return usable(place.attempt, Proposal(found, "trial"))[0]
    except CandidateFailed as err:
        raise Refused(fault(err.what), "change only the editable files") from err
    except (BadReply, OutsideFolder) as err:
        raise Refused(str(err), "mend the tree, then try again") from err
    except OSError as err:
        raise Refused(f"cannot read {err.filename or place.tree}: {err.strerror or err}", "mend the tree") from err
