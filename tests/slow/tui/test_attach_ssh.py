"""The way to a daemon on another machine: a real daemon, a real SSH server on loopback, a network that can be cut."""

import signal

import psutil
import pytest

from kpd.cli.remote_daemon import remote_daemon
from tests.support.daemon.real_daemon import RealDaemon, daemon, workspace
from tests.support.hosts.local import until
from tests.support.hosts.remote_box import Box
from tests.support.hosts.sshd import Sshd
from tests.support.tui.attach_ssh import at_terminal, gate, there, watched

__all__ = ["daemon", "gate", "there", "workspace"]


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
