"""config.toml, and the example that documents it."""

import dataclasses
import typing
from pathlib import Path

import pytest

from kpd.workspace.config import Config, load_config
from kpd.workspace.host_tables import HostConfig
from kpd.workspace.paths import Workspace
from kpd.workspace.shipped import shipped
from kpd.workspace.strict import ConfigError, Document


def keys(kind: type, at: str = "") -> set[str]:
    """Every key that the schema knows, a host's under [hosts.local]."""
    found = set()
    for name, hint in typing.get_type_hints(kind).items():
        if name in ("options", "table", "builds"):  # the keys of a transport, and what its table says of it
            continue
        if isinstance(hint, type) and dataclasses.is_dataclass(hint):
            found |= keys(hint, f"{at}{name}.")
        elif hint == dict[str, HostConfig]:
            found |= keys(HostConfig, f"{at}{name}.local.")
        else:
            found.add(f"{at}{name}")
    return found


def test_the_example_has_every_key_with_its_default_and_nothing_else() -> None:
    document = Document.read(shipped("config.toml.example"))

    def written(table: dict[str, typing.Any], at: str = "") -> set[str]:
        found = set()
        for name, value in table.items():
            deeper = isinstance(value, dict) and f"{at}{name}" not in (
                "tui.keys",
                "tui.filters",
                "claude.prices",
                "agents",
                "project",
            )
            found |= written(value, f"{at}{name}.") if deeper else {f"{at}{name}"}
        return found

    assert written(document.table) == keys(Config)
    assert document.convert(Config) == Config()


def test_no_config_and_an_empty_one_are_the_defaults(tmp_path: Path) -> None:
    assert load_config(Workspace(tmp_path)) == Config()
    (tmp_path / "config.toml").touch()
    assert load_config(Workspace(tmp_path)) == Config()


def test_a_config_that_leads_nowhere_is_not_taken_for_none(tmp_path: Path) -> None:
    (tmp_path / "config.toml").symlink_to(tmp_path / "moved.toml")
    with pytest.raises(ConfigError, match=r"config\.toml"):
        load_config(Workspace(tmp_path))


def test_the_local_host_is_always_there(tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text("[hosts.bench]\n")
    assert list(load_config(Workspace(tmp_path)).hosts) == ["local", "bench"]


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ('[hosts.a]\ntransport = "ssh"\n', 1, "'address' in [hosts.a] is missing"),
        ('[hosts.a]\ntransport = "ssh"\naddress = "-oProxyCommand=x"\n', 3, "is not an address"),
        ('[hosts.local]\ntransport = "ssh"\naddress = "b"\n', 2, "[hosts.local] is this machine"),
        ("[hosts.any]\n", 1, "'any' cannot be a host's name; it is reserved for whichever host is free"),
        ('[hosts."a b"]\n', 1, "'a b' cannot be a host's name; use letters, digits"),
        (
            '[hosts.local]\nroot = "~nosuchuser/x"\n',
            2,
            "'root' in [hosts.local]: ~nosuchuser/x: this machine has no home",
        ),
        ('[hosts.a]\ntransport = "recorded"\nrecording = "x"\n', 2, "is 'recorded': no such transport; known are"),
        ('[claude]\neffort = "hgih"\n', 2, "did you mean 'high'?"),
        ('[claude]\neffort = "zzz"\n', 2, 'known are "", low, medium'),
        ('[hosts.a]\naddress = "b"\n', 2, "needs a transport"),
        ('[hosts.a]\nroot = "kpd"\n', 2, "is no absolute path"),
        ('[run]\nhost = "h100"\n', 2, "'host' in [run] names 'h100'; known hosts are any, local"),
        ("[tui]\nrefresh_hz = 10\n", 2, "'refresh_hz' in [tui] must be above 0 and at most 2"),
        ("[tui]\nrefresh_hz = 0\n", 2, "must be above 0"),
        ('[notify]\ncommand = "notify-send"\n', 2, "must be a list"),
        ('[hosts.a]\ntransport = "shh"\n', 2, "is 'shh': no such transport; did you mean 'ssh'?"),
        ('[hosts.a]\ntransport = "zzz"\n', 2, "known are controlmaster, local"),
        ("[hosts.a]\noptions = 1\n", 2, "unknown key 'options' in [hosts.a]"),
        ('[hosts.a]\ntable = "b"\n', 2, "unknown key 'table' in [hosts.a]"),
        ('[hosts.a]\ntransport = "ssh"\naddress = "b"\ncontainer = "c"\n', 4, "unknown key 'container' in [hosts.a]"),
        ("[run]\n\nitterations = 3\n", 3, "unknown key 'itterations' in [run]; did you mean 'iterations'?"),
        ("[run]\nmin_gain_pct = 100\n", 2, "below 100"),
        ('[tui.keys]\npause = ""\n', 2, "'pause' in [tui.keys] must be a string, not empty"),
    ],
)
def test_refusals(tmp_path: Path, text: str, line: int, message: str) -> None:
    (tmp_path / "config.toml").write_text(text)
    with pytest.raises(ConfigError) as caught:
        load_config(Workspace(tmp_path))
    assert caught.value.line == line
    assert message in str(caught.value)


def test_the_users_of_another_machine_are_not_looked_for_here(tmp_path: Path) -> None:
    text = '[hosts.a]\ntransport = "ssh"\naddress = "b"\nroot = "~nosuchuser/kpd"\n'
    (tmp_path / "config.toml").write_text(text)
    assert load_config(Workspace(tmp_path)).hosts["a"].root == "~nosuchuser/kpd"
