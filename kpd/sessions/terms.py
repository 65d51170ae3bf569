"""Knows the coding agents: what starts each, what it may use, and how long it may work."""

import importlib.util
import shutil
from collections.abc import Sequence
from dataclasses import dataclass, replace

from kpd.hosts.kept import can_confine
from kpd.workspace.coding_agents import AgentConfig
from kpd.workspace.config import Config
from kpd.workspace.endpoints import ANYWHERE
from kpd.workspace.extras import install

LIMIT_S = 20 * 60.0
SERVERS_MS = 90_000
"""Milliseconds that an agent waits for its servers of tools, before it asks its model anything."""
COMMANDS = (
    "awk", "basename", "c++filt", "cat", "cc", "cd", "clang", "clang++", "cmp", "cp", "cut", "diff", "dirname", "echo",
    "env", "false", "file", "find", "g++", "gcc", "git", "grep", "head", "kpd", "ls", "make", "mkdir", "mv", "nl", "nm",
    "nvcc", "objdump", "od", "printf", "pwd", "python", "python3", "readelf", "rg", "rm", "sed", "size", "sleep",
    "sort", "stat", "strings", "tail", "tee", "test", "time", "touch", "tr", "tree", "true", "uniq", "wc", "which",
    "xargs", "xxd",
)  # fmt: skip
"""Programs that an agent may run without asking. What they can reach is decided by the sandbox."""
UNCONFINED = "this machine can confine no agent: it has neither Landlock (Linux 5.13) nor a bubblewrap that works"

OPEN = "its hosts are named in config.toml, and this machine gives no network namespace to keep it to them"


@dataclass(frozen=True, slots=True)
class Preset:
    """What kpd knows of an agent: its settings, and how to `get` it."""

    get: str
    settings: AgentConfig


def _preset(
    get: str, command: tuple[str, ...], keys: tuple[str, ...], hosts: tuple[str, ...], mode: str = "", **env: str
) -> Preset:
    return Preset(get, AgentConfig(command=command, keys=keys, hosts=hosts, mode=mode, env=env))


PRESETS = {
    "claude-code": _preset(
        "npm install -g @agentclientprotocol/claude-agent-acp",
        ("claude-agent-acp",),
        ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_BASE_URL", "CLAUDE_CODE_OAUTH_TOKEN"),
        ("api.anthropic.com",),
        CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC="1",
        DISABLE_AUTOUPDATER="1",
        MCP_CONNECTION_NONBLOCKING="0",  # else its first question may go out before it knows kpd's tools
        MCP_CONNECT_TIMEOUT_MS=str(SERVERS_MS),
        MCP_TIMEOUT=str(SERVERS_MS),
    ),
    "codex": _preset(
        "npm install -g @agentclientprotocol/codex-acp",
        ("codex-acp",),
        ("OPENAI_API_KEY", "CODEX_API_KEY"),
        ("api.openai.com",),
        mode="agent-full-access",  # its own sandbox cannot begin inside kpd's, which holds in any case
        NO_BROWSER="1",
        DEFAULT_AUTH_REQUEST='{"methodId": "api-key"}',  # else it wants to be logged in, whatever key it has
    ),
    "gemini": _preset(
        "npm install -g @google/gemini-cli",
        ("gemini", "--acp"),
        ("GEMINI_API_KEY", "GOOGLE_API_KEY", "GOOGLE_GEMINI_BASE_URL"),
        ("generativelanguage.googleapis.com",),
        GEMINI_CLI_TRUST_WORKSPACE="true",  # in a folder that nobody trusts it starts no server of tools
        GEMINI_CLI_NO_RELAUNCH="true",
    ),
    "opencode": _preset(
        "npm install -g opencode-ai",
        ("opencode", "acp"),
        ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "OPENROUTER_API_KEY", "GEMINI_API_KEY"),
        ("api.anthropic.com", "api.openai.com", "openrouter.ai", "generativelanguage.googleapis.com"),
    ),
}


def settings_of(name: str, config: Config) -> AgentConfig:
    """Return the settings of an agent: those of config.toml, completed by the preset of this name, if there is one."""
    given = config.agents.get(name, AgentConfig())
    if name not in PRESETS:
        return given
    known = PRESETS[name].settings
    command = given.command or (() if given.exec else known.command)
    keys, hosts, mode = given.keys or known.keys, given.hosts or known.hosts, given.mode or known.mode
    return replace(given, command=command, keys=keys, hosts=hosts, mode=mode, env={**known.env, **given.env})


def names_hosts(name: str, settings: AgentConfig) -> bool:
    """Return whether config.toml keeps an agent to hosts: it names some that are not those of its preset."""
    known = PRESETS[name].settings.hosts if name in PRESETS else ()
    return bool(settings.hosts) and ANYWHERE not in settings.hosts and settings.hosts != known


def secrets(keys: Sequence[str]) -> list[str]:
    """Return those of these variables that hold a key, which no other child process of the daemon may get."""
    return [name for name in keys if name.endswith(("_KEY", "_TOKEN"))]


def limit_s(settings: AgentConfig, nth: int) -> float:
    """Return the seconds of the `nth` attempt of a run, counted from 0."""
    limits = settings.limits_s or (LIMIT_S,)
    return limits[min(nth, len(limits) - 1)]


def argv(settings: AgentConfig) -> tuple[str, ...]:
    return settings.command or settings.exec


def why_not(name: str, config: Config) -> str:
    """Return why an agent cannot be started here, with the remedy; empty where it can."""
    settings = settings_of(name, config)
    program = next(iter(argv(settings)), "")
    if not program:
        return f"there is no agent {name}: [agents.{name}] of config.toml needs command = [...] or exec = [...]"
    if shutil.which(program) is None:
        get = PRESETS[name].get if name in PRESETS else f"correct [agents.{name}] of config.toml"
        return f"{name} is not installed: no program {program} on the PATH of the daemon; {get}"
    if settings.command and importlib.util.find_spec("acp") is None:
        return f"{name} needs kpd's part for coding agents: {install('agents')}"
    if settings.confined and not can_confine():
        return f"{UNCONFINED}; confined = false in [agents.{name}] lets it run with all of your rights"
    return ""
