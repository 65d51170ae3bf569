"""Defines the tables of task.toml, with defaults."""

from dataclasses import dataclass, field, fields, replace
from typing import Literal, get_args

from kpd.model.budget import Budget
from kpd.model.hosts import Need
from kpd.model.run import OwnFiles
from kpd.model.scores import Direction
from kpd.workspace import expr
from kpd.workspace.strict import Count, Few, Filled, NotNegative, Percent, Positive, Seconds, Share, Text


@dataclass(frozen=True, slots=True)
class TaskSection:
    """The [task] table. `context` are further protected files that an agent is shown; None: chosen by their names.

    `records` are what the task's own tools write: neither protected nor editable. `baseline` says what is known of the
    editable files as they are: they are there and right, some are absent, or they are wrong.
    """

    name: Text
    language: Text
    editable: Filled
    summary: str = ""
    context: tuple[str, ...] | None = None
    records: tuple[str, ...] = ()
    baseline: OwnFiles = "right"


@dataclass(frozen=True, slots=True)
class BuildSpec:
    """The [build] table. `flags` are the compiler flags of every candidate; its own flags come from its files.

    `python` is the Python on the host that runs a task's callables, by its path or by its name on the PATH.
    """

    flags: tuple[str, ...] = ()
    limit_s: Seconds = 60.0
    python: Text = "python3"


Distribution = Literal["normal", "constant", "heavy_tail", "denormal", "large"]
"""A kind of input values, see kpd_fill in kpd_task.h."""
DISTRIBUTIONS: tuple[Distribution, ...] = get_args(Distribution)


@dataclass(frozen=True, slots=True)
class CheckSpec:
    """The [check] table: how outputs are compared with the oracle's, for each of `seeds` secret seeds.

    `compare` says to what an error is relative: "elementwise" to the element, "scaled" to the scale that the harness
    gives for it, "norm" to the output's Frobenius norm. Then `rtol` and `atol` are the tolerance; without both of them
    it is 8 times the error of the task's own kernel. "exact" asks for the same bits, "ulp:N" for at most N steps of the
    output's type. `distributions` are the kinds of inputs that a kernel must be right for; the first one is timed.
    `fast_math` allows compiler flags that change results. With `truth` = "baseline" the outputs of the task's own
    kernel take the place of the oracle's; what they differ by from call to call is tolerated besides.

    With `sizes` = "any" secret sizes that no case has are checked, too, where the task's own kernel is right. With
    `nonfinite` = "propagate" a NaN or an infinity in an input must be found in the outputs where the oracle has it;
    with "kept" there must be either where the oracle has either, and may be elsewhere. `deterministic` says whether
    equal inputs must give equal bits in every call: "auto", where they do with the task's own kernel.

    A task with its own benchmark may bring a `command` instead: the candidate is correct when it exits with 0 and the
    last JSON object on its stdout says {"ok": true}. With `sanitizer`, winners have last checks beside
    the run: of a CUDA task under the tools of NVIDIA's compute-sanitizer, where the host has it; in C, with `sizes` =
    "any", at sizes far beyond the cases. `good` are further texts by which a task's own
    commands say that a result is right; `unchecked` says that nothing compares the results, which kpd then shows
    everywhere. `flagged` says what becomes of a candidate that wins and has flags: a person decides ("hold"), it is
    rejected, or it is accepted and the flags are shown ("note").
    """

    seeds: Few = 3
    compare: Text = "elementwise"
    rtol: NotNegative | None = None
    atol: NotNegative | None = None
    distributions: tuple[Distribution, ...] = DISTRIBUTIONS
    fast_math: bool = False
    sizes: Literal["any", "listed"] = "listed"
    nonfinite: Literal["propagate", "kept", "any"] = "any"
    deterministic: Literal["auto", "yes", "no"] = "auto"
    truth: Literal["oracle", "baseline"] = "oracle"
    limit_s: Seconds = 60.0
    command: Text | None = None
    sanitizer: bool = True
    good: tuple[str, ...] = ()
    unchecked: bool = False
    flagged: Literal["hold", "reject", "note"] = "hold"

    @property
    def is_bitwise(self) -> bool:
        """Whether bits are compared, or steps between them: then there is no tolerance."""
        return self.compare == "exact" or self.compare.startswith("ulp:")

    @property
    def is_native(self) -> bool:
        """Whether the tolerance follows from the error of the task's own kernel."""
        given = self.rtol is not None or self.atol is not None
        return self.truth == "oracle" and not self.is_bitwise and not given


@dataclass(frozen=True, slots=True)
class CasesSpec:
    """The key `cases` of [bench]: the place of the cases, and the keys of each case's name and time.

    Without `time` it is `us`, `best_us` or `median_us`.
    """

    at: Text = "cases"
    name: Text = "name"
    time: str = ""


@dataclass(frozen=True, slots=True)
class VerdictSpec:
    """The key `verdict` of [bench]: the place of the word on the result, and the words that say that it is right."""

    key: Text
    good: Filled


@dataclass(frozen=True, slots=True)
class BenchSpec:
    """The [bench] table. `quads` are the A B B A groups that one process times for each case.

    `command` is the task's own benchmark instead: one run of it may take `limit_s` seconds, and the JSON object that it
    prints says at `score` how good the candidate is; `direction` says which scores are better. `cases` and `verdict`
    say where the object has the rest; `unit` is that of its cases' times.
    """

    quads: Few = 64
    limit_s: Seconds = 60.0
    command: Text | None = None
    score: Text = "best_us"
    direction: Direction = "lower"
    unit: Literal["ns", "us", "ms", "s"] = "us"
    cases: CasesSpec | None = None
    verdict: VerdictSpec | None = None


@dataclass(frozen=True, slots=True)
class FinalSpec:
    """The [final] table: the task's own benchmark over held-out cases, for a candidate that is about to be accepted."""

    command: Text | None = None
    limit_s: Seconds = 60.0


@dataclass(frozen=True, slots=True)
class ProfileSpec:
    """The [profile] table. `kernel` is a regular expression for the kernels to profile; without it all are profiled.

    `command` is profiled in place of the task's own benchmark; if it is `marked`, only what it launches between
    cudaProfilerStart and cudaProfilerStop.
    """

    kernel: Text | None = None
    command: Text | None = None
    marked: bool = False
    limit_s: Seconds = 300.0


@dataclass(frozen=True, slots=True)
class BudgetSpec:
    """The [budget] table: limits of this task in place of config.toml's [run]; None keeps those."""

    iterations: Count | None = None
    patience: Count | None = None
    min_gain_pct: Percent | None = None
    stop_score: Positive | None = None
    usd: Positive | None = None
    hours: Positive | None = None
    gpu_hours: Positive | None = None

    def over(self, budget: Budget) -> Budget:
        given = {field.name: getattr(self, field.name) for field in fields(BudgetSpec)}
        return replace(budget, **{name: value for name, value in given.items() if value is not None})


@dataclass(frozen=True, slots=True)
class CaseSpec:
    """A [cases.NAME] table. `weight` is how much the case counts in verdict and score, relative to the others."""

    weight: Positive = 1.0


@dataclass(frozen=True, slots=True)
class SweepSpec:
    """The [sweep] table. Of the points of [tune], those are tried for which all conditions in `where` hold."""

    where: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class AcceptSpec:
    """The [accept] table. `worst_case` is the share of the incumbent's speed that every case must keep; 0: none."""

    worst_case: Share = 0.95


@dataclass(frozen=True, slots=True)
class RooflineSection:
    bytes: Text | None = None
    flops: Text | None = None


@dataclass(frozen=True, slots=True)
class RooflineSpec:
    """The bytes moved and operations done by one call, as expressions over the dims of a case; None where not given."""

    bytes: expr.Expression | None = None
    flops: expr.Expression | None = None


@dataclass(frozen=True, slots=True)
class TaskFile:
    """The content of task.toml as it is written."""

    task: TaskSection
    build: BuildSpec = field(default_factory=BuildSpec)
    check: CheckSpec = field(default_factory=CheckSpec)
    bench: BenchSpec = field(default_factory=BenchSpec)
    final: FinalSpec = field(default_factory=FinalSpec)
    profile: ProfileSpec = field(default_factory=ProfileSpec)
    need: Need = field(default_factory=Need)
    budget: BudgetSpec = field(default_factory=BudgetSpec)
    cases: dict[str, CaseSpec] = field(default_factory=dict)
    accept: AcceptSpec = field(default_factory=AcceptSpec)
    tune: dict[str, tuple[bool | int | float | str, ...]] = field(default_factory=dict)
    sweep: SweepSpec = field(default_factory=SweepSpec)
    roofline: RooflineSection = field(default_factory=RooflineSection)
