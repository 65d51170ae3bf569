"""Finds agents by name: kpd's own and those of plug-ins, all entry points of the group `kpd.agents`."""

from kpd.agents.agent import Agent, AgentKind
from kpd.agents.operator import OperatorEdit, RemeasureAgent
from kpd.model.agents import AGAIN, BASELINE, AgentTraits
from kpd.workspace.coding_agents import AgentConfig
from kpd.workspace.config import Config
from kpd.workspace.entry_points import SESSION, EntryPointGroup, PlugInError
from kpd.workspace.paths import Workspace


def _checked(found: object) -> AgentKind:
    if not isinstance(found, AgentKind):
        raise ValueError(f"it is {type(found).__name__} instead of a kpd.agents.agent.AgentKind")
    return found


AGENTS = EntryPointGroup("kpd.agents", _checked)
UNNAMED = {
    BASELINE: AgentKind(lambda config, of: OperatorEdit(), operators=True),
    AGAIN: AgentKind(lambda config, of: RemeasureAgent(), operators=True),
}
"""The agents of iterations that kpd begins by itself; no run may name them."""


def make_agent(name: str, config: Config) -> Agent:
    """Return the agent that a run calls `name`. Raises PlugInError."""
    kind, _, of = _whole(name, config).partition(":")
    found = UNNAMED.get(kind) or AGENTS.get(kind)
    if found is None:
        raise PlugInError(f"no agent {name!r}", "install what it comes from, or change the run's: kpd agent")
    return found.make(config, of)


def is_operators(name: str) -> bool:
    """Return whether what this agent proposes is a person's. False for an agent that is no longer installed."""
    return (found := _known(name)) is not None and found.operators


def asks_models(names: str) -> bool:
    """Return whether one of the agents in `names`, separated by commas, asks a model of [claude] with kpd's own key."""
    known = (_known(name) for name in names.split(","))
    return any(found is not None and found.models and not found.own_key for found in known)


def reflects(names: str, config: Config) -> bool:
    """Return whether one of the agents in `names`, separated by commas, can build tools for later iterations."""
    known = (_known(_whole(name, config)) for name in names.split(","))
    return any(found is not None and found.reflects for found in known)


def traits(names: str, config: Config) -> dict[str, AgentTraits]:
    """Return the traits of the agents in `names`, separated by commas; agents that are not installed are left out."""
    return {name: found.traits for name in names.split(",") if (found := _known(_whole(name, config))) is not None}


def preset(name: str, config: Config) -> AgentConfig:
    """Return the settings that an agent brings with it; an agent that is not installed has none."""
    return found.preset if (found := _known(_whole(name, config))) is not None else AgentConfig()


def agent_keys(name: str, config: Config) -> tuple[str, ...]:
    """Return the variables with a coding agent's keys: config.toml's, else those that it brings with it."""
    return config.agents.get(name, AgentConfig()).keys or preset(name, config).keys


def fixer_keys(who: str, config: Config) -> tuple[str, ...]:
    """Return the variables with the keys of who mends production files: the model, a coding agent, or nobody."""
    return (config.claude.api_key_env,) if who == "model" else agent_keys(who, config)


def choices(config: Config) -> str:
    """Return the names of the agents that a run may have, for people: `claude, script:FOLDER`."""
    names = sorted({*AGENTS.names(), *config.agents} - {SESSION})
    return ", ".join(f"{name}:{kind.argument}" if (kind := _known(name)) and kind.argument else name for name in names)


def refusal(names: str, workspace: Workspace, config: Config) -> tuple[str, str]:
    """Return why a run cannot have the agents in `names`, separated by commas, and what helps.

    Both are empty when it can have them.
    """
    given = names.split(",")
    for name in given:
        kind, colon, of = _whole(name, config).partition(":")
        try:
            found = AGENTS.get(kind)
        except PlugInError as err:
            return err.message, err.remedy
        if found is None or bool(found.argument) != bool(colon) or (colon and not of):
            return f"no agent {name!r}", f"agents: {choices(config)}; several take turns, as in claude,sweep"
        if len(given) > 1 and found.alone:
            return f"{name!r} takes no turns with other agents", "name it alone"
        if why := found.refuse(workspace, of):
            return why, ""
    return (f"{names!r} names an agent twice", "name it once") if len(set(given)) < len(given) else ("", "")


def _whole(name: str, config: Config) -> str:
    """Return the name with the entry that stands for it, if it is that of an agent of config.toml and of no entry."""
    return f"{SESSION}:{name}" if name in config.agents and _known(name) is None else name


def _known(name: str) -> AgentKind | None:
    kind = name.partition(":")[0]
    try:
        return UNNAMED.get(kind) or AGENTS.get(kind)
    except PlugInError:  # said where it is named
        return None
