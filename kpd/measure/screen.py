"""Before anything is built: is only what may change changed, and does the change look like a known cheat?

A tripwire explains and flags; only a touched protected file rejects by itself. The patterns are the ways in which
candidates have been seen to win a benchmark without computing faster (see KernelBench's and pygpubench's lists).
"""

import re
from collections.abc import Iterable, Mapping

from kpd.workspace.paths import inside
from kpd.workspace.sections import ProtectedSection, splice, split
from kpd.workspace.task import Task

TRIPWIRES: tuple[tuple[str, str], ...] = (
    (r"rest (of .{0,30})?(is )?unchanged|existing code|same as before|\.\.\. ?\*/", "elided code"),
    (r"TODO:? implement|not implemented", "unfinished code"),
    (r"\b(pthread_create|std::thread|fork|vfork|clone|omp parallel)\b", "starts threads or processes"),
    (r"__attribute__\s*\(\(.*\b(constructor|destructor|ifunc)\b", "runs code when loaded"),
    (r"\b(dlopen|dlsym|mprotect|ptrace|LD_PRELOAD)\b", "reaches into its process"),
    (r"\b(clock_gettime|gettimeofday|rdtscp?|mach_absolute_time)\b", "reads or replaces the clock"),
    (r"/proc/|\b(fopen|open|socket|system|popen|getenv)\s*\(", "reaches outside the kernel"),
    (r"\b(signal|kill|_?exit|abort)\s*\(|\b(sigaction|getppid)\b", "ends or hooks a process"),
    (r"\bstatic\b[^;()]*\*[^;()]*;", "keeps a pointer between calls"),
    (r"\b(perf_counter|monotonic|process_time)(_ns)?\b|\btime\.time\b", "reads or replaces the clock"),
    (
        r"\bsys\.(stdout|stderr|modules|_getframe|set(trace|profile))\b|\b(atexit|__import__|importlib|inspect)\b"
        r"|\bgc\.get_|\bos\.(dup2?|write|environ)\b",
        "reaches into the program that runs it",
    ),
    (r"\bcuda\.((Event|Stream|stream)\b|synchronize)", "has a stream or an event of its own"),
    (r"\blru_cache\b|\bfunctools\.cache\b", "remembers results"),
    (r"\bcudaStream(Create|PerThread|NonBlocking|AddCallback)|\bcudaLaunchHostFunc\b", "works beside its stream"),
    (r"\bcuda(Event(Create|Record|ElapsedTime)|Profiler)|\bnvtx", "measures itself"),
    (r"\b(clock64|globaltimer)\b", "reads or replaces the clock"),
    (r"\bcuda(Malloc|HostAlloc|HostRegister)", "takes memory of its own"),
    (r"^\s*(static\s+)?__device__[^()]*;", "keeps device memory between calls"),
    (r"\bcudaDevice(Reset|SetLimit)\b", "changes the device for others"),
    (r"\bkpd_", "reaches into the harness"),
)
_COMPILED = tuple((re.compile(pattern, re.IGNORECASE), reason) for pattern, reason in TRIPWIRES)
LONGEST_LINE = 1000
"""Characters of a line that are looked at: the patterns may take quadratic time."""
_EMPTY_BODY = re.compile(r"\)\s*\{\s*\}")


def protected_touched(editable: Iterable[str], proposed: Iterable[str]) -> tuple[str, ...]:
    """The proposed paths that are not the agent's to write."""
    allowed = set(editable)
    return tuple(path for path in proposed if path not in allowed)


def spliced(task: Task, proposed: Mapping[str, bytes]) -> dict[str, bytes]:
    """The proposed files; of one in sections only the kernel section, in the task's own file.

    Raises ProtectedSection, which names the file, and SectionError for marks in disorder.
    """
    name = task.sectioned
    if name not in proposed:
        return dict(proposed)
    pristine = split(inside(task.folder, name).read_bytes())
    try:
        return {**proposed, name: splice(pristine, proposed[name]).whole}
    except ProtectedSection as err:
        raise ProtectedSection(name) from err


def tripwires(before: Mapping[str, bytes], after: Mapping[str, bytes]) -> tuple[str, ...]:
    """What looks suspicious in the lines that the candidate adds: `kernel.c:12 reads or replaces the clock`."""
    flags: list[str] = []
    for path, data in after.items():
        old = set(before.get(path, b"").decode(errors="replace").splitlines())
        text = data.decode(errors="replace")
        for number, line in enumerate(text.splitlines(), 1):
            if line not in old:
                looked_at = line[:LONGEST_LINE]
                flags += (f"{path}:{number} {why}" for pattern, why in _COMPILED if pattern.search(looked_at))
                if len(line) > LONGEST_LINE:
                    flags.append(f"{path}:{number} has {len(line)} characters, of which {LONGEST_LINE} were looked at")
        emptied = _empty_bodies(text) - _empty_bodies(before.get(path, b"").decode(errors="replace"))
        if emptied > 0:
            flags.append(f"{path} has {emptied} more empty function bodies")
    return tuple(dict.fromkeys(flags))


def _empty_bodies(text: str) -> int:
    return len(_EMPTY_BODY.findall(text))
