"""kpd task new NAME --from … | --project …: creates a task from a production kernel."""

import re
import tempfile
from argparse import ArgumentParser, Namespace
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from kpd.cli.exit_codes import FAILED, INFRA, OK, CliError
from kpd.cli.parser import count
from kpd.cli.terminal_text import narrate, out, out_json
from kpd.model.spending import Spend
from kpd.text import money
from kpd.text.foreign import visible
from kpd.text.numbers import counted
from kpd.workspace.config import load_config
from kpd.workspace.host_tables import LOCAL
from kpd.workspace.paths import Workspace

if TYPE_CHECKING:
    from argparse import _ActionsContainer

    from kpd.agents.answers import PromptAnswers
    from kpd.claude.purse import Purse
    from kpd.onboarding.compiled import Compiler
    from kpd.onboarding.facts import KernelFacts
    from kpd.onboarding.generate import Alone, Stage
    from kpd.production.place import ProjectPlace


def arguments(parser: ArgumentParser) -> None:
    group = parser.add_argument_group("from a production kernel", "a model writes its harness, and kpd checks it")
    group.add_argument("--project", metavar="PROJECT", help="take sources, flags and host from a project")
    group.add_argument("--from", dest="source", metavar="FILE", type=Path, help="source file of the kernel")
    group.add_argument("--wrapper", metavar="FILE", type=Path, help="source file of the host code that launches it")
    group.add_argument(
        "--observed", metavar="FILE", type=Path, help="table of its real launches (default: that of the project)"
    )
    group.add_argument(
        "--timed",
        metavar="FILE",
        type=Path,
        help="durations of the same launches, if --observed has none",
    )
    group.add_argument(
        "--facts", action="store_true", help="print what kpd finds without a model, as JSON, and create nothing"
    )
    harness_arguments(group, "--agent")


def harness_arguments(parser: "_ActionsContainer", writer: str) -> None:
    """Add what says how a harness is made; `writer` is the option that names a coding agent."""
    parser.add_argument("--top", metavar="N", type=count, help="configurations to keep (default: the project's, or 5)")
    parser.add_argument(
        "--truth", choices=("oracle", "baseline"), default="oracle",
        help="what results are compared with: a function of the harness, or the kernel itself (default: oracle)",
    )  # fmt: skip
    parser.add_argument(
        "--mailbox", action="store_true", help="ask in a folder, where any program or person can answer, and no model"
    )
    parser.add_argument(writer, dest="writer", metavar="AGENT", help="a coding agent writes the harness, and no model")
    parser.add_argument(
        "--tries", metavar="N", type=count, default=3, help="refuse N answers for their text at most (default: 3)"
    )
    parser.add_argument(
        "--builds", metavar="N", type=count, default=8, help="refuse N for what compiler and GPU say (default: 8)"
    )
    parser.add_argument("--arch", metavar="sm_NN", help="architecture to compile for (default: the GPU's, or sm_80)")


def wanted(args: Namespace) -> bool:
    """Return whether a task from a production kernel is asked for. Raises CliError where only a part is given."""
    given = {"--from": args.source, "--wrapper": args.wrapper, "--observed": args.observed}
    missing = [name for name, value in given.items() if value is None]
    if len(missing) == len(given) and not args.facts and not args.project:
        return False
    if args.project and (args.source or args.wrapper):
        raise CliError("--project names the sources itself", "leave --from and --wrapper out")
    if missing and not args.project:
        raise CliError(
            f"{' and '.join(missing)} {'is' if len(missing) == 1 else 'are'} missing",
            "give all three files, or --project",
        )
    check_arch(args)
    return True


def check_arch(args: Namespace) -> None:
    """Raise CliError unless --arch is one."""
    if args.arch and not re.fullmatch(r"sm_\d{2,3}[af]?", args.arch):
        raise CliError(f"{args.arch!r} is not an architecture", "for example sm_90")


def execute(ws: Workspace, args: Namespace) -> int:
    """Create the task, or print the facts, and return the exit code. Raises CliError, WorkspaceError."""
    import asyncio

    from kpd.onboarding.facts import findings

    if args.project:
        return _of_project(ws, args)
    facts = findings(args.source, args.wrapper, args.observed, args.top or 5, timed=args.timed)
    if args.facts:
        return _printed(facts)
    out(str(asyncio.run(_here(ws, args, facts))))
    return OK


def _printed(facts: "KernelFacts") -> int:
    from kpd.onboarding.facts import as_json

    out_json(as_json(facts))
    return OK


def _of_project(ws: Workspace, args: Namespace) -> int:
    """Make the task of a project's kernel, compiled and run on its host."""
    from kpd.cli.project import at_place, known
    from kpd.hosts.errors import HostError
    from kpd.production.extract import bring, facts_of
    from kpd.production.program import PlaceError

    project = known(ws, args.project)[args.project]
    observed = args.observed or ws.root / "refs" / f"{args.project}.observed.json"
    if not observed.exists():
        remedy = f"kpd project observe {args.project}, or name a table with --observed"
        raise CliError(f"what {project.kernel} is launched with is not known", remedy)

    async def work(place: "ProjectPlace") -> int:
        with tempfile.TemporaryDirectory(prefix="kpd-sources-") as folder:
            brought = await bring(place, Path(folder))
            facts = facts_of(brought, project.kernel, observed, args.top or project.top, project.split, args.timed)
        if args.facts:
            return _printed(facts)
        out(str(await make_at(ws, place, args, facts)))
        return OK

    try:
        return at_place(ws, project, work)
    except (HostError, PlaceError) as err:
        raise CliError(visible(err.message), err.remedy, INFRA) from err


async def make_at(
    ws: Workspace, place: "ProjectPlace", args: Namespace, facts: "KernelFacts", purse: "Purse | None" = None,
    kept: "Callable[[PromptAnswers], PromptAnswers] | None" = None,
) -> Path:  # fmt: skip
    """Make the task `args.name` of a project's kernel, compiled and run on its host. Raises CliError, HostError.

    `kept` is what keeps the answers of whoever writes the harness.
    """
    here, alone = await _at_host(ws, place, args.arch or place.project.arch, facts)
    return await _make(ws, args, facts, here, alone, purse, kept)


async def _at_host(
    ws: Workspace, place: "ProjectPlace", arch: str, facts: "KernelFacts"
) -> "tuple[Compiler | None, Alone | None]":
    """Return what compiles on the project's host, and what runs on its GPU; None without nvcc or GPU there."""
    from kpd.hosts.preflight.cards import devices
    from kpd.measure.cuda.nvcc import CudaToolchain, choose
    from kpd.onboarding.compiled import ARCH, Compiler
    from kpd.onboarding.standalone import StandaloneTrial, run_alone
    from kpd.workspace.task import Task

    host = place.host
    probed = await host.probe()
    gpus = [one for one in devices(probed, load_config(ws).hosts[place.project.host]) if one.kind == "gpu"]
    if not probed["nvcc"]:
        return None, None
    if gpus:  # as its bench does, which then finds what was compiled
        compiler = Compiler(host, choose(host.name, probed, gpus[0]))
    else:
        compiler = Compiler(host, CudaToolchain(probed["nvcc"], probed["cuda"], arch or ARCH, ""))

    async def alone(task: Task) -> StandaloneTrial:
        return await run_alone(host, gpus[0], task, facts, lambda text: None)

    if not gpus:
        narrate(f"{host.name} has no GPU: the task is compiled there, and not run")
    return compiler, alone if gpus else None


async def _here(ws: Workspace, args: Namespace, facts: "KernelFacts") -> Path:
    """Make a task of files of this machine, compiled here where nvcc is."""
    from kpd.hosts.errors import HostError
    from kpd.onboarding.compiled import ARCH, compiler, nvcc

    if not nvcc():
        return await _make(ws, args, facts, None, None)
    try:
        async with compiler(nvcc(), args.arch or ARCH, load_config(ws).hosts[LOCAL].reads) as here:
            return await _make(ws, args, facts, here, None)
    except HostError as err:
        raise CliError(err.message, err.remedy, INFRA) from err


async def _make(
    ws: Workspace, args: Namespace, facts: "KernelFacts", here: "Compiler | None", alone: "Alone | None",
    purse: "Purse | None" = None, kept: "Callable[[PromptAnswers], PromptAnswers] | None" = None,
) -> Path:  # fmt: skip
    from kpd.cli.diagnosis import problems
    from kpd.cli.purse import purse_of, told
    from kpd.onboarding.generate import GivenUp, HarnessMaker

    purse = purse or purse_of(ws, f"task {args.name}")
    tries: Mapping[Stage, int] = {"geometry": args.tries, "compile": args.builds}
    try:
        async with told(), _answers(ws, args, purse) as writer:
            answers = kept(writer) if kept is not None else writer
            maker = HarnessMaker(answers, problems, here, lambda text: narrate(visible(text)), args.truth, alone, tries)
            folder = await maker.make(ws.tasks, args.name, facts)
    except GivenUp as err:
        raise CliError(visible(err.message), err.remedy, FAILED) from err
    finally:
        if purse.spend.calls:
            narrate(spent(purse.spend))
    narrate(f"made {args.name}: look through its harness, then kpd task check {args.name} and kpd start {args.name}")
    return folder


def mailbox_of(ws: Workspace, name: str) -> Path:
    """Return the folder in which a harness is asked for."""
    return ws.root / "onboarding" / name


@asynccontextmanager
async def _answers(ws: Workspace, args: Namespace, purse: "Purse") -> "AsyncIterator[PromptAnswers]":
    """Hold who writes the harness for as long as the block runs. Raises CliError."""
    from kpd.agents.answers import MailboxAnswers
    from kpd.cli.purse import agent_answers, model_answers

    if args.mailbox:
        yield MailboxAnswers(mailbox_of(ws, vars(args).get("asks", args.name)))
        return
    instead = "--mailbox asks in a folder, --facts needs no model"
    if args.writer:
        folder = ws.root / "onboarding" / f"{args.name}.agent"
        async with agent_answers(ws, purse, "harness", args.writer, folder, instead) as agent:
            yield agent
        return
    async with model_answers(ws, purse, "harness", instead) as answers:
        yield answers


def spent(spend: Spend) -> str:
    """Format what models have cost."""
    usage = spend.usage
    read = usage.input + usage.cache_write + usage.cache_read
    calls = counted(spend.calls, "call")
    tokens = f"{read:,} tokens read ({usage.cache_read:,} from the cache), {usage.output:,} written"
    return f"spent: {calls}, {tokens}, {money.cost(spend)}"
