"""kpd task new NAME --from … --wrapper … --observed …: creates a task from a production kernel."""

import os
import re
from argparse import ArgumentParser, Namespace
from contextlib import AsyncExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from kpd.cli.exit_codes import FAILED, INFRA, OK, CliError
from kpd.cli.parser import count
from kpd.cli.terminal_text import narrate, out, out_json
from kpd.model.spending import Spend, dollars
from kpd.text.foreign import visible
from kpd.workspace.config import LOCAL, load_config
from kpd.workspace.paths import Workspace

if TYPE_CHECKING:
    from kpd.onboarding.facts import KernelFacts
    from kpd.onboarding.generate import ModelSpending


def arguments(parser: ArgumentParser) -> None:
    group = parser.add_argument_group("from a production kernel", "a model writes its harness, and kpd checks it")
    group.add_argument("--from", dest="source", metavar="FILE", type=Path, help="source file of the kernel")
    group.add_argument("--wrapper", metavar="FILE", type=Path, help="source file of the host code that launches it")
    group.add_argument("--observed", metavar="FILE", type=Path, help="table of its real launches, as JSON")
    group.add_argument(
        "--facts", action="store_true", help="print what kpd finds without a model, as JSON, and create nothing"
    )
    group.add_argument("--top", metavar="N", type=count, default=5, help="configurations to keep (default: 5)")
    group.add_argument("--tries", metavar="N", type=count, default=3, help="ask the model at most N times (default: 3)")
    group.add_argument(
        "--arch",
        metavar="sm_NN",
        default="sm_80",
        help="architecture to compile for, if nvcc is installed here (default: sm_80)",
    )


def wanted(args: Namespace) -> bool:
    """Return whether a task from a production kernel is asked for. Raises CliError where only a part is given."""
    given = {"--from": args.source, "--wrapper": args.wrapper, "--observed": args.observed}
    missing = [name for name, value in given.items() if value is None]
    if len(missing) == len(given) and not args.facts:
        return False
    if missing:
        raise CliError(
            f"{' and '.join(missing)} {'is' if len(missing) == 1 else 'are'} missing", "give all three files"
        )
    if not re.fullmatch(r"sm_\d{2,3}[af]?", args.arch):
        raise CliError(f"{args.arch!r} is not an architecture", "for example sm_90")
    return True


def execute(ws: Workspace, args: Namespace) -> int:
    """Create the task, or print the facts, and return the exit code. Raises CliError, WorkspaceError."""
    import asyncio

    from kpd.onboarding.facts import as_json, findings
    from kpd.onboarding.generate import ModelSpending

    facts = findings(args.source, args.wrapper, args.observed, args.top)
    if args.facts:
        out_json(as_json(facts))
        return OK
    purse = ModelSpending(load_config(ws).claude.max_usd_per_run)
    try:
        folder = asyncio.run(_make(ws, args, facts, purse))
    finally:
        if purse.spend.calls:
            narrate(_spent(purse.spend))
    narrate(f"made {args.name}: look through its harness, then kpd task check {args.name} and kpd start {args.name}")
    out(str(folder))
    return OK


async def at_once() -> None:
    """Return at once: a command cannot be paused."""


async def _make(ws: Workspace, args: Namespace, facts: "KernelFacts", purse: "ModelSpending") -> Path:
    from kpd.claude.errors import OverBudget, Unavailable
    from kpd.claude.question import Hooks
    from kpd.claude.service import Service
    from kpd.cli.diagnosis import problems
    from kpd.hosts.errors import HostError
    from kpd.onboarding.compiled import compiler, nvcc
    from kpd.onboarding.generate import GivenUp, HarnessMaker
    from kpd.text.waits import wait

    settings = load_config(ws)
    config, reads = settings.claude, settings.hosts[LOCAL].reads
    if not os.environ.get(config.api_key_env, "").strip():
        message = f"there is no API key: {config.api_key_env} is not set"
        raise CliError(message, "set it; --facts prints what can be told without a model", INFRA)
    hooks = Hooks(lambda text: None, lambda why: narrate(visible(wait(why))) if why else None, purse, at_once)
    async with AsyncExitStack() as stack:
        service = Service(config, os.environ)
        stack.push_async_callback(service.close)
        try:
            here = await stack.enter_async_context(compiler(nvcc(), args.arch, reads)) if nvcc() else None
            maker = HarnessMaker(service, config, hooks, problems, here, lambda text: narrate(visible(text)))
            return await maker.make(ws.tasks, args.name, facts, args.tries)
        except GivenUp as err:
            raise CliError(visible(err.message), err.remedy, FAILED) from err
        except OverBudget as err:
            raise CliError(err.message, "raise max_usd_per_run in [claude] of config.toml", FAILED) from err
        except Unavailable as err:
            raise CliError(err.message, err.remedy, INFRA) from err
        except HostError as err:
            raise CliError(err.message, err.remedy, INFRA) from err


def _spent(spend: Spend) -> str:
    usage = spend.usage
    read = usage.input + usage.cache_write + usage.cache_read
    cost = "at a price that is not known" if spend.unpriced else dollars(spend.usd)
    calls = f"{spend.calls} call{'' if spend.calls == 1 else 's'}"
    tokens = f"{read:,} tokens read ({usage.cache_read:,} from the cache), {usage.output:,} written"
    return f"spent: {calls}, {tokens}, {cost}"
