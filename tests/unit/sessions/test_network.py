"""What an agent may reach."""

from kpd.sessions.network import Reach, reach_of
from kpd.sessions.terms import PRESETS
from kpd.workspace.endpoints import Endpoint

SERVICE = Endpoint("127.0.0.1", 8000)


def test_hosts_of_the_table_and_of_urls_in_the_variables() -> None:
    env = {
        "ANTHROPIC_BASE_URL": "http://127.0.0.1:8000",
        "CONFIG": '{"base_url": "https://models.example.com/v1", "name": "x"}',
        "KEY": "sk-http",
    }
    found = reach_of(("api.anthropic.com",), env)
    assert found == Reach(frozenset({Endpoint("api.anthropic.com", 443), SERVICE, Endpoint("models.example.com", 443)}))
    assert found.here == {8000: SERVICE}
    assert found.ports == (3128, 8000)


def test_a_star_opens_the_network_and_nothing_named_is_nothing() -> None:
    assert reach_of(("*", "a"), {}) is None
    assert reach_of((), {}) == Reach()
    assert Reach().ports == (3128,)


def test_each_preset_names_the_host_of_its_service() -> None:
    assert all(reach_of(preset.settings.hosts, preset.settings.env) for preset in PRESETS.values())
    assert all(preset.settings.hosts for preset in PRESETS.values())
