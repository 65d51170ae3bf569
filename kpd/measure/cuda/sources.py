"""Assembles the translation units: that of kernel.cu and harness.cu, and a candidate's others."""

from collections.abc import Callable, Mapping

from kpd.measure.driver.harness import native
from kpd.measure.driver.units import units
from kpd.workspace.run_files import read_files
from kpd.workspace.sections import Sections, split
from kpd.workspace.task import Task

KERNEL, HARNESS = "kernel.cu", "harness.cu"
UNIT = "kpd/cuda/task.cu"
SUFFIXES = (".cu", ".cpp", ".cc", ".cxx")
OWN = ("kpd_task.h", "cuda/task.cu")

Lay = Callable[[Mapping[str, bytes]], Mapping[str, bytes]]


def layer(task: Task) -> Lay:
    """Return a function that turns a candidate's files into those that are compiled.

    It splits a file in sections into two files, and adds kpd's translation unit and header.
    """
    own = {f"kpd/{name}": native(name) for name in OWN}

    def lay(files: Mapping[str, bytes]) -> dict[str, bytes]:
        if not task.sectioned:
            return {**files, **own}
        others = {name: data for name, data in files.items() if name != task.sectioned}
        return {**others, **_apart(task.sectioned, split(files[task.sectioned])), **own}

    return lay


def pristine(task: Task) -> dict[str, bytes]:
    """Return all files of the task, as `layer` arranges them."""
    return {**read_files(task.folder, task.protected), **layer(task)(read_files(task.folder, task.editable))}


def all_units(task: Task, protected: Mapping[str, bytes], files: Mapping[str, bytes]) -> tuple[str, ...]:
    """Return what is compiled of a candidate's `files`: kpd's unit, which includes kernel and harness, and the others.

    Each of the others is linked with it as it is: a kernel or a device function is known in its own unit alone.
    """
    return units(protected, layer(task)(files), UNIT, SUFFIXES)


def _apart(name: str, whole: Sections) -> dict[str, bytes]:
    """Split the sections into two files; the compiler's messages still give the lines of the original file."""
    kernel = whole.before + whole.kernel
    line = kernel.count(b"\n") + 1
    return {
        KERNEL: b'#line 1 "%b"\n' % name.encode() + kernel,
        HARNESS: b'#line %d "%b"\n' % (line, name.encode()) + whole.after,
    }
