"""kpd project run: from a project to a run of its kernel, and on into production; what is done already is left out."""

import os
import tempfile
from argparse import Namespace
from itertools import count
from pathlib import Path

from kpd.cli import task_new
from kpd.cli.ask import query
from kpd.cli.daemon import ensure_daemon
from kpd.cli.exit_codes import FAILED, INFRA, USAGE, CliError
from kpd.cli.log import run_of
from kpd.cli.project import at_place, known
from kpd.cli.project_check import checks_of
from kpd.cli.project_observe import observed, table_of
from kpd.cli.run import enqueue, followed
from kpd.cli.terminal_text import narrate
from kpd.model import codec
from kpd.model.deploying import goes_on
from kpd.model.deployments import DeploymentCard
from kpd.model.hosts import Check
from kpd.model.state import State
from kpd.onboarding import prompt
from kpd.onboarding.folder import copied, has_harness, has_kernel, made_of
from kpd.production.extract import bring, facts_of
from kpd.production.place import ProjectPlace
from kpd.text.foreign import visible
from kpd.workspace.paths import Workspace
from kpd.workspace.project_runs import ProjectBusy, ProjectRuns
from kpd.workspace.projects import ProjectConfig
from kpd.workspace.task import NAME


def run(ws: Workspace, args: Namespace) -> int:
    """Check, observe, make the task, and queue a run of it that goes on into production; with --wait follow that.

    Every phase may be repeated: whoever was killed calls this again. Raises CliError, HostError, PlaceError.
    """
    project = known(ws, args.name)[args.name]
    task_new.check_arch(args)
    if args.task is not None and not NAME.fullmatch(args.task):
        raise CliError(f"{args.task!r} is not a task's name", "use letters, digits, _ and -", USAGE)
    if args.timeout is not None and not args.wait:
        raise CliError("--timeout limits the waiting of --wait", "add --wait", USAGE)
    if args.observed is not None and not args.observed.is_file():
        what = f"{visible(str(args.observed))}: no such file"
        raise CliError(what, "name a table of launches, or leave it out", USAGE)
    rows = ProjectRuns(ws.root / "refs" / f"{args.name}.runs.jsonl")
    try:
        with rows.locked():
            if (id := _under_way(ws, args.name, rows)) is None:
                _check(ws, project, rows)
                table = args.observed or _observe(ws, args.name, project, rows)
                task = _task(ws, args, project, table, rows)
                id = _queue(ws, args, project, task, rows)
    except ProjectBusy as err:
        raise CliError(f"another process prepares a run of {args.name}", "wait until that has ended", INFRA) from err
    return followed(ws, args, id)


def _under_way(ws: Workspace, name: str, rows: ProjectRuns) -> str | None:
    """Return the project's last run if that, or the deployment of its winner, has not ended; None for none.

    One that was queued by a process that was killed before it could note its id is found by its task.
    """
    last = rows.last_run
    if last is None:
        return None
    status = query(ws, "status")
    cards = [codec.decode(codec.encode(card), DeploymentCard) for card in status["deployments"]]
    for id in status["runs"]:
        if last.get("run", id) != id:
            continue
        run = run_of(ws, status, id)
        mine = (run.task, run.deploy) == (last["task"], name) and run.queued >= last["at"]
        if mine and goes_on(State(runs={id: run}, deployments={card.key: card for card in cards}), run):
            narrate(f"{id} of {run.task}, or the deployment of its winner, goes on")
            return str(id)
    return None


def _check(ws: Workspace, project: ProjectConfig, rows: ProjectRuns) -> None:
    """Check the project; what its host lacks is told, and may do without. Raises CliError."""
    with rows.phase("check"):
        narrate("check: the host, and the project's files")
        parts: list[list[Check]] = []
        _, _, linked = checks_of(ws, project, parts.append)
        of_host, *of_project = ([one for one in part if one.state == "bad"] for part in parts)
        wrong = of_project[0] if linked else of_host
        for one in of_host if linked else ():
            narrate(visible(f"    {one.name}: {one.found}; {one.remedy}"))
        if wrong:
            told = "; ".join(f"{one.name}: {one.found}" for one in wrong)
            raise CliError(visible(told), wrong[0].remedy, FAILED if linked else INFRA)


def _observe(ws: Workspace, name: str, project: ProjectConfig, rows: ProjectRuns) -> Path:
    path = table_of(ws, name)
    with rows.phase("observe") as ended:
        narrate("observe: what the program launches")
        ended["anew"] = observed(ws, project, path) is not None
        if not ended["anew"]:
            narrate(f"    {visible(str(path))} is current")
    return path


def _task(ws: Workspace, args: Namespace, project: ProjectConfig, table: Path, rows: ProjectRuns) -> str:
    """Return the task of the kernel as it is in production: the one that was made of just that, or a new one."""
    narrate("task: the kernel as it is in production, with a harness")

    async def work(place: ProjectPlace) -> str:
        with tempfile.TemporaryDirectory(prefix="kpd-sources-") as folder:
            brought = await bring(place, Path(folder))
            facts = facts_of(brought, project.kernel, table, args.top or project.top, project.split)
        key = made_of(facts, prompt.user(facts, args.truth))
        made = [name for name in rows.tasks_of(key) if has_harness(ws.tasks / name, facts)]
        if same := next((name for name in made if has_kernel(ws.tasks / name, facts)), None):
            narrate(f"    {same} has it")
            return same
        name = args.task or _free_name(ws, args.name)
        with rows.phase("task", task=name, key=key):
            if made:
                copied(ws.tasks / made[0], ws.tasks, name, facts)
                narrate(f"    {name} is new, with the harness of {made[0]}, whose folder has another kernel by now")
            else:
                await task_new.make_at(ws, place, Namespace(**{**vars(args), "name": name}), facts)
        return name

    return at_place(ws, project, work)


def _free_name(ws: Workspace, project: str) -> str:
    names = (project if number == 1 else f"{project}-{number}" for number in count(1))
    return next(name for name in names if not os.path.lexists(ws.tasks / name))


def _queue(ws: Workspace, args: Namespace, project: ProjectConfig, task: str, rows: ProjectRuns) -> str:
    host = args.host or project.host
    with rows.phase("run", task=task) as ended:
        narrate(f"run: {task}, and then into production")
        if ensure_daemon(ws):
            narrate("started the daemon, in the background; kpd shutdown ends it")
        ended["run"] = enqueue(ws, Namespace(**{**vars(args), "deploy": args.name, "host": host}), task)
    return str(ended["run"])
