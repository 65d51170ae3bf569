"""kpd project observe: runs a project's program once, and writes what it launches as a table for tasks."""

import sys
import time
from argparse import Namespace
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from kpd.agents.answers import PromptAnswers
from kpd.agents.catalogue import fixer_keys
from kpd.claude.purse import Purse
from kpd.cli.exit_codes import FAILED, INFRA, OK, USAGE, CliError
from kpd.cli.project import at_place, known
from kpd.cli.project_deploy import asked, show
from kpd.cli.purse import answers_of, keep_keys, purse_of, told
from kpd.cli.task_new import spent
from kpd.cli.terminal_text import columns, narrate, out, out_json, table
from kpd.production.logged.step import SourceLogging
from kpd.production.observe.errors import ObserveError
from kpd.production.observe.observation import Observation, as_json, configs, write
from kpd.production.observe.project import Unobserved, observe_project
from kpd.production.place import ProjectPlace
from kpd.text.foreign import visible
from kpd.text.numbers import counted
from kpd.workspace.config import load_config
from kpd.workspace.paths import Workspace
from kpd.workspace.projects import ProjectConfig

HOST_LACKS = ("no_cupti", "no_compiler", "no_library")


def observe(ws: Workspace, args: Namespace) -> int:
    """Observe the project, unless what is known of it is current. Raises CliError, HostError, PlaceError."""
    project = known(ws, args.name)[args.name]
    path = table_of(ws, args.name)
    began = time.monotonic()
    found = observed(ws, project, path, args.kernel, args.again, args.endless, _asks(ws, args, project))
    if found is None:
        narrate(f"{path} is current: command, signature and source are the same; --again observes anew")
        out(str(path))
        return OK
    if args.json:
        out_json(as_json(found)["capture"])
        return OK
    narrate(f"observed in {time.monotonic() - began:.1f} s")
    out(*_lines(found, project), *(f"! {visible(text)}" for text in found.problems))
    out(str(path))
    return OK


def table_of(ws: Workspace, name: str) -> Path:
    return ws.root / "refs" / f"{name}.observed.json"


Asks = Callable[[], AbstractAsyncContextManager[SourceLogging]]
"""Holds who proposes lines that log launches, for as long as its block runs."""


@dataclass(frozen=True, slots=True)
class _Asked:
    """Asks for lines in the source, and holds who is asked from then on: nobody is needed where a library observes."""

    asks: Asks

    async def observe(self, place: ProjectPlace, one: Unobserved) -> Observation:
        async with told(), self.asks() as logging:
            return await logging.observe(place, one)


def observed(
    ws: Workspace, project: ProjectConfig, path: Path, kernel: str | None = None, again: bool = False,
    endless: bool = False, asks: Asks | None = None,
) -> Observation | None:  # fmt: skip
    """Observe the project and write its table; None where the one in `path` is current, and not `again`.

    Raises CliError, HostError, PlaceError.
    """

    async def work(place: ProjectPlace) -> Observation | None:
        return await observe_project(place, path, kernel, again, endless, None if asks is None else _Asked(asks))

    try:
        found = at_place(ws, project, work)
    except ObserveError as err:
        raise CliError(visible(err.message), err.remedy, INFRA if err.kind in HOST_LACKS else FAILED) from err
    if found is not None:
        write(path, found)
    return found


def _asks(ws: Workspace, args: Namespace, project: ProjectConfig) -> Asks | None:
    """Return who is asked where no library can be loaded into the program; None where nobody is. Raises CliError."""
    who = "folder" if args.mailbox else args.writer
    if who is None:
        return None
    asks = project.approve and not args.yes
    if asks and not sys.stdin.isatty():
        message = f"{args.name} wants a change approved, also one for a single run"
        raise CliError(message, "call it on a terminal, or with --yes", USAGE)
    keep_keys(fixer_keys(who, load_config(ws)))

    async def approves(diff: str) -> bool:
        narrate(visible(diff))
        return not asks or await asked("build and run the program with this change once?")

    return asking(ws, args.name, who, purse_of(ws, f"observation of {args.name}"), approves)


def asking(
    ws: Workspace, name: str, who: str, purse: Purse, approves: Callable[[str], Awaitable[bool]],
    kept: Callable[[PromptAnswers], PromptAnswers] = lambda answers: answers,
) -> Asks:  # fmt: skip
    """Return how "model", "folder" or a coding agent is asked for lines in a project's source; `kept` keeps answers."""

    @asynccontextmanager
    async def logging() -> AsyncIterator[SourceLogging]:
        stem, when = stem_of(ws, name), "as no library can observe the program"
        try:
            async with answers_of(ws, who, purse, "observe", stem, when, "--mailbox asks in a folder") as answers:
                yield SourceLogging(kept(answers), approves, lambda text: narrate(visible(text)), show)
        finally:
            if purse.spend.calls:
                narrate(spent(purse.spend))

    return logging


def stem_of(ws: Workspace, name: str) -> Path:
    """Return what begins the name of the folder in which lines for a project's source are asked for."""
    return ws.root / "onboarding" / f"{name}.observe"


def _lines(found: Observation, project: ProjectConfig) -> list[str]:
    """Format the configurations that stand for all launches, and how much of the kernel's work they are."""
    chosen = configs(found, project.top, project.split)
    rows = [
        (one.name, *("x".join(map(str, size)) for size in (one.grid, one.block)), str(one.count), f"{one.share:.1%}",
         "" if one.target_us is None else f"{one.target_us:.1f}",
         ", ".join(f"{name}={value}" for name, value in one.scalars.items()))
        for one in chosen
    ]  # fmt: skip
    coverage = found.coverage
    head = ("CONFIG", "GRID", "BLOCK", "LAUNCHES", "SHARE", "MEDIAN US", "SCALARS")
    whole = (
        f"{visible(found.name.shown)}: {counted(coverage.counted, 'launch')}, {coverage.recorded} recorded in full, "
    )
    whole += f"{coverage.timed} with a duration; shown are {sum(one.share for one in chosen):.1%} of the table's work"
    if coverage.share_of_gpu_time is not None:
        whole += f"; the kernel is {coverage.share_of_gpu_time:.1%} of the program's time on the GPU"
    return [*table(head, rows, columns(), right="LAUNCHES SHARE MEDIAN_US"), whole]
