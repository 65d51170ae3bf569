"""Checks what the keys of task.toml say together, and what its commands run."""

import re
import shlex
from collections.abc import Callable, Collection, Iterator

from kpd.workspace.records import is_record
from kpd.workspace.specs import BenchSpec, CheckSpec, TaskFile
from kpd.workspace.strict import Document

_COMPARE = re.compile(r"elementwise|scaled|norm|exact|ulp:[1-9][0-9]{0,8}")
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
        "records": ("task", file.task.records),
        "baseline": ("task", file.task.baseline != "right"),
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
            _refuse_one(document, table, command, is_editable, protected, file.task.records)
    if bring and commands["bench"] is None:
        remedy = 'for example command = "python3 benchmark.py --json"'
        remedy += ", or write a harness.py for kpd's own runner" if runner else ""
        raise document.error(f"a task in {language} needs a 'command' in [bench]", remedy, "bench")


def refuse_bench(document: Document, spec: BenchSpec, weighted: bool) -> None:
    """Check what the keys of [bench] say together, where cases are `weighted` also with those. Raises ConfigError."""
    if spec.cases is not None and "[*]" in spec.cases.at:
        remedy = "name the one list or table that has all cases"
        raise document.error("'at' of 'cases' in [bench] leads to several places", remedy, "bench", "cases")
    if weighted and spec.direction == "higher":
        message = "[cases] has weights, so the score is a time, but 'direction' in [bench] is \"higher\""
        raise document.error(message, "remove [cases], or let the benchmark print times", "bench", "direction")


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
    document: Document, table: str, command: str, is_editable: Callable[[str], bool], protected: Collection[str],
    records: Collection[str],
) -> None:  # fmt: skip
    what = f"'command' in [{table}]"
    if not command.isprintable():
        raise document.error(f"{what} has a control character", "write it on one line", table, "command")
    try:
        words = shlex.split(command)
    except ValueError as err:
        raise document.error(f"{what} cannot be read: {err}", "write it as for a shell", table, "command") from err
    if not words:
        raise document.error(f"{what} is blank", "name a program, or remove it", table, "command")
    for word in _programs(command, protected) if table != "profile" else ():
        path = word.removeprefix("./")
        if is_editable(path) or is_record(records, path):
            why = "an agent may edit" if is_editable(path) else "is a record: a candidate may have written it"
            remedy = "what judges a candidate must be protected; after a protected program it may be an argument"
            raise document.error(f"{what} runs {word!r}, which {why}", remedy, table, "command")


def _programs(command: str, protected: Collection[str]) -> Iterator[str]:
    """Yield the words of a command that may be run; those after a protected file, which is the program, are arguments.

    Each command of a list (`a && b`) is looked at by itself. Where an output goes (`> a`) is no program.
    """
    lexer = shlex.shlex(command, posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    is_argument = is_target = False
    for word in lexer:
        if set(word) <= set(lexer.punctuation_chars):
            is_target = word in (">", ">>")
            is_argument = is_argument and is_target
        elif is_target:
            is_target = False
        elif not is_argument:
            yield word
            is_argument = word.removeprefix("./") in protected
