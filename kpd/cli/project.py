"""kpd project: production programs that kpd may change, observe and deploy to."""

import asyncio
import contextlib
from argparse import ArgumentParser, Namespace
from collections.abc import Awaitable, Callable
from dataclasses import asdict
from pathlib import Path
from typing import TypeVar

from kpd.cli import project_add, task_new
from kpd.cli.ask import workspace
from kpd.cli.exit_codes import FAILED, INFRA, OK, CliError
from kpd.cli.operate import add_arguments
from kpd.cli.parser import add_json, add_workspace_below, nearest
from kpd.cli.run import waiting_arguments
from kpd.cli.terminal_text import columns, narrate, out, out_json, table
from kpd.hosts.errors import HostError
from kpd.hosts.job import device_claim
from kpd.hosts.transports import host_of
from kpd.model.preparation import BEFORE
from kpd.operations.runs import QueueRun
from kpd.production.place import ProjectPlace
from kpd.production.program import PlaceError
from kpd.text.foreign import visible
from kpd.text.projects import blocked, status_lines
from kpd.workspace.config import load_config
from kpd.workspace.deployments import DeploymentJournal
from kpd.workspace.paths import Workspace
from kpd.workspace.projects import ProjectConfig

LIMIT_S = 40.0  # for a host to accept the connection
T = TypeVar("T")


def arguments(parser: ArgumentParser) -> None:
    verbs = parser.add_subparsers(
        dest="what",
        metavar="add|import|list|check|observe|run|deploy|approve|decline|history|rollback|watch|status|restore",
        required=True,
    )
    add = verbs.add_parser("add", help="add a project to config.toml; asks for what no option says")
    add.add_argument("name", metavar="NAME")
    project_add.arguments(add)
    taken = verbs.add_parser("import", help="add the project that a config.env of Kernelking describes")
    taken.add_argument("path", metavar="PATH")
    taken.add_argument("--name", metavar="NAME", help="the project's name (default: the kernel's)")
    project_add.arguments(taken)
    add_json(verbs.add_parser("list", help="list the projects of config.toml"))
    check = verbs.add_parser("check", help="check a project and its host, and say what kpd would change")
    check.add_argument("name", metavar="PROJECT")
    check.add_argument("--build", action="store_true", help="also build it, and restore binaries that differ")
    check.add_argument("--normalise", action="store_true", help="also build it, and keep binaries that differ")
    add_json(check)
    observe = verbs.add_parser(
        "observe", help="run a project's program once, and record what its kernel is launched with"
    )
    observe.add_argument("name", metavar="PROJECT")
    observe.add_argument("--kernel", metavar="KERNEL", help="the kernel in full, where several have the project's name")
    observe.add_argument("--again", action="store_true", help="also if command, signature and source are the same")
    asked = observe.add_mutually_exclusive_group()
    asked.add_argument(
        "--writer",
        metavar="WHO",
        help="only where no library can observe the program: model, or the name of a coding agent, proposes lines in "
        "its source that log the launches of one run",
    )
    asked.add_argument("--mailbox", action="store_true", help="likewise, but ask in a folder")
    observe.add_argument("--yes", action="store_true", help="approve these lines unseen")
    observe.add_argument("--endless", action="store_true", help="end the program after limit_run: no error then")
    add_json(observe)
    run = verbs.add_parser("run", help="check, observe, make the kernel's task, run it, and deploy its winner")
    run.add_argument("name", metavar="PROJECT")
    _run_arguments(run)
    phase = verbs.add_parser("phase")  # of the daemon: no help lists it
    phase.add_argument("name", metavar="PROJECT")
    phase.add_argument("run", metavar="RUN")
    phase.add_argument("phase", choices=BEFORE)
    deploy = verbs.add_parser("deploy", help="bring a run's winner into its program; taken back unless that is faster")
    deploy.add_argument("name", metavar="PROJECT")
    deploy.add_argument("run", metavar="RUN", help="the run whose winner is deployed")
    deploy.add_argument("--iteration", metavar="ITER", type=int, help="an accepted iteration (default: the incumbent)")
    deploy.add_argument(
        "--fixer",
        metavar="WHO",
        help="who mends a file that does not build, run or verify: none, model, folder, or a coding agent's name "
        "(default: the project's)",
    )
    deploy.add_argument("--yes", action="store_true", help="approve the change of the production file unseen")
    deploy.add_argument("--gate", action="store_true", help="do not ask here, but wait for kpd project approve")
    add_json(deploy)
    approve = verbs.add_parser("approve", help="show the change of a deployment that waits, and approve it")
    approve.add_argument("name", metavar="PROJECT")
    approve.add_argument("--yes", action="store_true", help="do not ask: approve whatever waits now")
    approve.add_argument(
        "--diff",
        metavar="HASH",
        help="do not ask, and approve no change but the one with this hash (asks of kpd held --json)",
    )
    decline = verbs.add_parser("decline", help="decline the change of a deployment that waits")
    decline.add_argument("name", metavar="PROJECT")
    history = verbs.add_parser("history", help="show what was deployed, with its figures, and what became of it")
    history.add_argument("name", metavar="PROJECT")
    add_json(history)
    rollback = verbs.add_parser("rollback", help="take a deployment back, unless somebody has changed its files since")
    rollback.add_argument("name", metavar="PROJECT")
    rollback.add_argument(
        "number", metavar="N", nargs="?", type=int, help="its number (default: the last one in place)"
    )
    add_json(rollback)
    watch = verbs.add_parser("watch", help="say whether a program's time, GPU, driver or files have changed since")
    watch.add_argument("name", metavar="PROJECT")
    watch.add_argument("--every", metavar="TIME", help='look again after this time ("1h"), until something has changed')
    watch.add_argument("--again", action="store_true", help="take what the program is now as what it should be")
    add_json(watch)
    status = verbs.add_parser("status", help="show what kpd has changed, and until when it holds it")
    status.add_argument("names", metavar="PROJECT", nargs="*", help="projects (default: all)")
    add_json(status)
    restore = verbs.add_parser("restore", help="put the original files of a project back; needs no daemon")
    restore.add_argument("name", metavar="PROJECT")
    add_json(restore)
    add_workspace_below(verbs)


def _run_arguments(parser: ArgumentParser) -> None:
    """Add the arguments of a run, and those of the task that it may need."""
    parser.add_argument("--task", metavar="NAME", help="the name of a new task (default: the project's, numbered)")
    parser.add_argument(
        "--observed", metavar="FILE", type=Path, help="take this table of launches, and do not run the program for one"
    )
    task_new.harness_arguments(parser.add_argument_group("the harness of a new task"), "--writer")
    add_arguments(parser, QueueRun, "task", "deploy")
    waiting_arguments(parser)


def execute(args: Namespace) -> int:
    ws = workspace(args)
    try:
        match args.what:
            case "add":
                return project_add.add(ws, args)
            case "import":
                return project_add.import_env(ws, args)
            case "list":
                return _list(ws, args)
            case "check":
                from kpd.cli import project_check

                return project_check.check(ws, args)
            case "observe":
                from kpd.cli import project_observe

                return project_observe.observe(ws, args)
            case "run":
                from kpd.cli import project_run

                return project_run.run(ws, args)
            case "phase":
                from kpd.cli import project_phase

                return project_phase.phase(ws, args)
            case "deploy":
                from kpd.cli import project_deploy

                return project_deploy.deploy(ws, args)
            case "approve" | "decline":
                from kpd.cli import project_gate

                return project_gate.answered(ws, args)
            case "history" | "rollback":
                from kpd.cli import project_history

                of = {"history": project_history.history, "rollback": project_history.rollback}
                return of[args.what](ws, args)
            case "watch":
                from kpd.cli import project_watch

                return project_watch.watch(ws, args)
            case "status":
                return _status(ws, args)
        return _restore(ws, args)
    except (HostError, PlaceError) as err:
        raise CliError(visible(err.message), err.remedy, FAILED if isinstance(err, PlaceError) else INFRA) from err


def known(ws: Workspace, *names: str) -> dict[str, ProjectConfig]:
    """Return the projects of these names, or all projects without names. Raises CliError, ConfigError."""
    projects = load_config(ws).project
    for name in names:
        if name not in projects:
            remedy = nearest(name, list(projects)) or "kpd project add makes one"
            raise CliError(f"no project {visible(name)!r} in config.toml", remedy)
    return {name: projects[name] for name in names} if names else projects


def at_place(ws: Workspace, project: ProjectConfig, work: Callable[[ProjectPlace], Awaitable[T]]) -> T:
    """Do some work at a project's place, over a link of this process. Raises HostError, PlaceError."""
    config = load_config(ws).hosts[project.host]
    ws.make_private()
    journals = map(DeploymentJournal, ws.deployments.glob("*/"))
    needed = [id for journal in journals for id in journal.needed()]  # of each project: two may have one root

    async def done() -> T:
        device_claim.set(_Told())
        host = host_of(project.host, config, ws)
        try:
            host.start()
            try:
                async with asyncio.timeout(LIMIT_S):
                    await host.tried(0)
            except TimeoutError as err:
                raise HostError("unreachable", f"{project.host}: no answer within {LIMIT_S:g} s") from err
            if not host.up:
                raise host.trouble or HostError("unreachable", f"{project.host}: no link")
            return await work(ProjectPlace(host, project, config.python, needed=needed))
        finally:
            await host.close()

    return asyncio.run(done())


class _Told:
    """Tells a person what a run of a program waits for before it has the device. It has no turn to wait for."""

    def turn(self, host: str, device: str) -> contextlib.AbstractAsyncContextManager[None]:
        return contextlib.nullcontext()

    def waits(self, reason: str) -> None:
        if reason:
            narrate(f"waits: {visible(reason)}")


def _list(ws: Workspace, args: Namespace) -> int:
    projects = known(ws)
    if args.json:
        out_json([{"name": name, **asdict(project)} for name, project in projects.items()])
        return OK
    rows = [(name, one.host, one.root, one.kernel, ", ".join(one.files)) for name, one in projects.items()]
    out(*table(("PROJECT", "HOST", "ROOT", "KERNEL", "FILES"), rows, columns()))
    if not rows:
        narrate("no projects; kpd project add NAME makes one")
    return OK


def _status(ws: Workspace, args: Namespace) -> int:
    code, shown = OK, list[dict[str, object]]()
    for name, project in known(ws, *args.names).items():
        try:
            found = at_place(ws, project, lambda place: place.status())
        except (HostError, PlaceError) as err:
            code = INFRA
            shown.append({"name": name, "error": err.message})
            lines = [err.message]
        else:
            shown.append({"name": name, "text": (lines := status_lines(found)), **asdict(found)})
        if not args.json:
            out(visible(name), *(f"    {visible(text)}" for text in lines))
    if args.json:
        out_json(shown)
    return code


def _restore(ws: Workspace, args: Namespace) -> int:
    record = at_place(ws, known(ws, args.name)[args.name], lambda place: place.restore())
    conflicts = record.conflicts if record is not None else ()
    if args.json:
        out_json(asdict(record) if record is not None else None)
    elif record is None or record.state == "committed":
        out("there is nothing to restore")
    elif record.state == "blocked":
        out("NOT RESTORED: kpd's sources are in place", f"    {visible(blocked(record))}")
    else:
        out("restored: the originals are in place" if not conflicts else "restored, but for what others have changed:")
        out(*(f"    {visible(path)}" for path in conflicts))
    return FAILED if conflicts else OK
