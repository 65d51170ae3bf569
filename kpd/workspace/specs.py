"""Defines the tables of task.toml, with defaults, and checks its commands."""

import re
import shlex
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field, fields, replace
from typing import Literal, get_args

from kpd.model.hosts import Need
from kpd.model.run import Budget
from kpd.model.scores import Direction
from kpd.workspace import expr
from kpd.workspace.strict import Count, Document, Few, Filled, NotNegative, Percent, Positive, Seconds, Share, Text


@dataclass(frozen=True, slots=True)
class TaskSection:
    """The [task] table. `context` are further protected files that an agent is shown; None: chosen by their names."""

    name: Text
    language: Text
    editable: Filled
    summary: str = ""
    context: tuple[str, ...] | None = None


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
_COMPARE = re.compile(r"elementwise|scaled|norm|exact|ulp:[1-9][0-9]{0,8}")


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
    last JSON object on its stdout says {"ok": true}. With `sanitizer`, a CUDA candidate runs once under NVIDIA's
    compute-sanitizer before it is accepted. `good` are further texts by which a task's own commands say
    that a result is right; `unchecked` says that nothing compares the results, which kpd then shows everywhere.
    `flagged` says what becomes of a candidate that wins and has flags: a person decides ("hold"), it is rejected, or
    it is accepted and the flags are shown ("note").
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
    sanitizer: bool = False
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


HAVE = "triton, python, command"
"""kpd's own languages whose tasks have commands."""


def refuse(
    document: Document, file: TaskFile, bring: bool, runner: bool, is_editable: Callable[[str], bool],
    protected: Collection[str],
) -> None:  # fmt: skip
    """Check the commands of task.toml, and the keys that only a task with commands has.

    `bring` says whether the task brings its own benchmark, `runner` whether kpd can run tasks in its language. Raises
    ConfigError where a command is missing, out of place, or runs an editable file or folder.
    """
    language, check = file.task.language, file.check
    only: dict[str, tuple[str, object]] = {
        "device": ("need", "" if runner else file.need.device),
        "good": ("check", check.good),
        "unchecked": ("check", check.unchecked),
    }
    for key, (table, value) in only.items():
        if value and not bring:
            message = f"'{key}' in [{table}], but kpd's own driver measures a task in {language}"
            raise document.error(message, "remove it", table, key)
    if not bring and file.need.cpus not in ("", 1):
        message = f"'cpus' in [need] is {file.need.cpus}, but kpd's own driver times a task in {language} on one CPU"
        raise document.error(message, "remove it, or write cpus = 1", "need", "cpus")
    if isinstance(file.need.cpus, int) and file.need.cpus < 1:
        raise document.error("'cpus' in [need] must be at least 1", 'for example 4, or "all"', "need", "cpus")
    if check.unchecked and check.command is not None:
        message = "'unchecked' in [check], where 'command' checks the results"
        raise document.error(message, "remove one of them", "check", "unchecked")
    commands = {
        "check": check.command, "bench": file.bench.command, "final": file.final.command,
        "profile": file.profile.command,
    }  # fmt: skip
    for table, command in commands.items():
        if command is not None:
            if not bring:
                message = f"'command' in [{table}], but kpd's own driver measures a task in {language}"
                remedy = f"remove it; languages with commands are {HAVE}"
                raise document.error(message, remedy, table, "command")
            _refuse_one(document, table, command, is_editable, protected)
    if bring and commands["bench"] is None:
        remedy = 'for example command = "python3 benchmark.py --json"'
        remedy += ", or write a harness.py for kpd's own runner" if runner else ""
        raise document.error(f"a task in {language} needs a 'command' in [bench]", remedy, "bench")


def refuse_bench(document: Document, spec: BenchSpec) -> None:
    """Check what the keys of [bench] say together. Raises ConfigError."""
    if spec.cases is not None and "[*]" in spec.cases.at:
        remedy = "name the one list or table that has all cases"
        raise document.error("'at' of 'cases' in [bench] leads to several places", remedy, "bench", "cases")


def refuse_check(document: Document, spec: CheckSpec) -> None:
    """Check what the keys of [check] say together. Raises ConfigError."""
    if not _COMPARE.fullmatch(spec.compare):
        remedy = 'write "elementwise", "scaled", "norm", "exact" or "ulp:N", for example "ulp:4"'
        raise document.error(f"'compare' in [check] cannot be {spec.compare[:40]!r}", remedy, "check", "compare")
    for key in ("rtol", "atol"):
        if spec.is_bitwise and getattr(spec, key) is not None:
            message = f'{key!r} in [check], but compare = "{spec.compare}" has no tolerance'
            raise document.error(message, "remove one of them", "check", key)
    if spec.sizes == "any" and spec.truth == "baseline":
        message = (
            'sizes = "any" in [check], but truth = "baseline" cannot say at which other sizes that kernel is right'
        )
        raise document.error(message, 'write sizes = "listed"', "check", "sizes")
    if spec.nonfinite != "any" and spec.fast_math:
        message = (
            f'nonfinite = "{spec.nonfinite}" in [check], but fast_math allows flags that take all values to be finite'
        )
        raise document.error(message, "remove one of them", "check", "nonfinite")
    if not spec.distributions or len(set(spec.distributions)) < len(spec.distributions):
        remedy = "name each kind of inputs that a kernel must be right for once"
        raise document.error("'distributions' in [check] is empty, or has one twice", remedy, "check", "distributions")


def _refuse_one(
    document: Document, table: str, command: str, is_editable: Callable[[str], bool], protected: Collection[str]
) -> None:
    what = f"'command' in [{table}]"
    if not command.isprintable():
        raise document.error(f"{what} has a control character", "write it on one line", table, "command")
    try:
        words = shlex.split(command)
    except ValueError as err:
        raise document.error(f"{what} cannot be read: {err}", "write it as for a shell", table, "command") from err
    if not words:
        raise document.error(f"{what} is blank", "name a program, or remove it", table, "command")
    judge = next((word for word in _programs(command, protected) if is_editable(word.removeprefix("./"))), None)
    if judge is not None and table != "profile":
        remedy = "what judges a candidate must be protected; after a protected program it may be an argument"
        raise document.error(f"{what} runs {judge!r}, which an agent may edit", remedy, table, "command")


def _programs(command: str, protected: Collection[str]) -> Iterator[str]:
    """Yield the words of a command that may be run; those after a protected file, which is the program, are arguments.

    Each command of a list (`a && b`) is looked at by itself.
    """
    lexer = shlex.shlex(command, posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    is_argument = False
    for word in lexer:
        if set(word) <= set(lexer.punctuation_chars):
            is_argument = False
        elif not is_argument:
            yield word
            is_argument = word.removeprefix("./") in protected
