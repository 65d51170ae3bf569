"""Screens a candidate before the build: protected files, and Python that looks like a known cheat.

What compilers make an object of is looked at as an object (see `objects`). Python has none, so its text is searched
for the ways in which candidates have been seen to win a benchmark without computing faster.
"""

import re
from collections.abc import Iterable, Iterator, Mapping

from kpd.model.flags import InSource
from kpd.source.imported import imported
from kpd.source.text import code
from kpd.workspace.paths import inside
from kpd.workspace.sections import ProtectedSection, splice, split
from kpd.workspace.task import Task

UNFINISHED = r"\b(TODO|FIXME)\W{0,3}implement|\bimplementation (goes )?here\b|\byour code (goes )?here\b"
"""Text that asks somebody else to fill in code."""
PATTERNS: tuple[tuple[str, str], ...] = (
    (r"\b(fork|Process(PoolExecutor)?)\s*\(", "starts processes"),
    (
        r"\b(dlopen|dlsym|mprotect|ptrace|LD_PRELOAD)\b|(?<!\.)\bctypes\b|\.ctypes\b(?!\.data\b)",
        "reaches into its process",
    ),
    (r"/proc/|\b(open|socket|system|popen|getenv)\s*\(|\.(read|write)_(text|bytes)\s*\(", "reaches outside the kernel"),
    (
        r"\b(perf_counter|monotonic|process_time)(_ns)?\b|\btime\.time\b|\b(clock64|globaltimer|clock_gettime|rdtscp?)\b",
        "reads or replaces the clock",
    ),
    (
        r"\bsys\.(std(in|out|err)|modules|argv|_getframe|set(trace|profile))\b|\bos\.(dup2?|write|environ)\b"
        r"|\b(__import__|importlib|inspect|builtins|__builtins__|__main__|__mp_main__)\b|\bgc\.|\bimport gc\b",
        "reaches into the program that runs it",
    ),
    (
        r"\b(SystemExit|KeyboardInterrupt|os\._exit|os\.abort)\b|\b(quit|exit|signal|kill|abort)\s*\(",
        "ends or hooks a process",
    ),
    (r"\bprint\s*\(", "prints where a result is looked for"),
    (
        r"(^|;)\s*(torch|triton|tl|numpy|np|math|time|json|statistics|os|sys)(\.\w+)+\s*[-+*/|&]?=(?!=)|\bsetattr\s*\(",
        "replaces a part of a library",
    ),
)
"""The patterns for Python, where a candidate may share a process with the code that judges it."""
_COMPILED = tuple((re.compile(pattern, re.IGNORECASE), reason) for pattern, reason in PATTERNS)
_FORMATTED = re.compile(r"""\b(?:[ft]r?|r[ft])['"]""", re.IGNORECASE)
_THREADS = (re.compile(r"\bThread(PoolExecutor)?\s*\(", re.IGNORECASE), "starts threads")
_AT_EXIT = (re.compile(r"\batexit\b"), "reaches into the program that runs it")
_UNWATCHED = (_THREADS, _AT_EXIT)
"""The same where nobody stops threads while no call of the candidate is timed, or has its process end by itself."""
LONGEST_LINE = 1000
"""Characters of a line that are searched: the patterns may take quadratic time."""


def protected_touched(task: Task, proposed: Iterable[str], removed: Iterable[str] = ()) -> tuple[str, ...]:
    """Return the proposed paths that an agent may not write, and those that it may not remove."""
    touched = (path for path in proposed if not task.allows(path))
    return tuple(dict.fromkeys([*touched, *(path for path in removed if not task.may_remove(path))]))


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


def suspicious(
    before: Mapping[str, bytes],
    after: Mapping[str, bytes],
    protected: Iterable[str],
    stops_threads: bool = False,
    commanded: bool = False,
) -> tuple[InSource, ...]:
    """List what looks suspicious in the lines of Python that the candidate adds.

    `protected` are the task's other files: a candidate must not import them. `stops_threads`: while no call of the
    candidate is timed, and its process has to end by itself (see `catalogue`). `commanded`: a command of the task's may
    run it as the main program, or its docstrings.
    """
    plain = _without_comments if commanded else _when_imported
    patterns = (*_COMPILED, *_imports(protected), *(() if stops_threads else _UNWATCHED))
    flags: list[InSource] = []
    for path, data in after.items():
        if not path.endswith(".py"):
            continue
        for number, line in added(plain(path, before.get(path, b"")), plain(path, data)):
            place = f"{path}:{number}"
            flags += (InSource(place, why) for pattern, why in patterns if pattern.search(line[:LONGEST_LINE]))
            if len(line) > LONGEST_LINE:
                flags.append(InSource(place, f"has {len(line)} characters, of which {LONGEST_LINE} were looked at"))
    return tuple(dict.fromkeys(flags))


def _when_imported(path: str, data: bytes) -> bytes:
    """Leave out what importing a Python file does not run, too."""
    return _without_comments(path, imported(data.decode(errors="replace")).encode())


def _without_comments(path: str, data: bytes) -> bytes:
    """Leave out the comments of a Python file, and blanks at the end of its lines.

    One with formatted text stays as it is: a sign in braces there may be no comment, and hide code behind it.
    """
    text = data.decode(errors="replace")
    if not _FORMATTED.search(text):
        text = code(path, text, literals=True)
    return "\n".join(line.rstrip() for line in text.split("\n")).encode()


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
