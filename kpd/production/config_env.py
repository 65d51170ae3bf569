"""Reads the settings of Kernelking, a file `config.env`, as a project. Nothing of the file is executed."""

import re
import shlex
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any

LINE = re.compile(r"\s*(?:export\s+)?([A-Za-z_][A-Za-z0-9_]*)\s*=(.*)")
EXPANDED = re.compile(r"[$`]")

TOLD = {
    "CLAUDE_MODEL": "write it as model in [claude]",
    "MAX_OPTIMIZE_ITERATIONS": "write it as iterations in [run]",
    "NO_PROGRESS_PATIENCE": "write it as patience in [run]",
    "NO_GAIN_THRESHOLD_PCT": "taken as min_gain_pct of the project; that of a run is min_gain_pct in [run]",
    "RUNS_KEEP_TRANSCRIPT": "write keep_prompts = true in [claude]",
    "HARNESS_BLOCK_CHECK_RETRIES": "kpd task new --from has its own number of tries",
}
"""Settings that are no project's, and where they belong. A key of a service is told apart, without its value."""
SECRETS = ("ANTHROPIC_API_KEY",)
PATHS = ("REMOTE_BASEDIR", "REMOTE_KERNEL_CU", "REMOTE_BINARY")
NEEDED = (*PATHS, "KERNEL_NAME")
TAKEN = (
    *NEEDED, "SSH_HOST", "SSH_USER", "LOCAL_CODEBASE_PATH", "LOCAL_CONTEXT_FILES", "REMOTE_LIBPATH",
    "HARNESS_GPU_ARCH", "HARNESS_NVCC_DEFINES", "HARNESS_NVCC_INCLUDES", "HARNESS_TOP_K", "HARNESS_VARIANCE_THRESHOLD",
)  # fmt: skip


NUMBERS: tuple[tuple[str, str, type[int] | type[float]], ...] = (
    ("HARNESS_TOP_K", "top", int),
    ("HARNESS_VARIANCE_THRESHOLD", "split", float),
    ("NO_GAIN_THRESHOLD_PCT", "min_gain_pct", float),
)
"""Settings that are numbers, with the project's keys for them."""
COMPACTING = "MEMORY_COMPACT_"
"""Settings of how the memory is shortened, which kpd does by itself."""


class BadSetting(ValueError):
    """The error that a line of the file cannot be taken over. `line` counts from 1; 0 means the file as a whole."""

    def __init__(self, line: int, message: str, remedy: str) -> None:
        super().__init__(message)
        self.line = line
        self.message = message
        self.remedy = remedy


@dataclass(frozen=True, slots=True)
class Setting:
    """The value of one setting, and the line where it stands."""

    line: int
    value: str


@dataclass(frozen=True, slots=True)
class Imported:
    """What the file says: keys of [project.*] with their values, the ssh address, and what belongs elsewhere."""

    keys: dict[str, Any] = field(default_factory=dict)
    address: str = ""
    told: tuple[str, ...] = ()


def settings(text: str) -> dict[str, Setting]:
    """Parse lines `NAME=value  # comment`, as a shell would read them without executing anything. Raises BadSetting.

    The last of several lines with the same name counts.
    """
    found = {}
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        match = LINE.fullmatch(line)
        if match is None:
            raise BadSetting(number, "is no setting", "write NAME=value, or # before a comment")
        name, value = match[1], match[2]
        if name not in SECRETS and EXPANDED.search(value.partition(" #")[0]):
            raise BadSetting(number, f"{name} would be expanded by a shell", "write its value: kpd executes nothing")
        try:
            words = shlex.split(value, comments=True)
        except ValueError as err:
            raise BadSetting(number, f"{name} has a quote that does not end", "close it") from err
        found[name] = Setting(number, " ".join(words))
    return found


def imported(text: str) -> Imported:
    """Understand the file's settings. Raises BadSetting, which names the setting that kpd cannot take over."""
    given = settings(text)
    for name, setting in given.items():
        if name not in (*TAKEN, *TOLD, *SECRETS) and not name.startswith(COMPACTING):
            raise BadSetting(setting.line, f"kpd has nothing for {name}", "remove the line, if kpd can do without it")
    for name in NEEDED:
        if name not in given or not given[name].value:
            raise BadSetting(0, f"{name} is missing", "a project needs it")
    root = _absolute(given, "REMOTE_BASEDIR")
    keys: dict[str, Any] = {
        "root": str(root),
        "files": (_below(given, "REMOTE_KERNEL_CU", root),),
        "binary": (_below(given, "REMOTE_BINARY", root),),
        "kernel": given["KERNEL_NAME"].value,
    }
    if context := _value(given, "LOCAL_CONTEXT_FILES").replace(",", " ").split():
        base = PurePosixPath(_value(given, "LOCAL_CODEBASE_PATH") or "/")
        keys["context"] = tuple(_relative(given["LOCAL_CONTEXT_FILES"], path, base) for path in context)
    if libraries := _value(given, "REMOTE_LIBPATH"):
        keys["env"] = {"LD_LIBRARY_PATH": libraries}
    if arch := _value(given, "HARNESS_GPU_ARCH"):
        keys["arch"] = arch
    flags = [word for name in ("HARNESS_NVCC_DEFINES", "HARNESS_NVCC_INCLUDES") for word in _value(given, name).split()]
    if flags:
        keys["flags"] = tuple(flags)
    for name, key, kind in NUMBERS:
        if name in given:
            keys[key] = _number(name, given[name], kind)
    told = [f"{name}={given[name].value}: {what}" for name, what in TOLD.items() if name in given]
    told += [f"{name}: kpd shortens its memory by itself" for name in given if name.startswith(COMPACTING)]
    told += [f"{name}: not copied; export it where the daemon starts" for name in SECRETS if name in given]
    user, host = _value(given, "SSH_USER"), _value(given, "SSH_HOST")
    return Imported(keys, f"{user}@{host}" if user and host else host, tuple(told))


def _value(given: dict[str, Setting], name: str) -> str:
    return given[name].value if name in given else ""


def _absolute(given: dict[str, Setting], name: str) -> PurePosixPath:
    path = PurePosixPath(given[name].value)
    if not path.is_absolute() or ".." in path.parts:
        raise BadSetting(given[name].line, f"{name} is no absolute path", "begin it with /")
    return path


def _below(given: dict[str, Setting], name: str, root: PurePosixPath) -> str:
    path = _absolute(given, name)
    if root not in path.parents:
        message = f"{name} is not below REMOTE_BASEDIR"
        raise BadSetting(given[name].line, message, "give a REMOTE_BASEDIR around both: kpd changes nothing outside it")
    return str(path.relative_to(root))


def _relative(setting: Setting, path: str, base: PurePosixPath) -> str:
    pure = PurePosixPath(path)
    if base in pure.parents and pure.is_absolute():
        pure = pure.relative_to(base)
    if pure.is_absolute() or ".." in pure.parts:
        message = f"LOCAL_CONTEXT_FILES names {path}, which is not below LOCAL_CODEBASE_PATH"
        raise BadSetting(setting.line, message, "give it relative to that folder")
    return str(pure)


def _number(name: str, setting: Setting, kind: type[int] | type[float]) -> int | float:
    try:
        return kind(setting.value)
    except ValueError as err:
        raise BadSetting(setting.line, f"{name} is no number: {setting.value!r}", "write a number") from err
