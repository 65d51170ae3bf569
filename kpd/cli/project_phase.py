"""kpd project phase PROJECT RUN PHASE: a phase before a run's first iteration, in a process that the daemon began."""

import os
import signal
import tempfile
import time
from argparse import Namespace
from collections.abc import Callable
from dataclasses import asdict
from itertools import count
from pathlib import Path

from kpd.agents.answers import KeptAnswer, KeptAnswers, PromptAnswers
from kpd.agents.catalogue import agent_keys
from kpd.claude.errors import Unavailable
from kpd.claude.purse import Purse, spent_for
from kpd.cli import task_new
from kpd.cli.ask import query
from kpd.cli.exit_codes import FAILED, INFRA, OK, CliError
from kpd.cli.log import run_of
from kpd.cli.project import at_place, known
from kpd.cli.project_check import checks_of
from kpd.cli.project_observe import asking, observed, table_of
from kpd.cli.purse import keep_keys, purse_of
from kpd.cli.terminal_text import narrate
from kpd.hosts.errors import HostError
from kpd.model.hosts import Check
from kpd.model.preparation import BeforePhase, PhaseResult, TaskOrder, account_of
from kpd.model.run import Run
from kpd.model.spending import NOTHING, Purpose
from kpd.onboarding import prompt
from kpd.onboarding.folder import copied, has_harness, has_kernel, made_of
from kpd.production.extract import bring, facts_of
from kpd.production.place import ProjectPlace
from kpd.production.program import PlaceError
from kpd.text.foreign import visible
from kpd.workspace.config import load_config
from kpd.workspace.paths import Workspace, WorkspaceError
from kpd.workspace.project_runs import ProjectBusy, ProjectRuns
from kpd.workspace.projects import ProjectConfig


def phase(ws: Workspace, args: Namespace) -> int:
    """Do the phase, and note before and after it; return 1 where it failed. Raises CliError where it cannot begin."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # what was begun on the host is ended first
    project, config, rows = known(ws, args.name)[args.name], load_config(ws), ProjectRuns.of(ws, args.name)
    try:
        with rows.locked():
            run = run_of(ws, query(ws, "status"), args.run)  # now: who stops it later ends this process
            if run.order is None or run.deploy != args.name or run.over:
                message = f"{run.id} makes no task of {args.name} before its first iteration"
                raise CliError(message, "kpd project run queues a run that does")
            keep_keys((config.claude.api_key_env, *agent_keys(run.order.writer, config)))
            rows.begins(run.id, args.phase)
            began = time.monotonic()
            result = _done(ws, project, run, run.order, args.phase, rows)
            rows.ends(run.id, args.phase, result, time.monotonic() - began)
    except ProjectBusy as err:
        raise CliError(f"another process is at a phase of {args.name}", "wait until that has ended", INFRA) from err
    return FAILED if result.failed else OK


def _done(
    ws: Workspace, project: ProjectConfig, run: Run, order: TaskOrder, name: BeforePhase, rows: ProjectRuns
) -> PhaseResult:
    """Do a phase; return what it came to, also where that is an error."""
    does: dict[BeforePhase, Callable[[], PhaseResult]] = {
        "check": lambda: _check(ws, project),
        "observe": lambda: _observe(ws, project, run, order, rows),
        "task": lambda: _task(ws, project, run, order, rows),
    }
    try:
        return does[name]()
    except CliError as err:
        found = PhaseResult(failed=err.message, remedy=err.remedy, infra=err.code == INFRA)
    except (HostError, PlaceError) as err:
        found = PhaseResult(failed=visible(err.message), remedy=err.remedy, infra=isinstance(err, HostError))
    except (WorkspaceError, Unavailable) as err:
        found = PhaseResult(failed=err.message, remedy=err.remedy, infra=isinstance(err, Unavailable))
    except OSError as err:
        found = PhaseResult(failed=f"{err.filename or name}: {err.strerror or err}", infra=True)
    narrate(visible(f"{found.failed}; {found.remedy}" if found.remedy else found.failed))
    return found


def _check(ws: Workspace, project: ProjectConfig) -> PhaseResult:
    """Check the project; what its host lacks is told, and may do without. Raises CliError, HostError, PlaceError."""
    parts: list[list[Check]] = []
    _, _, linked = checks_of(ws, project, parts.append)
    of_host, *of_project = ([one for one in part if one.state == "bad"] for part in parts)
    wrong = of_project[0] if linked else of_host
    if wrong:
        told = "; ".join(f"{one.name}: {one.found}" for one in wrong)
        raise CliError(visible(told), wrong[0].remedy, FAILED if linked else INFRA)
    for one in of_host:
        narrate(visible(f"{one.name}: {one.found}; {one.remedy}"))
    return PhaseResult(lacks=tuple(visible(f"{one.name}: {one.found}") for one in of_host))


def _observe(ws: Workspace, project: ProjectConfig, run: Run, order: TaskOrder, rows: ProjectRuns) -> PhaseResult:
    """Observe the project; where no library can, and no change needs approval, ask the run's writer for lines."""

    async def approves(diff: str) -> bool:
        narrate(visible(diff))
        return True

    who, purse = "folder" if order.mailbox else order.writer or "model", _purse(ws, run, "observe")
    asks = None if project.approve else asking(ws, run.deploy, who, purse, approves, _keeping(run, rows))
    return PhaseResult(anew=observed(ws, project, table_of(ws, run.deploy), asks=asks) is not None)


def _task(ws: Workspace, project: ProjectConfig, run: Run, order: TaskOrder, rows: ProjectRuns) -> PhaseResult:
    """Return the task of the kernel as it is in production: the one that was made of just that, or a new one."""
    table = Path(order.observed) if order.observed else table_of(ws, run.deploy)

    async def work(place: ProjectPlace) -> PhaseResult:
        with tempfile.TemporaryDirectory(prefix="kpd-sources-") as folder:
            brought = await bring(place, Path(folder))
            facts = facts_of(brought, project.kernel, table, order.top or project.top, project.split)
        key = made_of(facts, prompt.user(facts, order.truth))
        made = [name for name in rows.tasks_of(key) if has_harness(ws.tasks / name, facts)]
        if same := next((name for name in made if has_kernel(ws.tasks / name, facts)), None):
            return PhaseResult(anew=False, task=same)
        name = order.task or _free_name(ws, run.deploy)
        rows.makes(run.id, name, key)
        if made:
            copied(ws.tasks / made[0], ws.tasks, name, facts)
            return PhaseResult(task=name, of=made[0])
        asks = Namespace(
            name=name, asks=run.task, mailbox=order.mailbox, writer=order.writer, truth=order.truth, tries=order.tries,
            builds=order.builds, arch=order.arch,
        )  # fmt: skip

        await task_new.make_at(ws, place, asks, facts, _purse(ws, run, "harness"), _keeping(run, rows))
        return PhaseResult(task=name)

    return at_place(ws, project, work)


def _purse(ws: Workspace, run: Run, purpose: Purpose) -> Purse:
    """Return the account of a phase, with what a process that was killed at it has spent. Raises Unavailable."""
    of = account_of(run.id, run.deploy)
    return purse_of(ws, of, spent_for(ws.root, of, run.queued).get(purpose, NOTHING))


def _keeping(run: Run, rows: ProjectRuns) -> Callable[[PromptAnswers], PromptAnswers]:
    """Return what keeps the answers of whoever is asked, and gives again those that a killed process had."""

    def kept(answers: PromptAnswers) -> PromptAnswers:
        former = rows.answers(run.id, run.queued, KeptAnswer)
        return KeptAnswers(answers, former, lambda one: rows.answered(run.id, **asdict(one)))

    return kept


def _free_name(ws: Workspace, project: str) -> str:
    names = (project if number == 1 else f"{project}-{number}" for number in count(1))
    return next(name for name in names if not os.path.lexists(ws.tasks / name))
