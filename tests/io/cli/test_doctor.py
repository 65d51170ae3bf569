"""kpd doctor: the workspace and this machine as they are, hosts that are not there, a daemon that is asked."""

import asyncio
import json
import os
import stat
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st

from kpd.cli import checks
from kpd.cli.main import main
from kpd.cli.terminal_text import clean, width
from kpd.daemon.journal import EventJournal
from kpd.daemon.server import Server
from kpd.daemon.sources import Sources
from kpd.daemon.store import EventStore
from kpd.daemon.views import answer
from kpd.model import codec, events as e
from kpd.model.hosts import Check, HostCard
from kpd.wire import DaemonError
from kpd.workspace.paths import Workspace
from kpd.workspace.task import find_tasks
from tests.support.cli.workspaces import ws
from tests.support.daemon.forked import run_kpd
from tests.support.hosts.gpu_listings import H100
from tests.support.hosts.installs import Install, install as install, prints

__all__ = ["ws"]

GPU = H100.split(", ")[1]


def doctor(ws: Workspace, *args: str) -> int:
    return main(["-w", str(ws.root), "doctor", *args])


def states(found: list[dict[str, Any]]) -> dict[str, str]:
    return {check["name"]: check["state"] for check in found}


def test_this_machine_and_a_fresh_workspace(ws: Workspace, capsys: pytest.CaptureFixture[str]) -> None:
    code = doctor(ws, "--json")
    found = json.loads(capsys.readouterr().out)
    assert found["workspace"] == str(ws.root)
    own = states(found["checks"])
    assert own.pop("agents") in ("ok", "off"), "whether agents can have a network of their own here"
    assert own == {
        "config.toml": "ok", "tasks": "ok", "disk": "ok", "state": "ok", "daemon": "off", "model key": "off",
    }  # fmt: skip
    (card,) = found["hosts"]
    assert (card["name"], card["link"], card["devices"][0]["id"]) == ("local", "up", "cpu")
    seen = states(card["checks"])
    assert {"link", "python", "disk", "clock", "compiler", "gpu", "nvcc", "ncu", "cpu counters"} <= set(seen)
    assert (seen["link"], seen["python"], seen["clock"]) == ("ok", "ok", "ok")
    assert code == (1 if "bad" in seen.values() else 0)
    assert stat.S_IMODE(ws.private.stat().st_mode) == 0o700

    assert doctor(ws, "local") == code
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == f"workspace  {ws.root}"
    assert "  ✓ config.toml   1 host: local" in lines
    assert "  – daemon        none runs; kpd start starts one" in lines
    assert any(line.startswith("  ✓ link          this machine, ") for line in lines)
    bad = [check for check in card["checks"] if check["state"] == "bad"]
    assert all(f"{' ' * 18}→ {check['remedy']}" in lines for check in bad)
    assert lines[-1] == (f"{len(bad)} to correct" if bad else "nothing to correct")


def test_what_is_wrong_with_the_workspace(ws: Workspace, capsys: pytest.CaptureFixture[str]) -> None:
    (ws.tasks / "transpose_cpu" / "task.toml").write_text("[task\n")
    ws.config.write_text("[hosts.local]\nleasse = 'x'\n")
    ws.make_private()
    ws.store.write_bytes(b"this is no database, not even a little one" * 100)
    assert doctor(ws, "--json", "nobody") == 1
    found = json.loads(capsys.readouterr().out)
    assert (found["hosts"], states(found["checks"])["disk"]) == ([], "ok")
    bad = {check["name"]: check for check in found["checks"] if check["state"] == "bad"}
    assert "config.toml:2: unknown key 'leasse'" in bad["config.toml"]["found"]
    assert "did you mean 'leases'?; until then no host is looked at" in bad["config.toml"]["remedy"]
    assert bad["tasks"]["found"] == f"1 of {len(find_tasks(ws))} refused: transpose_cpu"
    assert bad["tasks"]["remedy"] == "kpd task check transpose_cpu says why"
    assert "is damaged" in bad["state"]["found"]


def test_hosts_that_cannot_be_reached(ws: Workspace, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    ws.config.write_text(
        ws.config.read_text()
        + '[hosts.gone]\ntransport = "ssh"\naddress = "127.0.0.1:1"\n'
        + f'[hosts.bare]\npython = "{tmp_path}/no-python"\ntransport = "controlmaster"\naddress = "127.0.0.1:1"\n'
    )
    assert doctor(ws) == 3
    out = capsys.readouterr().out
    assert "  ✓ config.toml   3 hosts: local, gone, bare" in out
    assert "\nlocal  " in out and "  ✓ python" in out
    for name in ("gone", "bare"):
        block = out[out.index(f"\n{name}\n") :].splitlines()
        assert block[2].startswith("  ✗ link          ")
        assert block[3].startswith(f"{' ' * 18}→ ")
    assert doctor(ws, "gone", "--json") == 3
    (card,) = json.loads(capsys.readouterr().out)["hosts"]
    assert (card["trouble"], card["link"], card["address"]) == ("unreachable", "down", "127.0.0.1:1")
    assert doctor(ws, "gnoe") == 64
    assert "no host 'gnoe'; did you mean gone?" in capsys.readouterr().err


def test_the_model_key_is_asked_for_where_the_agent_of_the_config_needs_it(
    ws: Workspace, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    ws.config.write_text(f'{ws.config.read_text()}[run]\nagent = "sweep,claude"\n[claude]\napi_key_env = "MY_KEY"\n')
    assert doctor(ws) == 1
    out = capsys.readouterr().out
    assert "  ✗ model key     there is no API key: MY_KEY is not set; needed by the agent of config.toml" in out
    assert f"{' ' * 18}→ export MY_KEY=…, then kpd start" in out
    for key, state in (("sk-very-secret", "ok"), ("very secret", "bad")):
        monkeypatch.setenv("MY_KEY", key)
        doctor(ws, "--json")
        out = capsys.readouterr().out
        assert states(json.loads(out)["checks"])["model key"] == state
        assert "secret" not in out


def test_a_gpu_with_somebody_elses_process_is_told_with_what_helps(
    ws: Workspace, capsys: pytest.CaptureFixture[str], install: Install
) -> None:
    install(
        "nvidia-smi",
        f"""case "$1" in
  --query-gpu=index,*) {prints(H100.splitlines()[0])}
  ;;
  --query-gpu=uuid,*) echo '{GPU}, 1980, 3201, 118.30, 700.00, 34, 527, 17, 0x0' ;;
  --query-compute-apps=*) echo '{GPU}, {os.getpid()}, 518, /usr/bin/python3' ;;
esac""",
    )
    assert doctor(ws, "--json") == 1
    (card,) = json.loads(capsys.readouterr().out)["hosts"]
    (found,) = [check for check in card["checks"] if check["name"] == "gpu use"]
    assert found["state"] == "bad"
    process = f"python3 (pid {os.getpid()}, 518 MiB)"
    assert found["found"] == f"{process}: not kpd's, measurements wait for its end; 527 MiB in use"
    assert 'tolerate = ["python3"] in [hosts.local]' in found["remedy"]
    assert states(card["checks"])["cpu counters"] in ("ok", "off")

    ws.config.write_text(f'{ws.config.read_text()}tolerate = ["python3"]\n')
    doctor(ws)
    assert f"  ✓ gpu use       {process}: tolerated; 527 MiB in use\n" in capsys.readouterr().out
    ws.config.write_text(f"{ws.config.read_text()}gpus = [7]\n")
    doctor(ws)
    assert "gpu use" not in capsys.readouterr().out


@pytest.mark.skipif(sys.platform != "linux", reason="nothing can be made in /proc")
def test_a_root_that_cannot_be_made_is_not_put_down_to_a_run(ws: Workspace, capsys: pytest.CaptureFixture[str]) -> None:
    ws.config.write_text('[hosts.local]\nroot = "/proc/nowhere/kpd"\n')
    assert doctor(ws, "local") == 3
    assert "→ check that its folder is there and is the right one" in capsys.readouterr().out


# ── a daemon is asked ─────────────────────────────────────────────────────────────────────────────────────────────


async def test_a_daemon_looks_for_us_and_is_nudged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[str, dict[str, Any]]] = []
    up = HostCard("box", "ssh", address="me@box", checks=(Check("link", "ok", "fine"), Check("gpu", "off", "none")))
    down = HostCard("far", "ssh", link="down", checks=(Check("link", "bad", "gone", "look"),), offered="SHA256:abc")

    async def command(verb: str, args: dict[str, Any], by: str) -> Any:
        asked.append((verb, args))
        if verb == "trust":
            raise DaemonError("infra", "no such key", "look again")
        cards = [card for card in (up, down) if args.get("host") in (None, card.name)]
        return {"hosts": json.loads(codec.encode(cards))}

    async def query(what: str, args: dict[str, Any]) -> Any:
        return answer(what, args, Sources(journal.state, ws))

    async def kpd(*args: str) -> tuple[int | None, str, str]:
        env = {**os.environ, "ANTHROPIC_API_KEY": ""}
        done = await asyncio.to_thread(run_kpd, "-w", str(root), *args, env=env)
        return done.returncode, done.stdout, done.stderr

    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-of-the-daemon")  # in this process, which is the daemon
    root = tmp_path / "ws"
    (root / "tasks").mkdir(parents=True)
    tables = (f'[hosts.{name}]\ntransport = "ssh"\naddress = "me@{name}"\n' for name in ("box", "far"))
    (root / "config.toml").write_text("".join(tables))
    with tempfile.TemporaryDirectory(dir="/tmp", prefix="kpd") as runtime:
        monkeypatch.setenv("XDG_RUNTIME_DIR", runtime)
        ws = Workspace.find(root)
        ws.make_private()
        journal = EventJournal(EventStore(ws.store))
        journal.emit(e.DaemonStarted("0.1.0", os.getpid(), str(root)))
        async with Server(ws.make_socket_folder(), journal, query, command):
            code, out, err = await kpd("doctor")
            assert (code, err) == (3, "")
            assert f"  ✓ daemon        kpd 0.1.0, process {os.getpid()}" in out
            assert "box\n  ✓ link          fine\n  – gpu           none\n" in out
            assert "far\n  ✗ link          gone\n" + " " * 18 + "→ look\n" in out
            assert out.endswith("\n1 to correct\n")
            assert "  ✓ model key     ANTHROPIC_API_KEY is set in the daemon's environment\n" in out
            assert (await kpd("doctor", "box"))[0] == 0
            assert (await kpd("hosts", "retry", "far"))[0] == 3
            code, out, err = await kpd("hosts", "trust", "far", "--yes")
            assert (code, out, err) == (3, "", "kpd: no such key; look again\n")
        journal.close()
    assert asked == [
        ("check_hosts", {"host": None}),
        ("check_hosts", {"host": "box"}),
        ("nudge", {"host": "far"}),
        ("check_hosts", {"host": "far"}),
        ("trust", {"host": "far", "fingerprint": "SHA256:abc"}),
    ]


# ── how it reads ──────────────────────────────────────────────────────────────────────────────────────────────────

CHECK = st.builds(Check, st.text(max_size=12), st.sampled_from(["ok", "bad", "off"]), st.text(), st.text())


@given(st.lists(CHECK), st.text(max_size=20), st.text())
def test_nothing_a_host_says_leaves_its_line_or_the_columns(found: list[Check], name: str, device: str) -> None:
    card = clean(json.loads(codec.encode(HostCard(name, "ssh", device=device, checks=tuple(found)))))
    for limit in (80, None):
        lines = list(checks.host(card, limit, colour=False))
        assert all(line.isprintable() for line in lines)
        signs = [line for line in lines if line[:3] in ("  ✓", "  ✗", "  –")]
        assert len(signs) == len(found)


def test_long_lines_are_folded_below_their_column_and_commands_stay_whole() -> None:
    remedy = "echo 'options nvidia NVreg_RestrictProfilingToAdminUsers=0' | sudo tee /etc/modprobe.d/kpd.conf"
    found = [asdict(Check("gpu counters", "bad", "the driver keeps them for administrators " * 2, remedy))]
    lines = list(checks.lines(found, 80, colour=False))
    assert lines == [
        "  ✗ gpu counters  the driver keeps them for administrators the driver keeps them",
        "                  for administrators",
        "                  → echo 'options nvidia NVreg_RestrictProfilingToAdminUsers=0'",
        "                    | sudo tee /etc/modprobe.d/kpd.conf",
    ]
    assert max(map(width, lines)) <= 80
    assert list(checks.lines(found, None, colour=False))[1] == f"{' ' * 18}→ {remedy}"
    assert "\x1b[31m✗\x1b[0m" in next(checks.lines(found, 80, colour=True))


@pytest.mark.parametrize(
    ("own", "link", "remote", "code"),
    [
        ("ok", "up", "ok", 0),
        ("ok", "up", "off", 0),
        ("bad", "up", "ok", 1),
        ("ok", "up", "bad", 1),
        ("bad", "down", "bad", 3),
    ],
)
def test_the_exit_code(own: str, link: str, remote: str, code: int) -> None:
    assert checks.code([{"state": own}], [{"link": link, "checks": [{"state": remote}]}]) == code
