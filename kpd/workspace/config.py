"""config.toml: the hosts, a run's budget, the UI's looks, and who is told."""

from dataclasses import dataclass, field, replace
from typing import Literal

from kpd.model.nouns import Budget
from kpd.workspace.paths import Workspace
from kpd.workspace.strict import Count, Document, NotNegative, Percent, Text

LOCAL = "local"

# A faster refresh costs so much of a core that it would disturb local timings.
MOST_REFRESH_HZ = 2.0


@dataclass(frozen=True, slots=True)
class HostConfig:
    """One place where commands run."""

    transport: Literal["local"] = "local"


@dataclass(frozen=True, slots=True)
class RunConfig:
    """What a run does when neither its command nor its task says otherwise."""

    agent: Text = "sweep"
    host: Text = LOCAL
    iterations: Count = 6
    patience: Count = 4
    min_gain_pct: Percent = 2.0
    fix_attempts: Count = 8
    profile: Literal["checked", "accepted", "never"] = "checked"

    def budget(self) -> Budget:
        return Budget(
            iterations=self.iterations,
            patience=self.patience,
            min_gain_pct=self.min_gain_pct,
            fix_attempts=self.fix_attempts,
        )


@dataclass(frozen=True, slots=True)
class TuiConfig:
    """`keys` maps an action's id (`kpd attach`, then `?` lists them) to the key that is wanted for it."""

    theme: str = ""
    refresh_hz: NotNegative = MOST_REFRESH_HZ
    keys: dict[str, Text] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class NotifyConfig:
    """`command` is an argument list, run without a shell; empty means that nobody is told."""

    command: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Config:
    hosts: dict[str, HostConfig] = field(default_factory=lambda: {LOCAL: HostConfig()})
    run: RunConfig = field(default_factory=RunConfig)
    tui: TuiConfig = field(default_factory=TuiConfig)
    notify: NotifyConfig = field(default_factory=NotifyConfig)


def load_config(ws: Workspace) -> Config:
    """The workspace's config; a missing file means the defaults. Host "local" is always there. Raises ConfigError."""
    if not ws.config.exists():
        return Config()
    document = Document.read(ws.config)
    config = document.convert(Config)
    config = replace(config, hosts={LOCAL: HostConfig(), **config.hosts})
    if config.run.host not in config.hosts:
        known = ", ".join(config.hosts)
        raise document.error(f"'host' in [run] names {config.run.host!r}", f"known hosts are {known}", "run", "host")
    if not 0 < config.tui.refresh_hz <= MOST_REFRESH_HZ:
        message = f"'refresh_hz' in [tui] must be above 0 and at most {MOST_REFRESH_HZ:g}"
        raise document.error(message, "more would disturb the timings of a local host", "tui", "refresh_hz")
    return config
