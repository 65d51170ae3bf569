"""What a kernel's author must know of the harness that judges it: the cases, and how it calls the kernel.

A harness in C or CUDA is protected and long. These pieces are found by the names that kpd's contract for harnesses
(`measure/native/kpd_task.h`) gives their types; one that is written otherwise is not told.
"""

import re

from kpd.hosts.plain import plain
from kpd.workspace.sections import SectionError, split
from kpd.workspace.task import Task

LONGEST = 2000
"""Characters of one piece."""
CHECKED = "KPD_CHECK_ONLY"
_CASES = re.compile(r"\bkpd_case\s+\w+\[[^\]]*\]\s*=\s*\{(.*?)^\};", re.MULTILINE | re.DOTALL)
_CASE = re.compile(r'\{\s*"([^"]+)"\s*,\s*\{([\d\s,]*)\}\s*(?:,\s*(KPD_\w+)\s*)?(,[^"]*)?\}')
_CALL = re.compile(r"^[^\n]*\bvoid\s+call\s*\([^)]*\bkpd_case\b[^)]*\)\s*\{.*?^\}", re.MULTILINE | re.DOTALL)
_DIMS = re.compile(r'\bkpd_task_t\s+kpd_task\s*=\s*\{\s*"[^"]*"\s*,\s*\{([^}]*)\}')


def cases(text: str) -> str:
    """The cases of a harness in a few lines, those that are timed and the others; empty without any."""
    table = _CASES.search(text)
    if table is None:
        return ""
    timed: list[str] = []
    checked: list[str] = []
    for name, dims, use, more in _CASE.findall(table[1]):
        size = "x".join(dims.replace(",", " ").split())
        words = plain(name if name == size else f"{name} {size}", 80)
        words += f" (grid, block {plain(more.strip(' ,'), 80)})" if more else ""
        (checked if use == CHECKED else timed).append(words)
    named = _DIMS.search(text)
    of = " x ".join(re.findall(r'"(\w+)"', named[1])) if named else ""
    lines = [f"{title}: {', '.join(found)}." for title, found in (("Timed", timed), ("Checked only", checked)) if found]
    return "\n".join([f"Cases{f', as {of}' if of else ''}:", *lines])[:LONGEST] if lines else ""


def call(text: str) -> str:
    """The function that calls the kernel, as it is written; empty where there is none."""
    found = _CALL.search(text)
    return found[0] if found is not None and len(found[0]) <= LONGEST else ""


def text_of(task: Task) -> str:
    """The harness, empty for a task with a benchmark of its own. Raises OSError."""
    if task.sectioned:
        try:
            return split((task.folder / task.sectioned).read_bytes()).after.decode(errors="replace")
        except SectionError:  # the folder was changed since it was read
            return ""
    name = next((name for name in ("harness.cu", "harness.c") if name in task.protected), "")
    return (task.folder / name).read_text(errors="replace") if name else ""
