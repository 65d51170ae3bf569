"""Reads config.toml: hosts, default budget, UI, notifications."""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, Literal

from kpd.model.state import Budget
from kpd.workspace.entry_points import PlugInError
from kpd.workspace.paths import Workspace, WorkspaceError, expanded
from kpd.workspace.strict import Count, Document, NotNegative, Percent, Text, nearest
from kpd.workspace.transports import TRANSPORTS, BadKey, is_here

LOCAL = "local"
ANY = "any"
"""In place of a host's name: whichever fits the task and is free."""
HOST_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,31}")

# A faster refresh costs so much of a core that it would disturb local timings.
MOST_REFRESH_HZ = 2.0
THIN_REFRESH_HZ = 0.5


@dataclass(frozen=True, slots=True)
class HostConfig:
    """One place where commands run, and how it is reached. Paths there begin with `/` or `~`.

    `transport` is a name of `kpd.transports`; `options` are the keys that only it has, None where it has none.
    `address` is what `ssh` takes: an alias of ~/.ssh/config, or [user@]host[:port]. `accept_new` trusts a host key that
    nobody has seen before. `control_path` is the socket of an OpenSSH master that the operator has opened. `python` is
    the host's; `local` has kpd's own. `gpus` are the ones to use, by index or UUID (empty: all). `tolerate` names
    compute processes that may stay on a GPU while it measures. `leases` is the folder of locks that all daemons on the
    host share.
    """

    transport: Text = LOCAL
    address: str = ""
    accept_new: bool = False
    control_path: str = ""
    compression: bool = False
    python: Text = "python3"
    root: str = ""
    leases: Text = "/tmp/kpd-leases"
    cuda_home: str = ""
    gpus: tuple[int | str, ...] = ()
    tolerate: tuple[Text, ...] = ()
    options: Any = None


@dataclass(frozen=True, slots=True)
class RunConfig:
    """What a run does when neither its command nor its task says otherwise. `approve`: candidates wait for a person."""

    agent: Text = "sweep"
    host: Text = ANY
    iterations: Count = 6
    patience: Count = 4
    min_gain_pct: Percent = 2.0
    fix_attempts: Count = 8
    profile: Literal["checked", "accepted", "never"] = "checked"
    approve: bool = False


@dataclass(frozen=True, slots=True)
class PriceConfig:
    """US dollars for a million tokens of a model; what is None follows from `input`, at the cautious end."""

    input: NotNegative
    output: NotNegative
    cache_write: NotNegative | None = None
    cache_read: NotNegative | None = None


@dataclass(frozen=True, slots=True)
class ClaudeConfig:
    """Which models propose kernels and summarise memory, through which service, and for how much money.

    The key is read from the environment variable that `api_key_env` names, and stands nowhere else. With an empty
    `base_url` the service is ANTHROPIC_BASE_URL's, else Anthropic's own. No call is made that could bring a run or a
    day (UTC) over its limit in dollars; 0 is no limit. With `keep_prompts` each iteration keeps its whole prompt.
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
        """Return why there is no API key in `environ`, in words that do not hold it; empty where there is one."""
        key = environ.get(self.api_key_env, "").strip()
        if not key:
            return f"there is no API key: {self.api_key_env} is not set"
        if not key.isascii() or not key.isprintable() or " " in key:
            return f"what {self.api_key_env} holds is no API key"
        return ""


@dataclass(frozen=True, slots=True)
class TuiConfig:
    """`keys` maps an action's id (`kpd attach`, then `?` lists them) to the key that is wanted for it."""

    theme: str = ""
    refresh_hz: NotNegative = MOST_REFRESH_HZ
    low_bandwidth: bool = False
    keys: dict[str, Text] = field(default_factory=dict)

    def thin(self) -> "TuiConfig":
        """Return the same for a thin line."""
        return replace(self, low_bandwidth=True, refresh_hz=min(self.refresh_hz, THIN_REFRESH_HZ))


@dataclass(frozen=True, slots=True)
class NotifyConfig:
    """`command` is an argument list, run without a shell; empty means that nobody is told.

    A device that work waits for is told of after `idle_minutes`; 0: never.
    """

    command: tuple[str, ...] = ()
    idle_minutes: NotNegative = 10.0


@dataclass(frozen=True, slots=True)
class Config:
    hosts: dict[str, HostConfig] = field(default_factory=lambda: {LOCAL: HostConfig()})
    run: RunConfig = field(default_factory=RunConfig)
    claude: ClaudeConfig = field(default_factory=ClaudeConfig)
    tui: TuiConfig = field(default_factory=TuiConfig)
    notify: NotifyConfig = field(default_factory=NotifyConfig)

    def budget(self) -> Budget:
        """Return what a run may spend of which neither its command line nor its task says otherwise."""
        return Budget(
            iterations=self.run.iterations,
            patience=self.run.patience,
            min_gain_pct=self.run.min_gain_pct,
            fix_attempts=self.run.fix_attempts,
            usd=self.claude.max_usd_per_run,
        )


def load_config(ws: Workspace) -> Config:
    """Return the workspace's config; a missing file means the defaults. Host "local" is always there. Raises ConfigError."""
    if not os.path.lexists(ws.config):  # a link that leads nowhere is a fault, and told
        return Config()
    document = Document.read(ws.config)
    hosts = document.table.get("hosts", {})
    if not isinstance(hosts, dict):
        document.convert(Config)  # which says so
    rest = {key: table for key, table in document.table.items() if key != "hosts"}
    config = replace(document, table=rest).convert(Config)
    read = {name: _host(document, name, table) for name, table in hosts.items()}
    config = replace(config, hosts={LOCAL: HostConfig(), **read})
    if config.run.host not in (ANY, *config.hosts):
        known = ", ".join((ANY, *config.hosts))
        raise document.error(f"'host' in [run] names {config.run.host!r}", f"known hosts are {known}", "run", "host")
    if not 0 < config.tui.refresh_hz <= MOST_REFRESH_HZ:
        message = f"'refresh_hz' in [tui] must be above 0 and at most {MOST_REFRESH_HZ:g}"
        raise document.error(message, "more would disturb the timings of a local host", "tui", "refresh_hz")
    return replace(config, tui=config.tui.thin()) if config.tui.low_bandwidth else config


def _host(document: Document, name: str, table: object) -> HostConfig:
    """Return a host as its table says. Raises ConfigError.

    Where a plug-in fails to provide the transport, only what all tables may hold is read: the host will be down.
    """
    known = [each.name for each in fields(HostConfig) if each.name != "options"]
    own = {key: value for key, value in table.items() if key not in known} if isinstance(table, dict) else {}
    common = {key: table[key] for key in table if key in known} if isinstance(table, dict) else table
    host = document.part(common, HostConfig, "hosts", name)
    _check_host(document, name, host)
    try:
        kind = TRANSPORTS.get(host.transport) if host.transport != LOCAL else None
    except PlugInError:
        return host
    if kind is None and host.transport != LOCAL:
        message = f"'transport' in [hosts.{name}] is {host.transport!r}, which is none"
        remedy = nearest(host.transport, TRANSPORTS.names())
        raise document.error(message, remedy, "hosts", name, "transport")
    keys = kind.keys if kind is not None else None
    known += [each.name for each in fields(keys)] if keys is not None else []
    for key, value in own.items():
        if key not in known:
            raise document.unknown(key, isinstance(value, dict), known, "hosts", name)
    try:
        if keys is not None:
            host = replace(host, options=document.part(own, keys, "hosts", name))
        if kind is not None:
            kind.check(host)
    except BadKey as err:
        message = f"'{err.key}' in [hosts.{name}] {err.message}"
        raise document.error(message, err.remedy, "hosts", name, err.key) from err
    return host


def _check_host(document: Document, name: str, host: HostConfig) -> None:
    """What holds for any transport. Raises ConfigError."""
    if name == ANY:
        remedy = "it is reserved for whichever host is free: give this one another name"
        raise document.error(f"{name!r} cannot be a host's name", remedy, "hosts", name)
    if not HOST_NAME.fullmatch(name):
        raise document.error(f"{name!r} cannot be a host's name", "use letters, digits, _ . and -", "hosts", name)
    for key, path in (("root", host.root), ("leases", host.leases), ("cuda_home", host.cuda_home)):
        if path and not path.startswith(("/", "~")):
            message = f"'{key}' in [hosts.{name}] is no absolute path: {path!r}"
            raise document.error(message, "begin it with / or ~/", "hosts", name, key)
        if path and (host.transport == LOCAL or is_here(host.transport)):  # another machine's users are not known here
            try:
                expanded(path)
            except WorkspaceError as err:
                message = f"'{key}' in [hosts.{name}]: {err.message}"
                raise document.error(message, err.remedy, "hosts", name, key) from err
    if host.transport == LOCAL and host.address:
        message, remedy = f"'address' in [hosts.{name}] needs a transport", 'write transport = "ssh"'
        raise document.error(message, remedy, "hosts", name, "address")
    if host.transport != LOCAL and name == LOCAL:
        message, remedy = "[hosts.local] is this machine", "give the other host another name"
        raise document.error(message, remedy, "hosts", name, "transport")
