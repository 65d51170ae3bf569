"""An iteration as the daemon's `show` answers it."""

import json
from typing import Any

from kpd.cli.terminal_text import clean
from kpd.model import codec, events as e
from kpd.model.budget import Budget
from kpd.model.detail import Detail
from kpd.model.headline import headline
from kpd.model.iteration import Expectation, Iteration
from kpd.model.kinds import Told
from kpd.model.profiles import CaseTime, Finding
from kpd.model.run import Run
from kpd.model.status import Running
from kpd.model.verdicts import Gain, Verdict
from kpd.text import json_views
from tests.support.model.samples import done

AT = 1_000_000.0
VERDICT = Verdict("faster", Gain(3.1, 2.4, 3.8), 7, True, "told", told="faster beyond doubt, by at least 2 %")
BASELINE = Iteration(0, "baseline", 0, AT, status=done("baseline", at=AT + 5), score=20.0)
ACCEPTED = Iteration(
    3, "sweep", 0, AT, status=done("accepted"), score=12.5, memo="wider tiles \x1b[2J", verdict=VERDICT,
    roofline_pct=78.4, expected=Expectation("gbs", "up", 5.0), bottleneck="memory", flags=(Told("a removed loop"),),
)  # fmt: skip
RUN = Run(
    "r3", "transpose_cpu", "sweep", "local", Budget(), AT, status=Running(), started=AT, incumbent=3,
    iterations=(BASELINE, ACCEPTED),
)  # fmt: skip
OWN = ("r3", 3, 0.5, 0.01)
DETAIL = Detail(
    proposed=e.Proposed(*OWN, {"kernel.c": "ab", "build.json": "cd"}, "wider tiles", None, {"TILE": "32"}),
    timed=e.Timed(
        *OWN, 12.5, 7,
        (CaseTime("wide", 10.0, 12.0, 16.7, 1e6, 0, 8.0), CaseTime("tall", 15.6, 15.5, -0.6)), 1, 78.4,
    ),
    judged=e.Judged(*OWN, VERDICT),
    profiled=e.Profiled(
        *OWN,
        {"gbs": 12.0, "call_us": 2.0, "gbs[wide]": 9.0, "clock_ghz": 3.0},
        {"cache_mpki": "no perf", "ipc": "no perf"},
    ),
    explained=e.Explained(
        *OWN, "memory", (Finding("far-from-roofline", "high", "far below bandwidth", "block it", {"gbs": 12.0}),)
    ),
    faults=(e.Faulted("r3", 3, "build", 1, Told("kernel.c:3: expected ';'")),),
)  # fmt: skip
PARENT = Detail(
    timed=e.Timed("r3", 0, 0.5, 0.01, 20.0, 5, ()),
    profiled=e.Profiled(
        "r3", 0, 0.5, 0.01, {"gbs": 8.0, "roofline_pct": 67.0, "call_us": 1.99, "gbs[wide]": 4.0, "clock_ghz": 3.0}
    ),
)


def as_json(value: object) -> Any:
    return clean(json.loads(codec.encode(value)))


def brief_run(run: Run) -> dict[str, Any]:
    return as_json(json_views.run(run))


def shown(iteration: Iteration = ACCEPTED, detail: Detail = DETAIL) -> dict[str, Any]:
    return {
        "run": brief_run(RUN), "iteration": as_json(json_views.iteration(iteration)),
        "detail": as_json(json_views.found(detail)),
        "parent": as_json(PARENT), "baseline": as_json(PARENT),
        "headline": as_json(json_views.headlined(headline(RUN, iteration.number))),
        "folder": "/ws/runs/transpose_cpu/r3/iter_0003",
    }  # fmt: skip
