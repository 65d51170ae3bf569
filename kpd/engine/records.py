"""Keeps what the task's own tools wrote while they ran a candidate, in the folder of its iteration."""

import base64
import json
from collections.abc import AsyncIterator, Callable, Container
from contextlib import asynccontextmanager
from pathlib import PurePosixPath

from kpd.engine.attempt import Attempt
from kpd.hosts.errors import HostError
from kpd.measure.bench import CheckFailed
from kpd.model.status import StepName
from kpd.text.foreign import plain
from kpd.workspace.editable import is_plain
from kpd.workspace.records import is_record
from kpd.workspace.run_files import write_tree

FILE = "records.json"
"""What the runner leaves in a job's `out/`, and what the iteration's folder has of it."""
MOST_BYTES = 2 << 20
"""The most that FILE may have; the runner keeps less."""
MOST_NAMES = 100
"""So many names of files that were left out are kept."""


@asynccontextmanager
async def keeping_records(attempt: Attempt, step: StepName, job: Callable[[], str]) -> AsyncIterator[None]:
    """Run a block that measures in a job, then keep the records of it, also where the candidate failed.

    Each step of each attempt has a folder of its own. They are never staged again: no later run of a command finds
    them. Raises HostError, OSError.
    """
    try:
        yield
    except CheckFailed:
        await _keep(attempt, step, job())
        raise
    await _keep(attempt, step, job())


async def _keep(attempt: Attempt, step: StepName, job: str) -> None:
    if not attempt.task.records or attempt.in_place:
        return
    try:
        raw = await attempt.bench.output(job, FILE, MOST_BYTES)
    except HostError as err:
        if err.kind == "not_found":  # the command was ended before its first run was over
            return
        raise
    try:
        said = json.loads(raw)
        files = {path: base64.b64decode(text) for path, text in said["files"].items()}
        left_out = {str(path) for path in said["left_out"]}
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as err:  # a candidate may have written it
        attempt.keep(FILE, {"unreadable": plain(str(err))})
        return
    wanted = {path: data for path, data in files.items() if _may_be_kept(attempt, path) and not _below(path, files)}
    folder = f"records/{step}-{attempt.number_of_attempt}"
    write_tree(attempt.folder.folder / folder, wanted)
    kept = {path: len(data) for path, data in wanted.items()}
    names = sorted({plain(path) for path in left_out | (files.keys() - wanted.keys())})[:MOST_NAMES]
    attempt.keep(FILE, {"folder": folder, "files": kept, "left_out": names})


def _may_be_kept(attempt: Attempt, path: str) -> bool:
    return is_plain(path) and is_record(attempt.task.records, path)


def _below(path: str, files: Container[str]) -> bool:
    """Return whether one of the files is a folder of the path: they cannot both be kept."""
    return any(above.as_posix() in files for above in PurePosixPath(path).parents)
