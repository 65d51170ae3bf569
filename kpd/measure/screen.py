"""Before anything is built: is only what may change changed, and does the change look like a known cheat?

A tripwire explains and flags; only a touched protected file rejects by itself. The patterns are the ways in which
candidates have been seen to win a benchmark without computing faster (see KernelBench's and pygpubench's lists).
"""

import re
from collections.abc import Iterable, Mapping

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
)
_COMPILED = tuple((re.compile(pattern, re.IGNORECASE), reason) for pattern, reason in TRIPWIRES)
LONGEST_LINE = 1000
"""Characters of a line that are looked at: the patterns may take quadratic time."""
_EMPTY_BODY = re.compile(r"\)\s*\{\s*\}")


def protected_touched(editable: Iterable[str], proposed: Iterable[str]) -> tuple[str, ...]:
    """The proposed paths that are not the agent's to write."""
    allowed = set(editable)
    return tuple(path for path in proposed if path not in allowed)


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
