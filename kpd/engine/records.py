"""Keeps what the task's own tools wrote while they ran a candidate, in the folder of its iteration."""

import base64
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from kpd.engine.attempt import Attempt
from kpd.hosts.errors import HostError
from kpd.measure.bench import CheckFailed
from kpd.workspace.editable import is_plain
from kpd.workspace.records import is_record

FILE = "records.json"
"""What the runner leaves in a job's `out/`, and what the iteration's folder has of it."""
MOST_BYTES = 2 << 20
"""The most that FILE may have; the runner keeps less."""


@asynccontextmanager
async def keeping_records(attempt: Attempt, job: Callable[[], str]) -> AsyncIterator[None]:
    """Run a block that measures in a job, then keep the records of it, also where the candidate failed.

    They are never staged again: no later run of a command finds them. Raises HostError.
    """
    try:
        yield
    except CheckFailed:
        await _keep(attempt, job())
        raise
    await _keep(attempt, job())


async def _keep(attempt: Attempt, job: str) -> None:
    if not attempt.task.records:
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
        left_out = [str(path) for path in said["left_out"]]
    except (ValueError, KeyError, TypeError, AttributeError) as err:  # a candidate may have written it
        attempt.keep(FILE, {"unreadable": str(err)})
        return
    wanted = {path: data for path, data in files.items() if is_plain(path) and is_record(attempt.task.records, path)}
    for path, data in wanted.items():
        attempt.keep(f"records/{path}", data)
    kept = {path: len(data) for path, data in wanted.items()}
    attempt.keep(FILE, {"files": kept, "left_out": sorted({*left_out, *(files.keys() - wanted.keys())})})
