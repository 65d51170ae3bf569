"""kpd project deploy: brings a run's winner into its program, and takes it back unless the program is faster."""

import asyncio
import contextlib
import signal
import sys
import termios
import time
from argparse import Namespace
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import asdict

from kpd.agents.answers import KeptAnswer, KeptAnswers
from kpd.agents.catalogue import fixer_keys
from kpd.claude.purse import spent_for
from kpd.cli.ask import query
from kpd.cli.exit_codes import FAILED, INFRA, NO_GAIN, OK, USAGE, CliError
from kpd.cli.log import recorded, run_of
from kpd.cli.project import at_place, known
from kpd.cli.purse import answers_of, keep_keys, purse_of
from kpd.cli.terminal_text import narrate, out, out_json
from kpd.client import DaemonError, operator
from kpd.model.deployments import NOT_THE_CANDIDATES, Deployment, Phase, lesson
from kpd.model.facts.iterations import Accepted
from kpd.model.run import Run
from kpd.model.spending import NOTHING
from kpd.production.deploy.deploy import Deploying, Telling, approved
from kpd.production.deploy.fixing import Fixer
from kpd.production.deploy.gate import approved_elsewhere
from kpd.production.deploy.remember import remember
from kpd.production.deploy.settle import settle
from kpd.production.deploy.winner import AcceptedKernel, NoWinner, winner
from kpd.production.place import ProjectPlace, new_id
from kpd.text import deployments
from kpd.text.foreign import visible
from kpd.workspace.config import load_config
from kpd.workspace.deployments import DeploymentJournal, DeploymentRunning, OpenDeployment
from kpd.workspace.paths import Workspace

NO_WINNER = {
    "unknown": "has no such accepted iteration",
    "baseline": "has accepted nothing but its baseline",
    "not_accepted": "has not accepted it, or something that it builds on",
}


def journal_of(ws: Workspace, name: str) -> DeploymentJournal:
    return DeploymentJournal(ws.deployments / name)


def deploy(ws: Workspace, args: Namespace) -> int:
    """Deploy, and return 0 improved, 1 rolled back, 2 no gain, 3 infrastructure. Raises CliError, HostError."""
    began = time.time()
    project = known(ws, args.name)[args.name]
    who = args.fixer or project.fixer
    keep_keys(fixer_keys(who, load_config(ws)))
    found = _winner(ws, args)
    asks = project.approve and not args.yes
    if asks and not args.gate and not sys.stdin.isatty():
        raise CliError(
            f"{args.name} wants its change approved", "call it on a terminal, or with --yes or --gate", USAGE
        )

    async def work(place: ProjectPlace) -> Deployment:
        meanwhile = [one for one in journal.all() if (one.ended or 0.0) >= began and one.cause != "cut"]
        settled = [one for one in await settle(place, journal) if lesson(one) is not None]
        for one in (*meanwhile, *settled):  # another process has done it, or was ended before it could say how it went
            if (one.run, one.iteration, one.of) == (found.run, found.iteration, None):
                return one
        async with _fixer(ws, args.name, who, journal, found) as fixer:  # before it begins: it may not be had
            opened = journal.begin(found.run, found.iteration, operator(), new_id())
            opened.note(unattended=args.gate)

            async def approves(diff: str) -> bool:
                narrate(visible(diff))
                if asks and args.gate:
                    narrate(f"waits for kpd project approve {args.name}")
                    return await approved_elsewhere(opened, diff)
                return not asks or await asked()

            return await Deploying(place, opened, telling(approves), fixer=fixer).deploy(found)

    journal = journal_of(ws, args.name)
    try:
        with journal.locked(wait=args.gate):
            one = at_place(ws, project, work)
    except DeploymentRunning as err:
        raise is_deployed(args.name, journal) from err
    code = told(args, one)
    remembered(ws, args.name)
    return code


def is_deployed(name: str, journal: DeploymentJournal) -> CliError:
    """Return the error that another process deploys this project, with what helps."""
    waits = any(one.state == "open" and one.asks for one in journal.all())
    remedy = f"it waits for a person: kpd project decline {name} ends it" if waits else "wait until that has ended"
    return CliError(f"{name} is being deployed", remedy, INFRA)


def remembered(ws: Workspace, name: str) -> None:
    """Bring what was found of winners into the memories of their tasks; where that fails, the next command does it."""

    def known_run(id: str) -> Run | None:
        status = query(ws, "status")
        return run_of(ws, status, id) if id in status["runs"] else None

    try:
        remember(ws, name, journal_of(ws, name), known_run)
    except (OSError, DaemonError, CliError) as err:
        narrate(visible(f"it is not in the memory of its task yet: {err}"))


def telling(approves: Callable[[str], Awaitable[bool]] = approved) -> Telling:
    """Return what tells a person of each phase on stderr."""
    return Telling(approves, _phase, show, lambda done: narrate(f"    quad {done}"))


def told(args: Namespace, one: Deployment) -> int:
    """Print how a deployment ended; return its exit code."""
    if args.json:
        out_json(asdict(one))
    else:
        head, *rest = deployments.lines(args.name, one)
        out(visible(head), *(f"    {visible(line)}" for line in rest))
    return code_of(one)


def code_of(one: Deployment) -> int:
    """Return the exit code for how a deployment ended."""
    if one.state == "deployed":
        return OK
    if one.state == "gated":
        return NO_GAIN
    return INFRA if one.cause in NOT_THE_CANDIDATES or one.rechecked is False else FAILED


@contextlib.asynccontextmanager
async def _fixer(
    ws: Workspace, name: str, who: str, journal: DeploymentJournal, of: AcceptedKernel
) -> AsyncIterator[Fixer | None]:
    """Hold who mends files of the next deployment for as long as the block runs; None without one. Raises CliError.

    What was answered to those that ended before anything was known of the candidate is not asked for again, and their
    costs count.
    """
    if who == "none":
        yield None
        return
    number, before = journal.next_number, journal.undecided(of.run, of.iteration)
    former = [one for each in before for one in OpenDeployment(journal.folder, each.number).fixes(KeptAnswer)]
    accounts = [_account(name, one.number) for one in before]
    spent = spent_for(ws.root, accounts, before[0].at).get("fix", NOTHING) if before else NOTHING
    purse, instead = purse_of(ws, _account(name, number), spent), "--fixer folder asks in a folder"
    stem, when = journal.folder / f"{number:04d}", "where a file has to be mended"
    opened = OpenDeployment(journal.folder, number)
    async with answers_of(ws, who, purse, "fix", stem, when, instead) as answers:
        yield Fixer(KeptAnswers(answers, former, lambda one: opened.fixed(**asdict(one))), lambda: purse.own)


def _account(name: str, number: int) -> str:
    return f"deployment {number} of {name}"


def _winner(ws: Workspace, args: Namespace) -> AcceptedKernel:
    run = run_of(ws, query(ws, "status"), args.run)
    facts = [event.fact for event in recorded(ws, run.id)]
    hashes = {fact.iteration: fact.files for fact in facts if isinstance(fact, Accepted)}
    try:
        return winner(ws, run, hashes, args.iteration)
    except NoWinner as err:
        if err.why == "changed":
            message = f"{visible(err.about)} is not the file that {run.id} has accepted"
            raise CliError(message, "put it back, or let the run measure it: kpd edit", FAILED) from err
        raise CliError(f"{visible(args.run)} {NO_WINNER[err.why]}", f"kpd log {args.run}", NO_GAIN) from err
    except OSError as err:
        raise CliError(f"{err.filename}: {err.strerror}", "the run's files are needed", INFRA) from err


async def asked(question: str = "deploy this change?") -> bool:
    """Ask on the terminal; the end of the input, and Ctrl-C, are a no. The lease of a change is renewed meanwhile.

    What was typed before the question is no answer to it: whoever typed it has not seen this change.
    """
    loop = asyncio.get_running_loop()
    answered: asyncio.Future[str] = loop.create_future()

    def answer(said: str) -> None:
        if not answered.done():
            answered.set_result(said)

    def read() -> None:
        try:
            answer(sys.stdin.readline())
        except (OSError, UnicodeDecodeError):
            answer("")

    before = signal.getsignal(signal.SIGINT)
    loop.add_signal_handler(signal.SIGINT, answer, "")
    try:
        with contextlib.suppress(termios.error):  # the terminal is gone: reading from it says so
            termios.tcflush(sys.stdin, termios.TCIFLUSH)
        narrate(f"{question} [y/N]")
        loop.add_reader(sys.stdin, read)
        said = await answered
    finally:
        loop.remove_reader(sys.stdin)
        loop.remove_signal_handler(signal.SIGINT)
        signal.signal(signal.SIGINT, before)
    if not said:
        narrate("no")
    return said.strip().lower() in ("y", "yes")


def _phase(phase: Phase) -> None:
    narrate(f"{phase}: {deployments.PHASES[phase]}")


def show(stream: str, data: bytes) -> None:
    """Show a person what a build says."""
    sys.stderr.write(visible(data.decode(errors="replace")))
