"""Prepares a task on a host, for every language."""

from dataclasses import replace
from typing import Any, Literal, cast

from kpd.hosts.host import Host
from kpd.measure.bench import Bench, Say
from kpd.measure.flags import AllowList
from kpd.model.hosts import Device, Need
from kpd.workspace.entry_points import PlugInError, referred
from kpd.workspace.languages import LANGUAGES, Language
from kpd.workspace.task import Task


async def prepare(host: Host, task: Task, device: Device, say: Say) -> Bench:
    """Build what the task's candidates are measured with, and measure the peaks of the device.

    Raises BuildError and TaskError when the task is at fault, HostError, and PlugInError.
    """
    language = _of(task)
    own = language.runner if task.bench.command is None and language.runner else language.bench
    make_ready = _imported(task, "is measured with", own)
    return cast(Bench, await make_ready(host, task, device, say))


def flags_of(task: Task) -> AllowList | None:
    """Return the compiler flags that a candidate may set; None where kpd knows no compiler. Raises PlugInError."""
    reference = _of(task).flags
    if not reference:
        return None
    return replace(cast(AllowList, _imported(task, "has the flags of", reference)), fast_math=task.check.fast_math)


def device_of(language: str, need: Need) -> Literal["cpu", "gpu"]:
    """Return the kind of device that a task in this language needs; one with its own benchmark may ask for a GPU."""
    if need.device:
        return need.device
    try:
        found = LANGUAGES.get(language)
    except PlugInError:  # reported where the task is read
        found = None
    if found is None:
        return "cpu"
    return "gpu" if found.commands and (need.gpu or need.arch.startswith("sm_")) else found.device


def stops_threads(task: Task) -> bool:
    """Return whether a candidate's threads are stopped while none of its calls is timed.

    Kpd's own runner does so. On a GPU they can run in calls of the incumbent, with which it shares a process; nor does
    that end by itself there.
    """
    return task.bench.command is None and device_of(task.language, task.need) == "cpu"


def _of(task: Task) -> Language:
    found = LANGUAGES.get(task.language)
    assert found is not None  # a task with an unknown language cannot be loaded
    return found


def _imported(task: Task, does: str, reference: str) -> Any:
    try:
        return referred(reference)
    except (ImportError, AttributeError) as err:
        message = f"{task.language} {does} {reference}, which cannot be imported: {err}"
        raise PlugInError(message, "correct the plug-in or uninstall it, then restart the daemon") from err
