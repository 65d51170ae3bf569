"""The agents by name. A new one is one module and one line here."""

from collections.abc import Callable

from kpd.agents.again import Again
from kpd.agents.agent import Agent
from kpd.agents.claude import Claude
from kpd.agents.knowing import whole_prompt
from kpd.agents.mailbox import Mailbox
from kpd.agents.operator import AsTheyAre
from kpd.agents.recorded import Recorded
from kpd.agents.script import Script
from kpd.agents.sweep import Sweep
from kpd.workspace.config import Config

AGENTS: dict[str, Callable[[Config, str], Agent]] = {
    "claude": lambda config, of: Claude(config.claude),
    "sweep": lambda config, of: Sweep(),
    "mailbox": lambda config, of: Mailbox(whole_prompt),
    "script": lambda config, of: Script(of),
    "operator": lambda config, of: AsTheyAre(),
    "recorded": lambda config, of: Recorded(config),
    "baseline": lambda config, of: AsTheyAre(),
    "again": lambda config, of: Again(),
}
"""Each is made of the config and of what its name has after a colon."""
CHOICES = {
    "claude": "claude",
    "sweep": "sweep",
    "mailbox": "mailbox",
    "script": "script:FOLDER",
    "operator": "operator",
    "recorded": "recorded",
}
"""What a run may name, as it is written.

`operator` proposes nothing by itself: the run waits for edits of the task folder. `recorded` proposes what the host's
recording holds, `script` what is in the folders of a folder.
"""
ALONE = ("operator", "recorded")


def agent(name: str, config: Config) -> Agent:
    """The agent that a run calls `name`."""
    kind, _, of = name.partition(":")
    return AGENTS[kind](config, of)


def refusal(names: str) -> str:
    """Why a run cannot have the agents that are named, with commas between them; empty when it can."""
    given = names.split(",")
    for name in given:
        kind, colon, of = name.partition(":")
        if kind not in CHOICES or CHOICES[kind].partition(":")[1] != colon or (colon and not of):
            return f"no agent {name!r}"
        if len(given) > 1 and kind in ALONE:
            return f"{name!r} takes no turns with other agents"
    return f"{names!r} names an agent twice" if len(set(given)) < len(given) else ""
