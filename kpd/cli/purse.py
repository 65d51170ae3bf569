"""Asks a model for a verb that is no run: within the limits of the workspace, and on its account."""

import os
import sys
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from pathlib import Path

from kpd.agents.answers import MailboxAnswers, PromptAnswers, ServiceAnswers
from kpd.agents.mailbox import PROMPT, REPLY
from kpd.claude.errors import OverBudget, Unavailable
from kpd.claude.purse import Purse
from kpd.claude.question import Hooks
from kpd.claude.service import Service
from kpd.cli.ask import query
from kpd.cli.exit_codes import FAILED, INFRA, CliError
from kpd.cli.terminal_text import narrate
from kpd.daemon.hardening import close_memory
from kpd.model.spending import NOTHING, Purpose, Spend
from kpd.sessions.answers import AgentAnswers
from kpd.sessions.terms import why_not
from kpd.text.foreign import visible
from kpd.text.waits import wait
from kpd.workspace.config import load_config
from kpd.workspace.environment import keys, take_key
from kpd.workspace.paths import Workspace


def purse_of(ws: Workspace, of: str, spent: Spend = NOTHING) -> Purse:
    """Return the account of one purpose beside runs, which `of` names, and for which so much was `spent` before.

    Raises ConfigError.
    """
    return Purse(ws.root, of, load_config(ws).claude, lambda: float(query(ws, "cost")["runs_usd"]), spent)


def keep_keys(names: Iterable[str]) -> None:
    """Keep keys from child processes, and from a program that may run on this machine with others' code."""
    held = [name for name in names if name in os.environ]
    for name in held:
        take_key(name)
    if held:
        close_memory()


@asynccontextmanager
async def model_answers(ws: Workspace, purse: Purse, purpose: Purpose, instead: str) -> AsyncIterator[ServiceAnswers]:
    """Hold a client of the model service for as long as the block runs.

    Raises CliError without a key; `instead` says what needs none.
    """
    config = load_config(ws).claude
    if not keys().get(config.api_key_env, "").strip():
        message = f"there is no API key: {config.api_key_env} is not set"
        raise CliError(message, f"set it; {instead}", INFRA)
    hooks = Hooks(lambda text: None, lambda why: narrate(visible(wait(why))) if why else None, purse, at_once)
    service = Service(config, keys())
    try:
        yield ServiceAnswers(service, config, hooks, purpose)
    finally:
        await service.close()


@asynccontextmanager
async def agent_answers(
    ws: Workspace, purse: Purse, purpose: Purpose, name: str, folder: Path, instead: str
) -> AsyncIterator[AgentAnswers]:
    """Give a coding agent that answers, in sessions below `folder`. Raises CliError where it cannot be started."""
    config = load_config(ws)
    if why := why_not(name, config):
        raise CliError(visible(why), instead, INFRA)

    def tell(channel: str, text: str) -> None:
        sys.stderr.write(visible(text))

    yield AgentAnswers(name, config, ws, folder, purse, purpose, tell)


def mailbox_at(stem: Path) -> Path:
    return stem.with_name(f"{stem.name}.mailbox")


@asynccontextmanager
async def answers_of(
    ws: Workspace, who: str, purse: Purse, purpose: Purpose, stem: Path, when: str, instead: str
) -> AsyncIterator[PromptAnswers]:  # fmt: skip
    """Give who answers for as long as the block runs: "model", "folder", or a coding agent. Raises CliError.

    `stem` begins the name of the folder in which one asks, or an agent works; `when` says for people when one asks.
    """
    if who == "folder":
        folder = mailbox_at(stem)
        narrate(f"{when}, {folder / PROMPT} asks, and {folder / REPLY} answers")
        yield MailboxAnswers(folder)
    elif who == "model":
        async with model_answers(ws, purse, purpose, instead) as model:
            yield model
    else:
        async with agent_answers(ws, purse, purpose, who, stem.with_name(f"{stem.name}.agent"), instead) as agent:
            yield agent


@asynccontextmanager
async def told() -> AsyncIterator[None]:
    """Turn what keeps a model from answering into a CliError."""
    try:
        yield
    except OverBudget as err:
        raise CliError(err.message, f"raise max_usd_per_{err.over.scope} in [claude] of config.toml", FAILED) from err
    except Unavailable as err:
        raise CliError(err.message, err.remedy, INFRA) from err


async def at_once() -> None:
    """Return at once: a command cannot be paused."""
