"""Who needs the model service's key, and what is said where there is none."""

import pytest

from kpd.cli.doctor import model_key

NONE = {"variable": "KEY", "trouble": "there is no API key: KEY is not set"}


@pytest.mark.parametrize(
    ("agent", "runs", "needs"),
    [
        ("sweep", {"r1": "sweep", "r2": "mailbox"}, ""),
        ("claude-like", {"r1": "script:claude"}, ""),
        ("sweep,claude", {"r1": "sweep"}, "the agent of config.toml (sweep,claude)"),
        ("sweep", {"r1": "sweep", "r2": "claude", "r3": "claude,sweep"}, "r2, r3"),
    ],
)
def test_it_is_to_be_corrected_only_where_somebody_needs_it(agent: str, runs: dict[str, str], needs: str) -> None:
    found = model_key(NONE, agent, runs, daemon=True)
    assert found.state == ("bad" if needs else "off")
    assert found.found.endswith(f"needed by {needs}" if needs else "the agent claude and kpd task new --from need it")
    assert found.remedy == ("export KEY=…, kpd shutdown, then kpd start" if needs else "")
    assert model_key(NONE | {"trouble": ""}, agent, runs, daemon=True).state == "ok"


def test_without_a_daemon_it_is_the_next_one_that_gets_it() -> None:
    assert model_key(NONE, "claude", {}, daemon=False).remedy == "export KEY=…, then kpd start"
    assert "kpd start hands it on" in model_key(NONE | {"trouble": ""}, "claude", {}, daemon=False).found
