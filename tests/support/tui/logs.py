"""Canned event logs for the UI's tests: runs of every kind, fact by fact, with a clock of their own."""

from kpd.model import events as e
from kpd.model.budget import Budget
from kpd.model.causes import ByVerdict, IterationCause, Noise, PatienceUsed
from kpd.model.defects import WrongResult, WrongValue
from kpd.model.faults import Incorrect
from kpd.model.fold import fold_all
from kpd.model.hosts import HostCard
from kpd.model.iteration import Expectation
from kpd.model.profiles import CaseTime, Finding
from kpd.model.state import State, TaskCard
from kpd.model.status import Outcome, StepName
from kpd.model.verdicts import Gain, Rule, Verdict, VerdictWord
from kpd.model.waits import LeftAt, PausedBy, Unfinished

BEGIN = 1_767_261_600.0  # 2026-01-01 10:00:00 UTC
TASK = "rmsnorm_silu_cpu"
CASES = (
    ("rows=1 cols=262144", 1.0),
    ("rows=64 cols=4096", 0.93),
    ("rows=512 cols=1024", 1.9),
    ("rows=4096 cols=256", 4.1),
)
METRICS = {
    "roofline_pct": 38.2, "gbs": 7.91, "gflops": 3.42, "intensity": 0.31, "hot_instructions": 48.0,
    "hot_vector_pct": 12.5, "hot_vector_bits": 128.0, "machine_vector_bits": 512.0, "hot_stack": 6.0,
    "loops_vectorised": 1.0, "loops_missed": 2.0,
}  # fmt: skip
MISSING = dict.fromkeys(("ipc", "clock_ghz", "cache_miss_pct"), "perf stat: no hardware counters in this machine")
FINDINGS = (
    Finding(
        "far_below_bandwidth", "high", "The kernel moves far less than this machine's memory can.",
        "Read each row once: keep the sum of squares and the products in registers between the two passes.",
        {"gbs": 7.91, "roofline_pct": 38.2},
    ),
    Finding(
        "not_vectorised", "medium", "Most floating-point work in the hot loop is scalar.",
        "Give the compiler an inner loop without a dependence: several partial sums, restrict pointers.",
        {"hot_vector_pct": 12.5, "hot_vector_bits": 128.0},
    ),
)  # fmt: skip


class Log:
    """Builds a log fact by fact; every fact moves the clock a little."""

    def __init__(self) -> None:
        self.events: list[e.Event] = []
        self.at = BEGIN
        self._state = State()

    def emit(self, fact: e.Fact, after: float = 0.1) -> "Log":
        self.at += after
        self.events.append(e.Event(len(self.events) + 1, self.at, fact))
        return self

    def daemon(self) -> "Log":
        self.emit(e.DaemonStarted("0.1.0", 4711, "/home/op/kernels"))
        return self.emit(
            e.HostProbed(
                HostCard("local", "local", system="Linux", device="Xeon", compiler="gcc 14", bandwidth_gbs=20.7)
            )
        )

    def tasks(self) -> "Log":
        editable = ("kernel.c", "build.json")
        self.emit(e.TaskLoaded(TaskCard(TASK, "y = x · rsqrt(mean(x²)) · w · silu(g)", "c", editable, tunable=288)))
        return self.emit(e.TaskLoaded(TaskCard("transpose_cpu", "blocked transpose", "c", editable, tunable=96)))

    def run(self, run: str = "r1", task: str = TASK, agent: str = "sweep", budget: Budget | None = None) -> "Log":
        self.emit(e.RunQueued(run, task, agent, "local", budget or Budget(iterations=8), by="op"))
        return self.emit(e.RunStarted(run, "Xeon, CPU 1"), 0.4)

    def steps(self, run: str, number: int, *facts: e.StepFact) -> "Log":
        for fact in facts:
            self.emit(e.StepStarted(run, number, e.STEP_OF[type(fact)]), 0.02)
            self.emit(fact, fact.seconds)
        return self

    def baseline(self, run: str = "r1", score: float = 412.4) -> "Log":
        self.emit(e.IterationStarted(run, 0, "baseline", 0))
        verdict = Verdict("same", Gain(0.02, -0.41, 0.44), 5, False, "same", 2.0)
        self.steps(run, 0, *proposed(run, 0, "baseline: the task as it is"), *measured(run, 0, score, score, verdict))
        self.emit(e.StepStarted(run, 0, "record"))
        self.emit(e.Accepted(run, 0, files(run, 0)))
        self.emit(e.FolderKnown(run, files(run, 0)))
        return self.emit(e.IterationEnded(run, 0, "baseline", Noise(verdict.gain)))

    def iteration(
        self,
        number: int,
        memo: str,
        gain: float,
        word: VerdictWord,
        run: str = "r1",
        parent: int = 0,
        before: float = 412.4,
        agent: str = "sweep",
        findings: tuple[Finding, ...] = FINDINGS,
    ) -> "Log":
        """A whole iteration that was measured; accepted when it is faster by at least 2 %."""
        accepted = word == "faster" and gain >= 2
        verdict = verdict_of(word, gain)
        self.begin(number, run, parent, agent)
        score = before * (1 - gain / 100)
        self.steps(run, number, *proposed(run, number, memo), *measured(run, number, score, before, verdict, findings))
        self.emit(e.StepStarted(run, number, "record"))
        if accepted:
            self.emit(e.Accepted(run, number, files(run, number)))
            self.emit(e.FolderKnown(run, files(run, number)))
        return self.end(number, "accepted" if accepted else "rejected", ByVerdict(verdict), run)

    def begin(self, number: int, run: str = "r1", parent: int = 0, agent: str = "sweep", lane: int = 0) -> "Log":
        return self.emit(e.IterationStarted(run, number, agent, parent, lane=lane), 0.05)

    def end(self, number: int, outcome: Outcome, cause: IterationCause, run: str = "r1") -> "Log":
        return self.emit(e.IterationEnded(run, number, outcome, cause))

    def at_step(self, number: int, step: StepName, memo: str, parent: int = 0, run: str = "r1", lane: int = 0) -> "Log":
        """An iteration as far as the beginning of `step`."""
        self.begin(number, run, parent, lane=lane)
        verdict = Verdict("same", Gain(0, -1, 1), 5, False, "same", 2.0)
        for fact in (*proposed(run, number, memo), *measured(run, number, 300.0, 320.0, verdict)):
            if e.STEP_OF[type(fact)] == step:
                break
            self.steps(run, number, fact)
        return self.emit(e.StepStarted(run, number, step))

    @property
    def state(self) -> State:
        self._state = fold_all(self.events[self._state.seq :], self._state)
        return self._state


def files(run: str, number: int) -> dict[str, str]:
    return {"kernel.c": f"{run}-{number}-kernel", "build.json": f"{number % 2}-build"}


def proposed(run: str, number: int, memo: str) -> tuple[e.StepFact, ...]:
    expected = None if number == 0 else Expectation("gbs", "up", 5.0)
    return (
        e.Proposed(run, number, 0.012, 0.004, files(run, number), memo, expected, {"UNROLL": "8"}),
        e.Screened(run, number, 0.001, 0.001),
        e.Staged(run, number, 0.006, 0.002, "9f86d081884c7d65"),
        e.Built(run, number, 0.41, 0.003, f"build-{number}", False, "-O3 -march=native"),
    )


def measured(
    run: str, number: int, score: float, before: float, verdict: Verdict, findings: tuple[Finding, ...] = FINDINGS
) -> tuple[e.StepFact, ...]:
    cases = tuple(
        CaseTime(name, score * share, before * share, (1 - score / before) * 100, roofline_us=118.0 * share)
        for name, share in CASES
    )
    metrics = {
        name: value * (412.4 / score if name in ("gbs", "gflops", "roofline_pct") else 1)
        for name, value in METRICS.items()
    }
    metrics |= {"call_us": score, **{f"gbs[{name}]": metrics["gbs"] * share**0.1 for name, share in CASES}}
    return (
        e.Checked(run, number, 0.33, 0.002, 60, 0.18, "rows=64 cols=4096, y[81]"),
        e.Timed(run, number, 2.4, 0.003, score, 5, cases, 0, metrics["roofline_pct"]),
        e.Judged(run, number, 0.02, 0.02, verdict),
        e.Profiled(run, number, 0.6, 0.004, metrics, MISSING),
        e.Explained(run, number, 0.003, 0.003, "memory bandwidth, at 38 % of what this machine can", findings),
    )


def verdict_of(word: VerdictWord, gain: float) -> Verdict:
    rules: dict[VerdictWord, Rule] = {
        "faster": "confirmed", "slower": "slower", "same": "same", "no_gain": "no_gain", "undecided": "undecided"
    }  # fmt: skip
    accepted = word == "faster" and gain >= 2
    return Verdict(word, Gain(gain, gain - 0.7, gain + 0.6), 5, accepted, rules[word], 2.0)


def wrong_value(case: str, distribution: str, output: str, index: int, got: str, want: str) -> Incorrect:
    """A value that the check found wrong, and nothing more of it."""
    return Incorrect(WrongResult(WrongValue(output, index, got, want, None, 1, 1), case, distribution))


def same() -> Verdict:
    return Verdict("same", Gain(0.1, -0.8, 0.9), 5, False, "same", 2.0)


# ── the logs ──────────────────────────────────────────────────────────────────────────────────────────────────────


def empty() -> Log:
    return Log().daemon()


def no_runs() -> Log:
    return Log().daemon().tasks()


def some() -> Log:
    """A run with a baseline and five iterations of every kind."""
    log = Log().daemon().tasks().run().baseline()
    log.iteration(1, "UNROLL=4: fewer branches in the first pass", 8.3, "faster")
    log.begin(2, parent=1).steps("r1", 2, *proposed("r1", 2, "VECTOR=8 with -ffast-math"))
    log.emit(e.StepStarted("r1", 2, "check"))
    log.end(2, "rejected", wrong_value("rows=64 cols=4096", "", "y", 81, "0.7312", "0.7298"))
    log.iteration(3, "TILE=64: keep the row in the first-level cache", -6.1, "slower", parent=1, before=378.2)
    log.iteration(4, "UNROLL=8, partial sums in registers", 14.2, "faster", parent=1, before=378.2)
    return log.iteration(5, "PREFETCH=256", 0.3, "same", parent=4, before=324.5)


def running() -> Log:
    return some().at_step(6, "time", "UNROLL=16 with -O3: does the loop still fit?", parent=4)


def incorrect() -> Log:
    log = some()
    log.begin(6, parent=4).steps("r1", 6, *proposed("r1", 6, "skip the epsilon: it is tiny anyway"))
    log.emit(e.StepStarted("r1", 6, "check"))
    return log.end(6, "rejected", wrong_value("rows=1 cols=262144", "constant zeros", "y", 0, "nan", "0"))


def paused() -> Log:
    log = running()
    log.emit(e.Steered("r1", 1, "try -O3 with and without -ffast-math", "op"))
    log.emit(e.Steered("r1", 2, "leave the wide row alone for now; the three narrow shapes matter more to us", "op"))
    return log.emit(e.RunPaused("r1", PausedBy("op"), "op"))


def held() -> Log:
    log = running()
    left = Unfinished("crashed", (LeftAt("r1", iteration=6, step="time"),))
    log.emit(e.DaemonStarted("0.1.0", 4712, "/home/op/kernels"), 30)
    return log.emit(e.QueueHeld(left))


def ended() -> Log:
    log = some()
    return log.emit(e.RunEnded("r1", "improved", PatienceUsed(4, 4)))


def edited() -> Log:
    """The operator's own edit, measured and without a memo of theirs."""
    log = some()
    return log.iteration(6, "operator edit: kernel.c +3 −1", 2.9, "faster", parent=4, before=324.5, agent="operator")


def many(count: int) -> Log:
    """A run of `count` iterations, every one an event in the log."""
    log = Log().daemon().tasks().run(budget=Budget(iterations=100_000, patience=100_000)).baseline()
    best = 412.4
    for number in range(1, count):
        gain = 2.1 if number % 97 == 0 else -3.0 if number % 3 else 0.1
        word: VerdictWord = "faster" if gain > 2 else "slower" if gain < 0 else "same"
        accepted = gain > 2
        log.begin(number)
        score = best * (1 - gain / 100)
        verdict = verdict_of(word, gain)
        log.emit(e.Timed("r1", number, 1.0, 0.0, score, 5, ()), 0)
        log.emit(e.Judged("r1", number, 0.0, 0.0, verdict), 0)
        if accepted:
            best = score
            log.emit(e.Accepted("r1", number, {}), 0)
        log.end(number, "accepted" if accepted else "rejected", ByVerdict(verdict))
    return log
