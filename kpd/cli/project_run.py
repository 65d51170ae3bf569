"""kpd project run: has the daemon make the task of a project's kernel, run it, and bring the winner into production."""

from argparse import Namespace
from collections.abc import Iterator
from dataclasses import asdict

from kpd.agents.catalogue import asks_models
from kpd.cli import task_new
from kpd.cli.ask import query
from kpd.cli.daemon import ensure_daemon
from kpd.cli.exit_codes import INFRA, USAGE, CliError
from kpd.cli.project import known
from kpd.cli.project_observe import stem_of
from kpd.cli.purse import mailbox_at
from kpd.cli.run import followed, queued
from kpd.cli.terminal_text import narrate
from kpd.model.preparation import TaskOrder
from kpd.onboarding.observed import read_table
from kpd.sessions.terms import why_not
from kpd.text.foreign import visible
from kpd.workspace.config import load_config
from kpd.workspace.paths import Workspace
from kpd.workspace.project_runs import ProjectRuns
from kpd.workspace.projects import ProjectConfig
from kpd.workspace.task import NAME


def run(ws: Workspace, args: Namespace) -> int:
    """Queue the run, or find the project's that goes on; follow it with --wait. Raises CliError, DaemonError."""
    project = known(ws, args.name)[args.name]
    if wrong := next(_wrong(ws, args, project), None):
        raise wrong
    if ensure_daemon(ws):
        narrate("started the daemon, in the background; kpd shutdown ends it")
    if why := _lacks_key(ws, args, project):
        raise CliError(why, "set it for the daemon; --mailbox and --writer ask no model for the harness", INFRA)
    observed = str(args.observed.resolve()) if args.observed else ""
    order = TaskOrder(
        args.task or "", observed, args.top, args.truth, args.mailbox, args.writer or "", args.tries, args.builds,
        args.arch or "",
    )  # fmt: skip
    wanted = {**vars(args), "deploy": args.name, "host": args.host or project.host, "order": asdict(order)}
    answer = queued(ws, Namespace(**wanted), args.task or args.name)
    anew = not answer.get("goes_on")
    if not anew:
        narrate(f"{answer['run']} of {args.name}, or the deployment of its winner, goes on")
    elif args.mailbox:
        narrate(f"a harness is asked for in {task_new.mailbox_of(ws, args.task or args.name)}")
        if not project.approve:
            where = mailbox_at(stem_of(ws, args.name))
            narrate(f"lines that log launches, if no library can observe the program, in {where}")
    return followed(ws, args, str(answer["run"]), anew)


def _wrong(ws: Workspace, args: Namespace, project: ProjectConfig) -> Iterator[CliError]:
    """Yield what is known to be wrong before anything is done; agents, host and budget are the daemon's to refuse."""
    task_new.check_arch(args)
    if args.timeout is not None and not args.wait:
        yield CliError("--timeout limits the waiting of --wait", "add --wait", USAGE)
    for who in {args.writer, project.fixer} - {None, "none", "model", "folder"}:
        if why := why_not(who, load_config(ws)):
            yield CliError(visible(why), "name another one", USAGE)
    if args.task is not None:
        if not NAME.fullmatch(args.task):
            yield CliError(f"{args.task!r} is not a task's name", "use letters, digits, _ and -", USAGE)
        if (ws.tasks / args.task).exists() and args.task not in ProjectRuns.of(ws, args.name).tasks:
            yield CliError(f"{ws.tasks / args.task} is there already", "choose another name", USAGE)
    if args.observed is not None:
        table = read_table(args.observed)
        if table.kernel.rpartition("::")[2] != project.kernel.rpartition("::")[2]:
            message = f"{visible(str(args.observed))} is of {visible(table.kernel)}, not of {project.kernel}"
            yield CliError(message, "name the table of the project's kernel", USAGE)
    if not project.verify and not project.outputs:
        message = f"nothing would notice a wrong result of {args.name}, so nothing could be deployed"
        yield CliError(message, f"give [project.{args.name}] verify or outputs", USAGE)


def _lacks_key(ws: Workspace, args: Namespace, project: ProjectConfig) -> str:
    """Return why the daemon has no key for a model that is to write a harness, a candidate or a mended file."""
    harness = not (args.mailbox or args.writer or ProjectRuns.of(ws, args.name).tasks)
    if harness or project.fixer == "model" or asks_models(args.agent or load_config(ws).run.agent):
        return str(query(ws, "model_key")["trouble"])
    return ""
