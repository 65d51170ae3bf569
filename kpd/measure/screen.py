"""Screens a candidate before the build: protected files, and code that looks like a known cheat.

A tripwire explains and flags; only a touched protected file rejects by itself. The patterns are the ways in which
candidates have been seen to win a benchmark without computing faster (see KernelBench's and pygpubench's lists).
"""

import re
from collections.abc import Iterable, Iterator, Mapping

from kpd.measure.omitted_code import elided
from kpd.workspace.paths import inside
from kpd.workspace.sections import ProtectedSection, splice, split
from kpd.workspace.task import Task

UNFINISHED = r"\b(TODO|FIXME)\W{0,3}implement|\bimplementation (goes )?here\b|\byour code (goes )?here\b"
"""Text that asks somebody else to fill in code."""
TRIPWIRES: tuple[tuple[str, str], ...] = (
    (r"same as before", "elided code"),
    (UNFINISHED + "|not implemented", "unfinished code"),
    (r"\b(pthread_create|std::thread|fork|vfork|clone|omp parallel)\b", "starts threads or processes"),
    (r"__attribute__\s*\(\(.*\b(constructor|destructor|ifunc)\b", "runs code when loaded"),
    (r"\b(dlopen|dlsym|mprotect|ptrace|LD_PRELOAD)\b", "reaches into its process"),
    (r"\b(clock_gettime|gettimeofday|rdtscp?|mach_absolute_time)\b", "reads or replaces the clock"),
    (r"/proc/|\b(fopen|open|socket|system|popen|getenv)\s*\(", "reaches outside the kernel"),
    (r"\b(signal|kill|_?exit|abort)\s*\(|\b(sigaction|getppid)\b", "ends or hooks a process"),
    (r"\bstatic\b[^;()]*\*[^;()]*;", "keeps a pointer between calls"),
    (r"\bcudaStream(Create|PerThread|NonBlocking|AddCallback)|\bcudaLaunchHostFunc\b", "works beside its stream"),
    (r"\bcuda(Event(Create|Record|ElapsedTime)|Profiler)|\bnvtx", "measures itself"),
    (r"\b(clock64|globaltimer)\b", "reads or replaces the clock"),
    (r"\bcuda(Malloc|HostAlloc|HostRegister)", "takes memory of its own"),
    (r"^\s*(static\s+)?__device__[^()]*;", "keeps device memory between calls"),
    (r"\bcudaDevice(Reset|SetLimit)\b", "changes the device for others"),
    (r"\bkpd_", "reaches into the harness"),
)
PYTHON_TRIPWIRES: tuple[tuple[str, str], ...] = (
    (r"\b(perf_counter|monotonic|process_time)(_ns)?\b|\btime\.time\b", "reads or replaces the clock"),
    (
        r"\bsys\.(std(in|out|err)|modules|argv|_getframe|set(trace|profile))\b|\bos\.(dup2?|write|environ)\b"
        r"|\b(atexit|__import__|importlib|inspect|builtins|__builtins__|__main__|__mp_main__)\b|\bgc\.|\bimport gc\b",
        "reaches into the program that runs it",
    ),
    (r"\b(SystemExit|KeyboardInterrupt|os\._exit|os\.abort)\b|\bquit\s*\(", "ends or hooks a process"),
    (r"\bprint\s*\(", "prints where a result is looked for"),
    (r"\.(read|write)_(text|bytes)\s*\(", "reaches outside the kernel"),
    (r"\bcuda\.((Event|Stream|stream)\b|synchronize)", "has a stream or an event of its own"),
    (
        r"(^|;)\s*(torch|triton|tl|numpy|np|math|time|json|statistics|os|sys)(\.\w+)+\s*[-+*/|&]?=(?!=)|\bsetattr\s*\(",
        "replaces a part of a library",
    ),
    (
        r"\blru_cache\b|\bfunctools\.cache\b|\bid\s*\(|\bdata_ptr\b|\bweakref\b|\b\w*(cache|memo)\w*\s*(:[^=]*)?=\s*[{\[]"
        r"|^\s*(global|nonlocal)\s",
        "remembers results",
    ),
)
"""The patterns for Python, where a candidate may share a process with the code that judges it."""
_COMPILED, _COMPILED_PYTHON = (
    tuple((re.compile(pattern, re.IGNORECASE), reason) for pattern, reason in table)
    for table in (TRIPWIRES, (*TRIPWIRES, *PYTHON_TRIPWIRES))
)
LONGEST_LINE = 1000
"""Characters of a line that are searched: the patterns may take quadratic time."""
_EMPTY_BODY = re.compile(r"\)\s*\{\s*\}")


def protected_touched(editable: Iterable[str], proposed: Iterable[str]) -> tuple[str, ...]:
    """Return the proposed paths that the agent may not write."""
    allowed = set(editable)
    return tuple(path for path in proposed if path not in allowed)


def spliced(task: Task, proposed: Mapping[str, bytes]) -> dict[str, bytes]:
    """Return the proposed files; for the file in sections, only its kernel section is taken, into the task's own file.

    Raises ProtectedSection, which names the file, and SectionError for section marks that are missing or misplaced.
    """
    name = task.sectioned
    if name not in proposed:
        return dict(proposed)
    pristine = split(inside(task.folder, name).read_bytes())
    try:
        return {**proposed, name: splice(pristine, proposed[name]).whole}
    except ProtectedSection as err:
        raise ProtectedSection(name) from err


def tripwires(before: Mapping[str, bytes], after: Mapping[str, bytes], protected: Iterable[str]) -> tuple[str, ...]:
    """List what looks suspicious in the lines that the candidate adds: `kernel.c:12 reads or replaces the clock`.

    `protected` are the task's other files: a candidate in Python must not import them.
    """
    python = (*_COMPILED_PYTHON, *_imports(protected))
    flags: list[str] = []
    for path, data in after.items():
        wires = python if path.endswith(".py") else _COMPILED
        old = before.get(path, b"")
        for number, line in added(old, data):
            looked_at = line[:LONGEST_LINE]
            if elided(path, looked_at):
                flags.append(f"{path}:{number} elided code")
            flags += (f"{path}:{number} {why}" for pattern, why in wires if pattern.search(looked_at))
            if len(line) > LONGEST_LINE:
                flags.append(f"{path}:{number} has {len(line)} characters, of which {LONGEST_LINE} were looked at")
        emptied = _empty_bodies(data) - _empty_bodies(old)
        if emptied > 0:
            flags.append(f"{path} has {emptied} more empty function bodies")
    return tuple(dict.fromkeys(flags))


def added(before: bytes, after: bytes) -> Iterator[tuple[int, str]]:
    """Yield the lines of `after` that appear nowhere in `before`, with their numbers from 1."""
    old = set(before.decode(errors="replace").splitlines())
    for number, line in enumerate(after.decode(errors="replace").splitlines(), 1):
        if line not in old:
            yield number, line


def _imports(protected: Iterable[str]) -> Iterator[tuple[re.Pattern[str], str]]:
    """Yield a pattern for an import of one of these files, by its name or its folder's name."""
    modules = {part for path in protected if path.endswith(".py") for part in path.removesuffix(".py").split("/")}
    if modules:
        names = "|".join(map(re.escape, sorted(modules)))
        yield re.compile(rf"(^|[;:])\s*(import|from)\b.*\b({names})\b"), "imports a protected file"


def _empty_bodies(data: bytes) -> int:
    return len(_EMPTY_BODY.findall(data.decode(errors="replace")))
