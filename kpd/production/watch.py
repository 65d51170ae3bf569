"""Looks whether a program in production is still what it was: its files, its GPU and driver, and its own time."""

import json
import time
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from statistics import median
from uuid import uuid4

import msgspec

from kpd.hosts.host import JobSpec
from kpd.measure import jobs
from kpd.model.deployments import Deployment
from kpd.model.projects import Drifted, ProgramSight
from kpd.production.place import ProjectPlace
from kpd.production.program import shell_path
from kpd.workspace.run_files import read_plain, write_atomic

RUNS = 5
DRIFT = 1.1
"""The ratio of two medians from which on the program's time counts as changed, if no run of the one side is among the
other's. Times of different days are no verdict on a kernel: that takes a deployment, which measures in pairs."""


class ProgramFailed(Exception):
    """The error that a run of the program failed, or took too long; the text says how."""


class ProgramChanging(Exception):
    """The error that kpd changes the program now, or did while it was looked at; the text says for what."""


async def sight(place: ProjectPlace, runs: int = RUNS) -> ProgramSight:
    """Look at the program, and run it so many times, one run to warm up before.

    Raises ProgramChanging, ProgramFailed, HostError, PlaceError.
    """
    facts = await place.host.probe()
    async with _unchanged(place):
        found = await place.look()
        seconds = [await _run(place) for _ in range(runs + 1)][1:]
    files = {one.path: one.sha for one in found.files}
    gpus = tuple(gpu.name for gpu in facts["gpus"])
    driver = next((gpu.driver for gpu in facts["gpus"]), "")
    return ProgramSight(time.time(), files, gpus, driver, facts["cuda"], tuple(seconds))


@asynccontextmanager
async def _unchanged(place: ProjectPlace) -> AsyncIterator[None]:
    """Raise ProgramChanging unless nothing of the program is changed from the beginning of the block to its end."""
    before = await _last_change(place)
    try:
        yield
    finally:
        if await _last_change(place) != before:
            raise ProgramChanging("it was changed meanwhile")


async def _last_change(place: ProjectPlace) -> str:
    """Return the id of the last change, which has ended. Raises ProgramChanging."""
    change = (await place.status()).change
    if change is not None and change.state not in ("restored", "committed"):
        raise ProgramChanging(change.purpose)
    return "" if change is None else change.id


async def _run(place: ProjectPlace) -> float:
    project = place.project
    folder = shell_path(f"{project.root}/{project.cwd}".rstrip("/"))
    id = f"watch-{uuid4().hex}"
    script = f"cd {folder} || exit 85\n( {project.run}\n)\n"
    ran = await place.host.job(JobSpec(id, script, project.limit_run_s, env=project.env, lease=await place.lease()))
    await place.host.forget(id)
    if ran.reason == "timeout":
        raise ProgramFailed(f"it did not end within {project.limit_run}")
    if ran.rc or ran.reason:
        raise ProgramFailed(f"it ended with {ran.rc}: {jobs.tail(ran.stderr) or jobs.tail(ran.stdout) or ran.reason}")
    return ran.seconds


def expected(before: ProgramSight, deployments: Iterable[Deployment]) -> ProgramSight:
    """Return what the program should be by now: deployments that stay, and rollbacks, have left other files since.

    How long it runs with these is not known: then there are no seconds. Pure; the oldest deployment comes first.
    """
    for one in deployments:
        if one.state == "deployed" and (one.ended or 0.0) > before.at:
            before = replace(before, files={**before.files, **(one.shas or {})}, seconds=())
    return before


def drifted(before: ProgramSight, now: ProgramSight) -> Iterator[Drifted]:
    """Yield what is not as it was."""
    for path in sorted(before.files.keys() | now.files.keys()):
        if before.files.get(path, "") != now.files.get(path, ""):
            yield Drifted("file", before.files.get(path, ""), now.files.get(path, ""), path)
    if before.gpus != now.gpus:
        yield Drifted("gpus", ", ".join(before.gpus), ", ".join(now.gpus))
    if before.driver != now.driver:
        yield Drifted("driver", before.driver, now.driver)
    if before.cuda != now.cuda:
        yield Drifted("cuda", before.cuda, now.cuda)
    if not before.seconds:
        return
    first, second = sorted((before.seconds, now.seconds), key=median)
    if max(first) < min(second) and median(second) >= DRIFT * median(first):
        yield Drifted("time", f"{median(before.seconds):.4g} s", f"{median(now.seconds):.4g} s")


def last_sight(path: Path) -> ProgramSight | None:
    """Return what a program was when it was first watched; None where nothing that can be read says so."""
    try:
        return msgspec.json.decode(read_plain(path), type=ProgramSight)
    except (OSError, msgspec.DecodeError):
        return None


def keep_sight(path: Path, seen: ProgramSight) -> None:
    """Write what later looks are held against. Raises OSError."""
    write_atomic(path, json.dumps(msgspec.to_builtins(seen)) + "\n")
