"""A GPU run for the UI's tests: the CUDA transpose as it comes and tiled, with what an H100 and ncu said of both.

`data/gpu/h100_transpose.json` has the times, metrics, findings and advice of two real profiles, to five digits, and
what kpd concluded from them: of a case candidate, incumbent, roofline, device and warm µs; of a metric the value of all
cases, then each one's. For a GPU whose counters are denied they are left out of the same numbers.
"""

import json
from math import exp, log
from typing import Any

from kpd.model import events as e
from kpd.model.budget import Budget
from kpd.model.causes import ByVerdict
from kpd.model.codec import decode, encode
from kpd.model.metrics import of_case
from kpd.model.profiles import Advice, CaseTime, Finding
from kpd.model.state import TaskCard
from kpd.model.verdicts import Gain, Verdict
from kpd.profile.changes import changes
from kpd.profile.ncu.metrics import NAMES
from tests.places import DATA
from tests.support.tui.logs import Log
from tests.support.tui.many_hosts import H100, gpu_host

TASK = "transpose_cuda"
MEASURED: dict[str, Any] = json.loads((DATA / "gpu/h100_transpose.json").read_text())
UNCOUNTED = {
    "gflops": "task.toml's [roofline] counts no flops",
    "compute_roofline_pct": "no case is known to be limited by arithmetic",
}
DENIED = (
    "ncu is denied the GPU's counters (ERR_NVGPUCTRPERM): set NVreg_RestrictProfilingToAdminUsers=0 for the nvidia "
    "module, or run as root"
)


def cases(which: str) -> tuple[CaseTime, ...]:
    return tuple(
        CaseTime(name, now, before, 100 * (1 - now / before), None, None, roofline, device, warm)
        for name, (now, before, roofline, device, warm) in MEASURED[which]["cases"].items()
    )


def metrics(which: str) -> dict[str, float]:
    names = ("", *MEASURED[which]["cases"])
    return {
        of_case(name, case) if case else name: value
        for name, row in MEASURED[which]["metrics"].items()
        for case, value in zip(names, row, strict=False)
    }


def said(which: str, what: str, kind: Any) -> Any:
    return decode(encode(MEASURED[which][what]), tuple[kind, ...])


def profiled(number: int, which: str, denied: bool = False) -> tuple[e.StepFact, ...]:
    """The facts of a profile and of what follows from it; `denied` leaves out all that ncu counts."""
    found, missing = metrics(which), dict(UNCOUNTED)
    blank = ("r1", number, 0.004, 0.004)
    if not denied:
        explained = e.Explained(
            *blank,
            MEASURED[which]["bottleneck"],
            said(which, "findings", Finding),
            changes(metrics("naive"), found)[:8],
        )
        return e.Profiled("r1", number, 6.02, 0.1, found, missing, said(which, "advice", Advice)), explained
    found = {name: value for name, value in found.items() if name.partition("[")[0] not in NAMES}
    missing |= dict.fromkeys(NAMES, DENIED)
    share = MEASURED[which]["metrics"]["roofline_pct"][0]
    bound = f"memory bound; {share:.0f} % of the roofline; no counters"
    return e.Profiled("r1", number, 6.02, 0.1, found, missing), e.Explained(*blank, bound)


def iterate(run: Log, number: int, which: str, memo: str, verdict: Verdict, denied: bool = False) -> Log:
    """A whole iteration that holds what was measured of `which`."""
    files = {"kernel.cu": f"{which}-kernel"}
    timed = cases(which)
    score = exp(sum(log(case.candidate_us) for case in timed) / len(timed))
    share = metrics(which)["roofline_pct"]
    point = {"TILE": "64", "PAD": "1", "VEC": "4", "ROWS": "16"} if number else {}
    run.emit(e.IterationStarted("r1", number, "sweep" if number else "baseline", 0))
    run.steps(
        "r1", number, e.Proposed("r1", number, 0.01, 0.01, files, memo, None, point),
        e.Screened("r1", number, 0.001, 0.001), e.Staged("r1", number, 0.01, 0.01, "5f70bf18a086007d"),
        e.Built("r1", number, 1.34, 0.02, f"build-{number}", False, "-O3 -lineinfo -arch=sm_90"),
        e.Checked("r1", number, 0.64, 0.05, 17_097_075, 0.0, "square_1024, normal: out[0]"),
        e.Timed("r1", number, 6.27, 0.1, score, verdict.processes, timed, 0, share),
        e.Judged("r1", number, 0.02, 0.02, verdict),
        *profiled(number, which, denied),
    )  # fmt: skip
    run.emit(e.StepStarted("r1", number, "record"))
    run.emit(e.Accepted("r1", number, files)).emit(e.FolderKnown("r1", files))
    return run.emit(e.IterationEnded("r1", number, "accepted" if number else "baseline", ByVerdict(verdict)))


def begun(device: str) -> Log:
    log = Log()
    log.emit(e.DaemonStarted("0.1.0", 4711, "/home/op/kernels")).emit(e.HostProbed(gpu_host()))
    summary = "Transpose of a float32 matrix, in CUDA"
    log.emit(e.TaskLoaded(TaskCard(TASK, summary, "cuda", ("kernel.cu",), tunable=144)))
    log.emit(e.RunQueued("r1", TASK, "sweep", "gpu1", Budget(iterations=16, patience=12), by="op"))
    return log.emit(e.RunStarted("r1", device, "gpu1", "GPU-0"))


def transposed(device: str = H100.name, denied: bool = False) -> Log:
    """The naive baseline, and the tiled candidate that was accepted."""
    log = iterate(
        begun(device), 0, "naive", "baseline: the task as it is",
        Verdict("same", Gain(-0.1, -0.2, 0.1), 5, False, "same", 2.0), denied,
    )  # fmt: skip
    return iterate(
        log, 1, "tiled", "TILE=64 PAD=1 VEC=4 ROWS=16",
        Verdict("faster", Gain(80.4, 80.3, 80.6), 7, True, "confirmed", 2.0), denied,
    )  # fmt: skip


def without_counters() -> Log:
    return transposed(denied=True)
