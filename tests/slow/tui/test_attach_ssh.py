"""The way to a daemon on another machine: a real daemon, a real SSH server on loopback, a network that can be cut."""

import os
import signal
from pathlib import Path

import psutil
import pytest

from kpd.cli.exit_codes import CliError
from kpd.cli.remote_daemon import TIMING, remote_daemon
from kpd.hosts.ssh.transport import Ssh
from kpd.wire import SILENCE_S, DaemonError
from kpd.workspace.config import THIN_REFRESH_HZ
from tests.support.cli.terminal import Place
from tests.support.daemon.real_daemon import RealDaemon, daemon, workspace
from tests.support.hosts.local import until
from tests.support.hosts.remote_box import Box
from tests.support.hosts.ssh import box
from tests.support.hosts.sshd import Sshd, make_key, ssh_config, sshd
from tests.support.tui.attach_ssh import at_terminal, gate, there, watched

__all__ = ["box", "daemon", "gate", "there", "workspace"]

BANNER_S = 10.0


async def refused(where: str | None, address: str = "box", transport: Ssh | None = None) -> str:
    """The one line that the operator reads."""
    with pytest.raises(CliError) as caught:
        async with remote_daemon(address, where, transport=transport):
            pass
    return f"{caught.value.message}; {caught.value.remedy}"


# ── what goes over it ─────────────────────────────────────────────────────────────────────────────────────────────


async def test_a_command_and_its_event_and_who_may_only_read(
    gate: Box, there: RealDaemon, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = there.workspace.root
    async with remote_daemon("box", str(root / "tasks")) as at, watched(at).going() as ui:
        assert (at.root, at.name) == (str(root), "workspace@box")
        assert (at.config.run.profile, at.complaint) == ("checked", "")
        assert at.socket.parent.stat().st_mode & 0o077 == 0
        await ui.feed.command("run", task="scale", agent="sweep")
        queued = there.until_event("run_queued")
        await until(lambda: queued["seq"] in ui.events)
        await ui.feed.command("stop", run="r1")
        there.until_event("run_ended", outcome="stopped")
    assert not at.socket.exists()
    assert there.query("status")["pid"]
    (temporary := tmp_path / ("long" * 20)).mkdir()  # a socket has no room in it
    monkeypatch.setattr("tempfile.tempdir", str(temporary))
    async with remote_daemon("box", str(root)) as at, watched(at, read_only=True).going() as ui:
        with pytest.raises(DaemonError, match="may only read: pause is not done"):
            await ui.feed.command("pause")


async def test_a_config_that_is_wrong_there_is_a_complaint_and_the_only_daemon_is_found_without_a_word(
    gate: Box, there: RealDaemon
) -> None:
    """If others run beside it, all of them are named."""
    root = str(there.workspace.root)
    try:
        async with remote_daemon("box", None) as at:
            assert at.root == root
    except CliError as err:
        assert "daemons run there for" in err.remedy
        assert root in err.remedy
    there.workspace.config.write_text("[tui]\nthema = 3\n")
    async with remote_daemon("box", root) as at:
        assert at.config.tui.theme == ""
        assert at.complaint.startswith(f"{root}/config.toml: ")
        assert "thema" in at.complaint


async def test_through_a_jump_host_of_the_ssh_configuration(tmp_path: Path, there: RealDaemon) -> None:
    with sshd(tmp_path / "servers", "far", MaxSessions=1) as behind, sshd(tmp_path / "servers", "jump") as jump:
        config = ssh_config(tmp_path / "config", behind, jump, far={"ProxyJump": "jump"})
        way = Ssh("far", config_files=[config])
        async with remote_daemon("far", str(there.workspace.root), transport=way) as at, watched(at).going() as ui:
            assert ui.states[0].workspace == at.root
        assert "127.0.0.1" in jump.log()


# ── what is missing ───────────────────────────────────────────────────────────────────────────────────────────────


async def test_no_workspace_and_no_daemon(gate: Box, daemon: RealDaemon, tmp_path: Path) -> None:
    said = await refused(str(tmp_path / "nowhere"))
    assert f"no kpd workspace at {tmp_path}/nowhere on box" in said
    assert "kpd attach --ssh box -w DIR" in said
    root = daemon.workspace.root
    said = await refused(str(root))
    assert f"no daemon runs for {root} on box" in said
    assert f"ssh -t box 'kpd -w {root} start'" in said


async def test_a_key_that_nobody_knows_is_shown_and_taken_when_told(
    gate: Box, there: RealDaemon, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = gate.home / ".ssh" / "known_hosts"
    known.unlink()
    said = await refused(str(there.workspace.root))
    assert "SHA256:" in said
    assert "kpd attach --ssh box --accept-new" in said
    assert not known.exists()
    async with remote_daemon("box", str(there.workspace.root), accept_new=True):
        assert gate.server.host_key_pub in known.read_text()
    gate.server.restart(new_host_key=True)
    with pytest.raises(CliError, match="THE HOST'S KEY HAS CHANGED") as caught:
        async with remote_daemon("box", str(there.workspace.root), accept_new=True):
            pass
    assert "ssh-keygen -R" in caught.value.remedy


async def test_nobody_is_let_in_or_there_at_all(gate: Box, tmp_path: Path) -> None:
    stranger = make_key(tmp_path / "stranger")
    config = tmp_path / "config"
    config.write_text(gate.home.joinpath(".ssh/config").read_text().replace(str(gate.server.key), str(stranger)))
    said = await refused("/", transport=Ssh("box", config_files=[config]))
    assert "is not let in" in said
    assert "ssh -v" in said
    gate.go_down()
    said = await refused("/")
    assert "check the address" in said
    for wrong in ("", "-oProxyCommand=x", "a b", "host:port"):
        assert "is not an address" in await refused("/", address=wrong)


def test_the_ui_over_ssh_and_what_is_wrong_before_it_takes_the_screen(gate: Box, there: RealDaemon) -> None:
    known = gate.home / ".ssh" / "known_hosts"
    kept = known.read_text()
    known.unlink()
    refused = at_terminal(gate, there)
    refused.until("--accept-new")
    assert refused.code() == 3
    assert "kpd: box: nobody has confirmed yet that" in refused.said
    assert "\x1b[" not in refused.said
    known.write_text(kept)
    there.command("run", task="scale", agent="mailbox")
    terminal = at_terminal(gate, there)
    terminal.until("workspace@box")
    terminal.until("r1")
    terminal.press("q")
    terminal.until("detached: the daemon on box goes on")
    assert terminal.code() == 0
    there.command("stop", run="r1")


def test_accept_new_alone_is_an_error(there: RealDaemon) -> None:
    place = Place(there.workspace.root, os.environ.get("XDG_RUNTIME_DIR", ""))
    done = place.kpd("attach", "--accept-new")
    assert (done.returncode, done.stderr) == (64, "kpd: --accept-new is for --ssh\n")


# ── what is lost, and comes back ──────────────────────────────────────────────────────────────────────────────────


def test_the_banner_comes_in_time_whatever_the_refresh_rate() -> None:
    refresh_s = 1 / THIN_REFRESH_HZ
    assert TIMING.heartbeat_s + TIMING.patience_s + refresh_s < BANNER_S
    assert SILENCE_S + refresh_s < BANNER_S


def test_a_frozen_network_is_a_banner_and_no_frozen_screen(gate: Box, there: RealDaemon) -> None:
    terminal = at_terminal(gate, there)
    terminal.until("linked")
    gate.network(lambda network: network.freeze())
    terminal.until("no sign of life")
    terminal.press("?")
    terminal.until("Keys and signs")
    terminal.press("\x1b")
    terminal.said = ""
    gate.network(lambda network: network.thaw())
    terminal.until("linked")
    terminal.press("q")
    terminal.until("detached: the daemon on box goes on")
    assert terminal.code() == 0


async def test_after_a_cut_it_goes_on_behind_the_last_event(gate: Box, there: RealDaemon) -> None:
    async with remote_daemon("box", str(there.workspace.root)) as at, watched(at).going() as ui:
        seen = ui.seq
        gate.go_down()
        await ui.is_down("box")
        for _ in range(3):
            there.command("run", task="scale", agent="mailbox")
        now = there.until_event("run_queued", run="r3")["seq"]
        gate.come_back()
        await ui.is_up()
        await until(lambda: ui.seq >= now)
        assert ui.events == list(range(seen + 1, ui.seq + 1))
        assert len(ui.states) == 1
        for run in ("r3", "r2", "r1"):
            await ui.feed.command("stop", run=run)


async def test_a_daemon_that_is_killed_there_and_started_again(gate: Box, there: RealDaemon) -> None:
    async with remote_daemon("box", str(there.workspace.root)) as at, watched(at).going() as ui:
        there.kill()
        await ui.is_down("no daemon runs for", f"ssh -t box 'kpd -w {at.root} start'")
        there.start()
        await ui.is_up()
        await until(lambda: ui.seq >= there.query("status")["seq"])


async def test_a_network_that_is_frozen(gate: Box, there: RealDaemon) -> None:
    async with remote_daemon("box", str(there.workspace.root)) as at, watched(at).going() as ui:
        gate.network(lambda network: network.freeze())
        await ui.is_down("no sign of life")
        gate.network(lambda network: network.thaw())
        await ui.is_up()
        assert len(ui.states) == 1


@pytest.mark.parametrize("which", ["daemon", "helper", "sshd"])
async def test_a_far_side_that_is_stopped(gate: Box, there: RealDaemon, which: str) -> None:
    async with remote_daemon("box", str(there.workspace.root)) as at, watched(at).going() as ui:
        assert there.process is not None
        frozen = {
            "daemon": lambda: [psutil.Process(there.process.pid)],
            "helper": lambda: helpers(gate.server),
            "sshd": gate.server.sessions,
        }[which]()
        assert frozen
        for process in frozen:
            process.send_signal(signal.SIGSTOP)
        try:
            await ui.is_down("silent" if which == "daemon" else "no sign of life")
        finally:
            for process in frozen:
                process.send_signal(signal.SIGCONT)
        await ui.is_up()
        assert (await ui.feed.query("status"))["pid"] == there.process.pid


def helpers(server: Sshd) -> list[psutil.Process]:
    """What the server's sessions have started."""
    started = [child for session in server.sessions() for child in session.children(recursive=True)]
    return [process for process in started if not process.name().startswith("sshd")]
