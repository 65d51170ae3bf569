"""The words of kpd as frozen values: what a task, a verdict, a finding or an iteration is.

Everything here crosses the socket and the event log, so fields hold only JSON's own types, tuples and other nouns.
"""

from dataclasses import dataclass, field
from typing import Literal

StepName = Literal["propose", "screen", "stage", "build", "check", "time", "judge", "profile", "explain", "record"]
STEPS: tuple[StepName, ...] = (
    "propose", "screen", "stage", "build", "check", "time", "judge", "profile", "explain", "record",
)  # fmt: skip

VerdictWord = Literal["faster", "slower", "same", "inconclusive"]
Outcome = Literal["baseline", "accepted", "rejected", "failed", "skipped", "interrupted", "infra"]
RunOutcome = Literal["improved", "no_gain", "failed", "stopped", "infra"]
COUNTED: tuple[Outcome, ...] = ("accepted", "rejected", "failed")
"""Outcomes that use up a run's budget; infrastructure trouble, skips and interruptions do not."""
RunStatus = Literal["queued", "running", "paused", "ended"]
Severity = Literal["high", "medium", "low"]
Purpose = Literal["propose", "again", "continue", "compile_fix", "runtime_fix", "compact", "harness"]


@dataclass(frozen=True, slots=True)
class Gain:
    """How much less time the candidate needs than the incumbent, in percent; positive is faster."""

    pct: float
    low: float
    high: float
    confidence: float = 0.99


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the samples support. `reason` says in a sentence why it was accepted, or not."""

    word: VerdictWord
    gain: Gain
    processes: int
    accepted: bool
    reason: str


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of calls to a model: `input` is what was neither written to its prompt cache nor read from it."""

    input: int = 0
    cache_write: int = 0
    cache_read: int = 0
    output: int = 0

    def __add__(self, other: "Usage") -> "Usage":
        return Usage(
            self.input + other.input,
            self.cache_write + other.cache_write,
            self.cache_read + other.cache_read,
            self.output + other.output,
        )

    @property
    def total(self) -> int:
        return self.input + self.cache_write + self.cache_read + self.output


@dataclass(frozen=True, slots=True)
class Spend:
    """What calls to a model came to, in US dollars; `unpriced` counts those of models whose price is not known."""

    calls: int = 0
    usage: Usage = Usage()
    usd: float = 0.0
    unpriced: int = 0

    def with_call(self, usage: Usage, usd: float | None) -> "Spend":
        return Spend(self.calls + 1, self.usage + usage, self.usd + (usd or 0.0), self.unpriced + (usd is None))


@dataclass(frozen=True, slots=True)
class Call:
    """A call to a model that is under way, and what it can cost at most: so much is taken to be spent already.

    `number` counts the calls of its run from 1 on; `most_usd` is None where the model has no known price.
    """

    number: int
    iteration: int
    purpose: Purpose
    model: str
    most_usd: float | None = None


@dataclass(frozen=True, slots=True)
class Budget:
    """What a run may spend. `patience` counts iterations in a row without an accepted one.

    `usd` is dollars for calls to models; 0 is no limit.
    """

    iterations: int = 6
    patience: int = 4
    min_gain_pct: float = 2.0
    stop_score: float | None = None
    fix_attempts: int = 8
    usd: float = 0.0


@dataclass(frozen=True, slots=True)
class Expectation:
    """What the agent expects before anything is measured: a metric, its direction, a gain in percent."""

    metric: str
    direction: Literal["up", "down"]
    gain_pct: float | None = None


@dataclass(frozen=True, slots=True)
class Finding:
    """A rule that fired: the evidence it saw, and what to do about it. `rule` also names the skill file."""

    rule: str
    severity: Severity
    message: str
    action: str
    evidence: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Advice:
    """What a vendor's profiler says by itself: `rule` is its own name for it, `level` how it means it.

    OPT is something to gain, WRN something wrong, INF for information. `speedup_pct` is the share of the task's time
    that it expects to be saved, None where it gives none; `cases` those it was said of. `agrees` is the id of the local
    finding that says the same, empty without one.
    """

    rule: str
    level: Literal["OPT", "INF", "WRN"]
    text: str
    speedup_pct: float | None = None
    cases: tuple[str, ...] = ()
    agrees: str = ""


@dataclass(frozen=True, slots=True)
class CaseTime:
    """One case of a task: median time of a call in microseconds, and what the machine's roofline allows for it.

    On a GPU also the candidate's time on the device alone, without what a launch costs the CPU, and its time a call
    with its data in the L2.
    """

    case: str
    candidate_us: float
    incumbent_us: float
    gain_pct: float
    bytes: float | None = None
    flops: float | None = None
    roofline_us: float | None = None
    device_us: float | None = None
    warm_us: float | None = None


@dataclass(frozen=True, slots=True)
class Steering:
    """A line from the operator to the agent, queued until an iteration consumes it."""

    note: int
    text: str
    by: str
    at: float
    consumed_by: int | None = None


@dataclass(frozen=True, slots=True)
class Need:
    """What a task's device must be: `gpu` is part of its name, in any case of letters, `arch` its architecture (sm_90).

    Empty words ask for nothing: any device will do that the task's language can use. A task with its own benchmark may
    say which kind of `device` that is.
    """

    gpu: str = ""
    arch: str = ""
    device: Literal["", "cpu", "gpu"] = ""


@dataclass(frozen=True, slots=True)
class TaskCard:
    """A task as the daemon last read it; `error` is set when its folder is refused."""

    name: str
    summary: str = ""
    language: str = ""
    editable: tuple[str, ...] = ()
    score: str = "us"
    direction: Literal["lower", "higher"] = "lower"
    tunable: int = 0
    need: Need = Need()
    error: str = ""


@dataclass(frozen=True, slots=True)
class Device:
    """What one measurement at a time runs on: a GPU, or the CPU that measurements are pinned to.

    `id` is "cpu", or the GPU's UUID; `arch` is "sm_90" and the like, or the CPU's machine; `pci` is the bus id.
    Bandwidth in GB/s and peak in GFLOP/s are kpd's own measurements of a GPU; those of a CPU are on its host's card.
    """

    id: str
    kind: Literal["cpu", "gpu"]
    name: str
    arch: str = ""
    pci: str = ""
    memory_mib: int = 0
    bandwidth_gbs: float | None = None
    peak_gflops: float | None = None


@dataclass(frozen=True, slots=True)
class Check:
    """One line of a host's preflight: what was found, and what a person can do about it when that is bad.

    `off` is something absent that nothing here needs. `name` is the subject: link, python, disk, gpu, nvcc, …
    """

    name: str
    state: Literal["ok", "bad", "off"]
    found: str
    remedy: str = ""


@dataclass(frozen=True, slots=True)
class HostCard:
    """A host and its devices as probed. Bandwidth in GB/s and peak in GFLOP/s are kpd's own of its CPU.

    While the link is down, `error` says why in words and `trouble` its kind (see `hosts.errors`); `offered` is the
    fingerprint of a host key that nobody has trusted yet. A host that is `stuck` waits for a person: time
    alone will hardly heal it. `rtt_ms` is a round trip to the helper when it was probed.
    """

    name: str
    transport: str
    link: Literal["up", "down"] = "up"
    system: str = ""
    device: str = ""
    cpu: int | None = None
    compiler: str = ""
    counters: str = ""
    bandwidth_gbs: float | None = None
    peak_gflops: float | None = None
    error: str = ""
    address: str = ""
    trouble: str = ""
    offered: str = ""
    stuck: bool = False
    rtt_ms: float | None = None
    devices: tuple[Device, ...] = ()
    checks: tuple[Check, ...] = ()


@dataclass(frozen=True, slots=True)
class Iteration:
    """One attempt inside a run, in brief; its metrics, findings and files are read on demand (see `detail`).

    `edit` names the operator's edit that it measures, a folder in the run's `edits/`. `aims` are the rules that its
    agent meant to silence; `tune` are parameters of its files that the agent was unsure of, for a sweep to explore.
    `exhausted`: the agent had nothing left to propose, for the rest of its run.
    """

    number: int
    agent: str
    parent: int
    started: float
    step: StepName | None = None
    step_started: float = 0.0
    attempt: int = 1
    outcome: Outcome | None = None
    reason: str = ""
    memo: str = ""
    edit: str = ""
    point: dict[str, str] = field(default_factory=dict)
    expected: Expectation | None = None
    aims: tuple[str, ...] = ()
    tune: dict[str, tuple[str, ...]] = field(default_factory=dict)
    spend: Spend = Spend()
    score: float | None = None
    verdict: Verdict | None = None
    override: str = ""
    roofline_pct: float | None = None
    bottleneck: str = ""
    rules: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()
    exhausted: bool = False
    ended: float | None = None


@dataclass(frozen=True, slots=True)
class Run:
    """One campaign on a task.

    `agent` may name several, with commas between them, that take turns. `incumbent` is the number of the accepted
    iteration to beat (None before the baseline) and `files` its editable files (path → sha256). `folder` is what the
    task folder holds as kpd last knew it, so that an edit is a difference; `pending_edit` is such an edit until its
    iteration begins. `pinned` are the protected files that the run began with. `host` is empty until a host is chosen,
    if any will do. `device` names what the run was begun on and `device_id` is its Device: it goes on nowhere else.
    `waiting` says what the run waits for, when that ends without a person. `asked` counts its calls to models, of which
    `calls` are those under way.
    """

    id: str
    task: str
    agent: str
    host: str
    budget: Budget
    queued: float
    status: RunStatus = "queued"
    reason: str = ""
    infra: bool = False
    outcome: RunOutcome | None = None
    device: str = ""
    device_id: str = ""
    waiting: str = ""
    incumbent: int | None = None
    files: dict[str, str] = field(default_factory=dict)
    folder: dict[str, str] = field(default_factory=dict)
    pinned: dict[str, str] = field(default_factory=dict)
    steering: tuple[Steering, ...] = ()
    pending_edit: dict[str, str] = field(default_factory=dict)
    conflict: str = ""
    stale: tuple[str, ...] = ()
    iterations: tuple[Iteration, ...] = ()
    spend: Spend = Spend()
    asked: int = 0
    calls: tuple[Call, ...] = ()
    started: float | None = None
    ended: float | None = None

    @property
    def agents(self) -> tuple[str, ...]:
        """Those that take turns."""
        return tuple(self.agent.split(","))

    @property
    def reserved_usd(self) -> float:
        """What the calls under way can cost at most."""
        return sum(call.most_usd or 0.0 for call in self.calls)

    @property
    def current(self) -> Iteration | None:
        """The iteration under way, or None between iterations."""
        last = self.iterations[-1] if self.iterations else None
        return last if last is not None and last.outcome is None else None

    @property
    def counted(self) -> tuple[Iteration, ...]:
        """The iterations that count against the budget."""
        return tuple(it for it in self.iterations if it.outcome in COUNTED)

    @property
    def baseline(self) -> Iteration | None:
        return next((it for it in self.iterations if it.outcome == "baseline"), None)

    @property
    def best(self) -> Iteration | None:
        """The incumbent's iteration."""
        return None if self.incumbent is None else self.iteration(self.incumbent)

    def iteration(self, number: int) -> Iteration | None:
        if 0 <= number < len(self.iterations) and self.iterations[number].number == number:
            return self.iterations[number]
        return next((it for it in self.iterations if it.number == number), None)


@dataclass(frozen=True, slots=True)
class Notice:
    """Something a person should read: a refused file, a lost host, a conflict."""

    at: float
    level: Literal["info", "warning", "error"]
    text: str


@dataclass(frozen=True, slots=True)
class State:
    """All anyone sees: the fold of every event up to `seq`. `days` is what was spent on each day (2026-11-21, UTC)."""

    seq: int = 0
    at: float = 0.0
    version: str = ""
    pid: int | None = None
    workspace: str = ""
    held: str = ""
    tasks: dict[str, TaskCard] = field(default_factory=dict)
    hosts: dict[str, HostCard] = field(default_factory=dict)
    runs: dict[str, Run] = field(default_factory=dict)
    notices: tuple[Notice, ...] = ()
    days: dict[str, Spend] = field(default_factory=dict)

    @property
    def queue(self) -> tuple[Run, ...]:
        """Runs that wait for their turn, in order."""
        return tuple(run for run in self.runs.values() if run.status == "queued")

    @property
    def begun(self) -> tuple[Run, ...]:
        """The runs that hold a device, running or paused, oldest first."""
        return tuple(run for run in self.runs.values() if run.status in ("running", "paused"))

    @property
    def active(self) -> Run | None:
        """The newest run that holds a device, running or paused."""
        return next((run for run in reversed(self.runs.values()) if run.status in ("running", "paused")), None)
