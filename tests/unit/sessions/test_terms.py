"""What kpd knows of coding agents, and what config.toml changes."""

from pathlib import Path

import pytest

from kpd.sessions.terms import PRESETS, limit_s, names_hosts, settings_of, why_not
from kpd.workspace.coding_agents import AgentConfig
from kpd.workspace.config import Config, duration, load_config
from kpd.workspace.paths import Workspace
from kpd.workspace.strict import ConfigError


def test_a_table_changes_a_preset() -> None:
    config = Config(agents={"codex": AgentConfig(env={"A": "1"}, limit=("5m", "8m"), usd=1.0)})
    found = settings_of("codex", config)
    assert (found.command, found.keys, found.usd) == (("codex-acp",), PRESETS["codex"].settings.keys, 1.0)
    assert [limit_s(found, nth) for nth in (0, 1, 7)] == [300.0, 480.0, 480.0]
    assert limit_s(settings_of("gemini", config), 0) == 1200.0
    assert settings_of("codex", Config(agents={"codex": AgentConfig(exec=("codex", "exec"))})).command == ()


@pytest.mark.parametrize(("text", "seconds"), [("90s", 90), ("20m", 1200), ("1.5h", 5400), ("1s", 1)])
def test_durations(text: str, seconds: float) -> None:
    assert duration(text) == seconds


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ('[agents.x]\nlimit = "0s"', "'0s' is no duration"),
        ('[agents.x]\nlimit = ["5m", "soon"]', "'soon' is no duration"),
        ('[agents.x]\ncommand = ["a"]\nexec = ["b"]', "has 'command' and 'exec'"),
        ("[agents.claude]", "'claude' cannot be a coding agent's name"),
        ('[agents."a,b"]', "cannot be a coding agent's name"),
        ("[agents.x]\nlimits = 3", "unknown key 'limits'"),
        ('[agents.x]\nhosts = ["api.example.com:0x50"]', "'hosts' in .agents.x."),
    ],
)
def test_a_bad_table_is_refused(tmp_path: Path, table: str, message: str) -> None:
    (tmp_path / "config.toml").write_text(table)
    with pytest.raises(ConfigError, match=message):
        load_config(Workspace(tmp_path))


def test_what_is_not_there_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    for name, preset in PRESETS.items():
        assert why_not(name, Config()).endswith(preset.get)
    assert "needs command" in why_not("mine", Config())
    assert "not installed" in why_not("mine", Config(agents={"mine": AgentConfig(exec=("nope",))}))


def test_an_operator_has_five_minutes_where_the_agent_may_ask() -> None:
    assert AgentConfig().ask_s == 0.0
    assert AgentConfig(ask=True).ask_s == 300.0
    assert AgentConfig(ask=True, ask_limit="90s").ask_s == 90.0


def test_codex_begins_without_its_own_sandbox_unless_it_is_told_otherwise() -> None:
    assert settings_of("codex", Config()).mode == "agent-full-access"
    assert settings_of("codex", Config(agents={"codex": AgentConfig(mode="read-only")})).mode == "read-only"


@pytest.mark.parametrize(
    ("hosts", "named"), [((), False), (("*",), False), (("api.openai.com",), False), (("api.example.org",), True)]
)
def test_whether_an_operator_keeps_an_agent_to_hosts(hosts: tuple[str, ...], named: bool) -> None:
    config = Config(agents={"codex": AgentConfig(hosts=hosts)})
    assert names_hosts("codex", settings_of("codex", config)) == named
