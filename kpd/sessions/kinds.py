"""Registers the coding agents: each preset, and those of config.toml."""

from kpd.agents.agent import AgentKind
from kpd.sessions.agent import SessionAgent
from kpd.sessions.terms import PRESETS, why_not
from kpd.workspace.config import load_config
from kpd.workspace.paths import Workspace, WorkspaceError


def _refused(workspace: Workspace, name: str) -> str:
    try:
        return why_not(name, load_config(workspace))
    except WorkspaceError as err:
        return str(err)


def _preset(name: str) -> AgentKind:
    return AgentKind(
        lambda config, of: SessionAgent(name, config), models=True, own_key=True, reflects=True,
        preset=PRESETS[name].settings, refuse=lambda workspace, of: _refused(workspace, name),
    )  # fmt: skip


CLAUDE_CODE, CODEX, GEMINI, OPENCODE = map(_preset, ("claude-code", "codex", "gemini", "opencode"))
CONFIGURED = AgentKind(
    lambda config, of: SessionAgent(of, config), "NAME", models=True, own_key=True, reflects=True, refuse=_refused
)
