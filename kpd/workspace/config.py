"""Reads config.toml: hosts, default budget, UI, notifications, coding agents, projects."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from kpd.model.budget import Budget
from kpd.workspace.coding_agents import AgentConfig, check_agent
from kpd.workspace.durations import duration
from kpd.workspace.host_tables import ANY, LOCAL, HostConfig, read_hosts
from kpd.workspace.paths import Workspace
from kpd.workspace.projects import ProjectConfig, check_project
from kpd.workspace.strict import Count, Document, Few, NotNegative, Percent, Text

# A faster refresh costs so much of a core that it would disturb local timings.
MOST_REFRESH_HZ = 2.0
THIN_REFRESH_HZ = 0.5


@dataclass(frozen=True, slots=True)
class RunConfig:
    """The defaults of a run, where its command and its task set nothing. `approve`: candidates wait for a person.

    `devices` is how many of one host's devices it works on at once.
    """

    agent: Text = "sweep"
    host: Text = ANY
    iterations: Count = 6
    patience: Count = 4
    hours: NotNegative = 0.0
    gpu_hours: NotNegative = 0.0
    min_gain_pct: Percent = 1.0
    fix_attempts: Count = 8
    profile: Literal["checked", "accepted", "never"] = "checked"
    approve: bool = False
    task_state: Literal["continue", "reset"] = "continue"
    devices: Few | Literal["all"] = 1


@dataclass(frozen=True, slots=True)
class PriceConfig:
    """The prices of a model in US dollars per million tokens; None: a cautious price that follows from `input`."""

    input: NotNegative
    output: NotNegative
    cache_write: NotNegative | None = None
    cache_read: NotNegative | None = None


@dataclass(frozen=True, slots=True)
class ClaudeConfig:
    """The models that propose kernels and summarise memory, the service that runs them, and the limits of their cost.

    The key is read from the environment variable that `api_key_env` names, and is stored nowhere else. With an empty
    `base_url` the service is ANTHROPIC_BASE_URL's, else Anthropic's own. No call is made that could exceed the limit in
    dollars of a run or of a day (UTC); 0 is no limit. With `keep_prompts` each iteration keeps its whole prompt.
    """

    model: Text = "claude-sonnet-5-5"
    small_model: Text = "claude-haiku-5-5"
    effort: Literal["", "low", "medium", "high", "xhigh", "max"] = "medium"
    base_url: str = ""
    api_key_env: Text = "ANTHROPIC_API_KEY"
    max_tokens: Count = 16_000
    max_usd_per_run: NotNegative = 5.0
    max_usd_per_day: NotNegative = 25.0
    keep_prompts: bool = False
    prices: dict[str, PriceConfig] = field(default_factory=dict)

    def lacks_key(self, environ: Mapping[str, str]) -> str:
        """Return why `environ` holds no usable API key, in words that do not show the key; empty where there is one."""
        key = environ.get(self.api_key_env, "").strip()
        if not key:
            return f"there is no API key: {self.api_key_env} is not set"
        if not key.isascii() or not key.isprintable() or " " in key:
            return f"what {self.api_key_env} holds is no API key"
        return ""


@dataclass(frozen=True, slots=True)
class TuiConfig:
    """The settings of the terminal UI. `keys` maps an action's id (`kpd attach`, then `?` lists them) to its key,
    `filters` a name to the filter that `@name` stands for.
    """

    theme: str = ""
    refresh_hz: NotNegative = MOST_REFRESH_HZ
    low_bandwidth: bool = False
    keys: dict[str, Text] = field(default_factory=dict)
    filters: dict[str, Text] = field(default_factory=dict)

    def thin(self) -> "TuiConfig":
        """Return these settings changed for a slow line: `low_bandwidth` set, and the screen refreshed less often."""
        return replace(self, low_bandwidth=True, refresh_hz=min(self.refresh_hz, THIN_REFRESH_HZ))


@dataclass(frozen=True, slots=True)
class NotifyConfig:
    """The settings of notifications. `command` is an argument list, run without a shell; empty: nobody is notified.

    A device that work waits for is reported after `idle_minutes`; 0: never.
    """

    command: tuple[str, ...] = ()
    idle_minutes: NotNegative = 10.0


@dataclass(frozen=True, slots=True)
class ToolsmithConfig:
    """Whether coding agents build tools for later sessions, where a run does not say it (`enabled`), and how long.

    After each of its iterations an agent has `reflect_limit` to name what would have helped, `build_limit` to build it,
    and the same again for each of `repairs` repairs.
    """

    enabled: bool = False
    reflect_limit: Text = "3m"
    build_limit: Text = "8m"
    repairs: Few = 2


@dataclass(frozen=True, slots=True)
class Config:
    hosts: dict[str, HostConfig] = field(default_factory=lambda: {LOCAL: HostConfig()})
    run: RunConfig = field(default_factory=RunConfig)
    claude: ClaudeConfig = field(default_factory=ClaudeConfig)
    tui: TuiConfig = field(default_factory=TuiConfig)
    notify: NotifyConfig = field(default_factory=NotifyConfig)
    agents: dict[str, AgentConfig] = field(default_factory=dict)
    toolsmith: ToolsmithConfig = field(default_factory=ToolsmithConfig)
    project: dict[str, ProjectConfig] = field(default_factory=dict)

    def budget(self) -> Budget:
        """Return the budget of a run, as far as neither its command line nor its task sets other limits."""
        return Budget(
            iterations=self.run.iterations,
            patience=self.run.patience,
            min_gain_pct=self.run.min_gain_pct,
            fix_attempts=self.run.fix_attempts,
            usd=self.claude.max_usd_per_run,
            hours=self.run.hours,
            gpu_hours=self.run.gpu_hours,
        )


def load_config(ws: Workspace) -> Config:
    """Read the workspace's config.toml; a missing file gives the defaults. Raises ConfigError.

    The host "local" is always among the hosts.
    """
    if not os.path.lexists(ws.config):  # a broken link is an error, and reported
        return Config()
    document = Document.read(ws.config)
    if not isinstance(document.table.get("hosts", {}), dict):
        document.convert(Config)  # raises the ConfigError
    rest = {key: table for key, table in document.table.items() if key != "hosts"}
    config = replace(document, table=rest).convert(Config)
    config = replace(config, hosts=read_hosts(document))
    for name, agent in config.agents.items():
        check_agent(document, name, agent)
    for name, project in config.project.items():
        check_project(document, name, project, tuple(config.hosts))
    for key in ("reflect_limit", "build_limit"):
        _check_duration(document, getattr(config.toolsmith, key), "toolsmith", key)
    if config.run.host not in (ANY, *config.hosts):
        known = ", ".join((ANY, *config.hosts))
        raise document.error(f"'host' in [run] names {config.run.host!r}", f"known hosts are {known}", "run", "host")
    if not 0 < config.tui.refresh_hz <= MOST_REFRESH_HZ:
        message = f"'refresh_hz' in [tui] must be above 0 and at most {MOST_REFRESH_HZ:g}"
        raise document.error(message, "more would disturb the timings of a local host", "tui", "refresh_hz")
    return replace(config, tui=config.tui.thin()) if config.tui.low_bandwidth else config


def _check_duration(document: Document, text: str, *keys: str) -> None:
    """Check one duration. Raises ConfigError."""
    try:
        duration(text)
    except ValueError as err:
        *tables, key = keys
        message = f"'{key}' in [{'.'.join(tables)}]: {err}"
        raise document.error(message, 'write "90s", "20m" or "1h"', *keys) from err
