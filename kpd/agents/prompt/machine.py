"""Describes the machine and the harness, before anything is measured."""

import re
from dataclasses import dataclass
from typing import Literal

from kpd.text.foreign import plain
from kpd.workspace.sections import SectionError, split
from kpd.workspace.task import Task

Kind = Literal["cpu", "gpu"]


@dataclass(frozen=True, slots=True)
class Sm:
    """The limits of one SM; `shared_kb` is all of its shared memory, `block_kb` the most of it for one block."""

    warps: int
    blocks: int
    shared_kb: int
    block_kb: int


_LIMITS: dict[str, Sm] = {
    "70": Sm(64, 32, 96, 96),
    "75": Sm(32, 16, 64, 64),
    "80": Sm(64, 32, 164, 163),
    "86": Sm(48, 16, 100, 99),
    "87": Sm(48, 16, 164, 163),
    "89": Sm(48, 24, 100, 99),
    "90": Sm(64, 32, 228, 227),
    "100": Sm(64, 32, 228, 227),
    "103": Sm(64, 32, 228, 227),
    "120": Sm(48, 24, 100, 99),
    "121": Sm(48, 24, 100, 99),
}


def kind_of(arch: str) -> Kind:
    """Return the kind of device that `arch` belongs to: "sm_90" and the like are GPUs, all others CPUs."""
    return "gpu" if arch.startswith("sm_") else "cpu"


def described(device: str, arch: str) -> str:
    """Describe the device, with the limits of an SM where they are known."""
    name = f"{device or 'not named'}{f' ({arch})' if arch else ''}"
    found = re.fullmatch(r"sm_(\d+)", arch)
    limits = _LIMITS.get(found[1]) if found else None
    if found is None or limits is None:
        return name
    return (
        f"{name}. An SM holds {limits.warps} warps, {limits.blocks} blocks, 65,536 registers and {limits.shared_kb} KB"
        f" of shared memory ({limits.block_kb} KB a block; over 48 KB with cudaFuncSetAttribute)."
    )


LONGEST = 2000
"""Characters of one piece."""
CHECKED = "KPD_CHECK_ONLY"
_CASES = re.compile(r"\bkpd_case\s+\w+\[[^\]]*\]\s*=\s*\{(.*?)^\};", re.MULTILINE | re.DOTALL)
_CASE = re.compile(r'\{\s*"([^"]+)"\s*,\s*\{([\d\s,]*)\}\s*(?:,\s*(KPD_\w+)\s*)?(,[^"]*)?\}')
_CALL = re.compile(r"^[^\n]*\bvoid\s+call\s*\([^)]*\bkpd_case\b[^)]*\)\s*\{.*?^\}", re.MULTILINE | re.DOTALL)
_DIMS = re.compile(r'\bkpd_task_t\s+kpd_task\s*=\s*\{\s*"[^"]*"\s*,\s*\{([^}]*)\}')


def cases(text: str) -> str:
    """List the cases of a harness in a few lines, the timed ones and the others; empty if it has none."""
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
    """Find the function that calls the kernel, as it is written; empty where there is none."""
    found = _CALL.search(text)
    return found[0] if found is not None and len(found[0]) <= LONGEST else ""


def text_of(task: Task) -> str:
    """Read the task's harness; empty for a task with a benchmark of its own. Raises OSError."""
    if task.sectioned:
        try:
            return split((task.folder / task.sectioned).read_bytes()).after.decode(errors="replace")
        except SectionError:  # the folder was changed since it was read
            return ""
    name = next((name for name in ("harness.cu", "harness.c") if name in task.protected), "")
    return (task.folder / name).read_text(errors="replace") if name else ""
