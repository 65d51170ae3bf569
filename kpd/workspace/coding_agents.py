"""Reads the tables of config.toml on coding agents: `[agents.NAME]`."""

from dataclasses import dataclass, field

from kpd.workspace.durations import duration
from kpd.workspace.endpoints import ANYWHERE, endpoint
from kpd.workspace.entry_points import NAME
from kpd.workspace.strict import Count, Document, Positive, Text

AGENTS_OWN = ("again", "baseline", "claude", "mailbox", "operator", "script", "sweep")
"""Names of agents that are no coding agents."""


@dataclass(frozen=True, slots=True)
class AgentConfig:
    """A coding agent on the daemon's machine, or changes of a preset: a key that is left out is the preset's.

    `command` starts a program that speaks the Agent Client Protocol; `exec` one that does not: it gets the prompt on
    stdin, or in the file that `{prompt_file}` stands for. `env` are environment variables; `keys` names those that it
    gets from the daemon's environment. `mode` and `model` are the agent's own names. `limit` is the time of a session:
    `"20m"`, or a list, of which the n-th attempt of the run has the n-th and later ones the last. A session ends when
    it says that it has cost `usd` dollars; it has `trials` measured trials, which may take `device_s` seconds.
    `commands` are programs that it may run without asking; `reads` are folders
    that it may read beside the system's. `hosts` are those that it may reach (`name`, `name:port`, or `"*"` for all),
    beside those of URLs in its variables. Without `confined` it runs outside of any sandbox. With `ask` an operator
    answers what no rule does, within `ask_limit`.
    """

    command: tuple[Text, ...] = ()
    exec: tuple[Text, ...] = ()
    env: dict[str, str] = field(default_factory=dict)
    keys: tuple[Text, ...] = ()
    mode: str = ""
    model: str = ""
    limit: str | tuple[Text, ...] = ""
    usd: Positive = 2.0
    trials: Count = 20
    device_s: Positive = 600.0
    commands: tuple[Text, ...] = ()
    reads: tuple[Text, ...] = ()
    hosts: tuple[Text, ...] = ()
    confined: bool = True
    ask: bool = False
    ask_limit: Text = "5m"

    @property
    def ask_s(self) -> float:
        """The seconds that an operator has for an answer; 0 where nobody is asked."""
        return duration(self.ask_limit) if self.ask else 0.0

    @property
    def limits_s(self) -> tuple[float, ...]:
        """The limits of the attempts in seconds; empty where none is given."""
        given = (self.limit,) if isinstance(self.limit, str) else self.limit
        return tuple(duration(each) for each in given if each)


def check_agent(document: Document, name: str, agent: AgentConfig) -> None:
    """Check one [agents.*] table. Raises ConfigError."""
    if not NAME.fullmatch(name) or name in AGENTS_OWN:
        remedy = f"use lower-case letters, digits, _ and -, and none of {', '.join(AGENTS_OWN)}"
        raise document.error(f"{name!r} cannot be a coding agent's name", remedy, "agents", name)
    if agent.command and agent.exec:
        message = f"[agents.{name}] has 'command' and 'exec'"
        raise document.error(message, "keep 'command' if it speaks the protocol ACP", "agents", name, "exec")
    try:
        _ = agent.limits_s
    except ValueError as err:
        message, remedy = f"'limit' in [agents.{name}]: {err}", 'write "90s", "20m", "1h", or a list of these'
        raise document.error(message, remedy, "agents", name, "limit") from err
    for host in agent.hosts:
        try:
            _ = host == ANYWHERE or endpoint(host)
        except ValueError as err:
            message = f"'hosts' in [agents.{name}]: {err}"
            raise document.error(
                message, 'write "api.example.com" or "127.0.0.1:8000"', "agents", name, "hosts"
            ) from err
    try:
        duration(agent.ask_limit)
    except ValueError as err:
        message = f"'ask_limit' in [agents.{name}]: {err}"
        raise document.error(message, 'write "90s" or "5m"', "agents", name, "ask_limit") from err
