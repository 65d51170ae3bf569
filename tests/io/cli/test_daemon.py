"""The CLI against a real server and a real log: questions, followed logs, and what `run --wait` comes to."""

import asyncio
import contextlib
import json
import os
import signal
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest

from kpd.daemon.journal import EventJournal
from kpd.daemon.server import Server
from kpd.daemon.store import EventStore
from kpd.model import events as e
from kpd.model.codec import encode
from kpd.model.hosts import Device, HostCard, HostStatus, Telemetry
from kpd.model.kinds import Told
from kpd.model.notices import Said
from kpd.model.status import Running
from kpd.model.verdicts import Gain, Verdict
from kpd.wire import DaemonError
from kpd.workspace.paths import Workspace
from tests.places import ROOT
from tests.support.cli.served import Served, ended, heard, served
from tests.support.patience import PATIENCE_S

__all__ = ["served"]


async def test_questions_as_text_and_as_json(served: Served) -> None:
    gpu = Device("GPU-1", "gpu", "H100")
    served.journal.emit(e.HostProbed(HostCard("local", "local", device="Some CPU", compiler="gcc 12", devices=(gpu,))))
    served.looks = [
        json.loads(encode(HostStatus("local", 1.0, devices={"GPU-1": Telemetry(1.0, "me\x1b[2J", sm_mhz=1980)})))
    ]
    served.queue("r1")
    served.journal.emit(e.RunStarted("r1", "cpu"))
    served.iterate("r1", 0, "baseline", "baseline")
    served.iterate("r1", 1, "sweep", "accepted", "wider\x1b[2J tiles")
    code, out, err = await served.kpd("status")
    assert (code, err) == (0, "")
    assert f"● kpd 0.1.0, process {os.getpid()}" in out
    assert "● local: Some CPU, gcc 12" in out
    assert "1.053×" in out
    code, out, _ = await served.kpd("log")
    assert out.splitlines()[2].startswith("r1.1*     ▲ accepted")
    assert "wider␛[2J tiles" in out
    code, out, _ = await served.kpd("log", "--json", "r1")
    assert [it["number"] for it in json.loads(out)["iterations"]] == [0, 1]
    missed = Verdict("faster", Gain(0.6, 0.2, 1.0), 15, False, "too_little", 1.0)
    served.iterate("r1", 2, "sweep", "rejected", "a little wider", missed)
    code, out, _ = await served.kpd("log", "--near-misses", "--json")
    assert [it["number"] for it in json.loads(out)["iterations"]] == [2]
    code, out, _ = await served.kpd("cases")
    assert [line.split() for line in out.splitlines()] == [
        ["CASE", "WEIGHT", "INCUMBENT", "BEST", "OF"],
        ["wide", "1", "2.00×", "[1.92,", "2.08]", "2.00×", "[1.92,", "2.08]", "iteration", "1"],
    ]
    (case,) = json.loads((await served.kpd("cases", "r1", "--json"))[1])["cases"]
    assert (case["best"], sorted(case["speedups"])) == (1, ["1", "2"])
    code, out, _ = await served.kpd("show", "1")
    assert out.splitlines()[0] == "r1.1  ▲ accepted"
    assert (await served.kpd("show"))[1].splitlines()[0] == "r1.2  △ near miss"
    code, out, _ = await served.kpd("show", "r1.1", "--json")
    assert json.loads(out)["iteration"]["memo"] == "wider\x1b[2J tiles"
    code, out, _ = await served.kpd("events", "--limit", "3", "--json")
    assert [json.loads(line)["kind"] for line in out.splitlines()] == ["timed", "judged", "iteration_ended"]
    code, out, _ = await served.kpd("events", "--after", "1", "--limit", "2")
    assert [line.split()[2] for line in out.splitlines()] == ["host_probed", "run_queued"]
    code, out, _ = await served.kpd("hosts")
    assert out.startswith("● local (local, up)")
    assert out.endswith("  now        1,980 MHz, lease: me␛[2J\n")
    code, out, err = await served.kpd("log", "r9")
    assert (code, out, err) == (64, "", "kpd: no run 'r9'; known are r1\n")


async def test_diff_between_iterations(served: Served) -> None:
    served.queue("r1")
    for number, text in ((0, "old\n"), (1, "new \x1b[31m\n")):
        served.iterate("r1", number, "sweep" if number else "baseline", "accepted" if number else "baseline")
        folder = served.ws.iteration_folder("scale", "r1", number) / "candidate"
        folder.mkdir(parents=True)
        (folder / "kernel.c").write_text(text)
    code, out, err = await served.kpd("diff", "r1.1")
    assert (code, err) == (0, "r1.0 → r1.1\n")
    assert "-old" in out.splitlines()
    assert "+new ␛[31m" in out.splitlines()
    code, out, err = await served.kpd("diff", "r1.0")
    assert (code, out) == (64, "")


async def test_a_verdict_again_from_its_samples(served: Served) -> None:
    served.queue("r1")
    served.journal.emit(e.IterationStarted("r1", 0, "baseline", 0))
    code, out, err = await served.kpd("show", "--rederive", "r1.0")
    assert (code, out) == (64, "")
    assert "r1.0 was not timed" in err
    served.journal.emit(e.Timed("r1", 0, 0.1, 0.01, 20.0, 5, ()))
    code, out, err = await served.kpd("show", "--rederive", "r1.0")
    assert (code, out) == (3, "")
    assert "timing.json of r1.0 is missing, though it was timed" in err


async def test_commands_carry_their_arguments_and_nothing_else(served: Served) -> None:
    assert await served.kpd("run", "tasks/scale", "--iterations", "3", "--min-gain", "1.5") == (
        0, "r1\n", "queued; kpd attach or kpd log -f r1 watches it\n",
    )  # fmt: skip
    code, out, err = await served.kpd("steer", "use", "wider loads", "--run", "r1")
    assert (code, out, err) == (0, "4\n", "note 4 waits for the next iteration\n")
    await served.kpd("steer", "--withdraw", "4")
    await served.kpd("pause")
    await served.kpd("stop", "r1")
    await served.kpd("accept", "r1.1", "--reason", "I know better")
    await served.kpd("rollback", "1", "--force")
    await served.kpd("memo", "r1.1", "mine", "own")
    assert served.commands == [
        ("run", {"task": "scale", "iterations": 3, "min_gain_pct": 1.5}),
        ("steer", {"text": "use wider loads", "run": "r1"}),
        ("steer", {"text": "", "note": 4}),
        ("pause", {}),
        ("stop", {"run": "r1"}),
        ("accept", {"iteration": "r1.1", "reason": "I know better"}),
        ("rollback", {"iteration": "1", "force": True}),
        ("memo", {"iteration": "r1.1", "text": "mine own"}),
    ]


@pytest.mark.parametrize(
    ("error", "code"), [("refused", 1), ("usage", 64), ("unknown", 64), ("infra", 3), ("internal", 3)]
)
async def test_the_daemons_no_is_one_line_with_its_own_exit_code(served: Served, error: Any, code: int) -> None:
    served.refusal = DaemonError(error, "not\x1b[2J now", "wait a bit")
    assert await served.kpd("skip") == (code, "", "kpd: not␛[2J now; wait a bit\n")


@pytest.mark.parametrize(
    ("outcome", "code"), [("improved", 0), ("failed", 1), ("stopped", 1), ("no_gain", 2), ("infra", 3)]
)
async def test_waiting_for_a_run(served: Served, outcome: Any, code: int) -> None:
    waiting = await served.start("run", "scale", "--wait")
    await heard(waiting, "stdout", "r1")
    served.journal.emit(e.RunStarted("r1", "cpu"))
    served.iterate("r1", 0, "baseline", "baseline")
    served.iterate("r1", 1, "sweep", "accepted")
    served.journal.emit(e.RunEnded("r1", outcome, Told("budget used")))
    found, _, err = await ended(waiting)
    assert found == code
    assert "budget used" in err.splitlines()[-1]


async def test_waiting_for_a_run_that_is_rolled_back(served: Served) -> None:
    waiting = await served.start("run", "scale", "--wait")
    await heard(waiting, "stdout", "r1")
    served.iterate("r1", 0, "baseline", "baseline")
    served.iterate("r1", 1, "sweep", "accepted")
    served.journal.emit(e.RolledBack("r1", 0, {"kernel.c": "ab"}))
    served.journal.emit(e.RunEnded("r1", "no_gain", Told("patience used")))
    assert (await ended(waiting))[0] == 1


async def test_a_held_queue_is_told_to_whoever_queues(served: Served) -> None:
    served.journal.emit(e.QueueHeld(Told("the daemon was killed")))
    code, out, err = await served.kpd("run", "scale")
    assert (code, out) == (0, "r1\n")
    assert "the queue is held: the daemon was killed; kpd resume releases it" in err


async def test_waiting_ends_when_the_host_fails(served: Served) -> None:
    waiting = await served.start("run", "scale", "--wait")
    await heard(waiting, "stdout", "r1")
    served.journal.emit(e.RunPaused("r1", Told("infrastructure: no compiler"), by="kpd", infra=True))
    code, _, err = await ended(waiting)
    assert code == 3
    assert "r1 is paused: infrastructure: no compiler; kpd resume r1 goes on" in err


async def test_an_interrupted_wait_leaves_the_run_going_and_says_so(served: Served) -> None:
    waiting = await served.start("run", "scale", "--wait")
    await heard(waiting, "stdout", "r1")
    served.journal.emit(e.RunStarted("r1", "cpu"))
    await heard(waiting, "stderr", "r1 started")
    waiting.send_signal(signal.SIGINT)
    code, _, err = await ended(waiting)
    assert code == 130
    assert "r1 goes on" in err
    assert isinstance(served.journal.state.runs["r1"].status, Running)


async def test_a_followed_log_tells_each_iteration_until_the_run_ends(served: Served) -> None:
    served.queue("r1")
    served.iterate("r1", 0, "baseline", "baseline")
    following = await served.start("log", "-f")
    await heard(following, "stdout", "r1.0*")
    served.iterate("r1", 1, "sweep", "accepted", "wider")
    await heard(following, "stdout", "r1.1*")
    served.queue("r2")
    served.journal.emit(e.RunEnded("r1", "improved", Told("budget used")))
    code, out, err = await ended(following)
    assert (code, out) == (0, "")
    assert "r1 ▲ improved: budget used" in err


async def test_followed_events_catch_up_whole_and_in_order(served: Served) -> None:
    following = await served.start("events", "-f", "--after", "0", "--limit", "1", "--json")
    await heard(following, "stdout", "daemon_started")
    for number in range(2, 3001):
        served.journal.emit(e.Noticed("info", Said(f"notice {number}")))
    found: list[int] = []
    async with asyncio.timeout(PATIENCE_S):
        assert following.stdout is not None
        while len(found) < 2999:
            found.append(json.loads(await following.stdout.readline())["seq"])
    assert found == list(range(2, 3001))
    following.send_signal(signal.SIGINT)
    code, _, err = await ended(following)
    assert (code, err) == (130, "kpd: interrupted\n")


async def test_a_follower_says_when_the_daemon_has_gone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = tmp_path / "ws"
    (root / "tasks").mkdir(parents=True)
    (root / "config.toml").touch()
    with contextlib.ExitStack() as stack:
        monkeypatch.setenv(
            "XDG_RUNTIME_DIR", stack.enter_context(tempfile.TemporaryDirectory(dir="/tmp", prefix="kpd"))
        )
        ws = Workspace.find(root)
        ws.make_private()
        journal = EventJournal(EventStore(ws.store))
        journal.emit(e.DaemonStarted("0.1.0", os.getpid(), str(ws.root)))
        made = Served(ws, journal)
        async with Server(ws.make_socket_folder(), journal, made.query, made.command):
            following = await made.start("events", "-f")
            await heard(following, "stdout", "daemon_started")
            journal.emit(e.Noticed("info", Said("still here")))
            await heard(following, "stdout", "still here")
        code, _, err = await ended(following)
        journal.close()
    assert code == 3
    assert err.startswith("kpd: the daemon has stopped")


STATUS_MODULES = "import sys; from kpd.cli.main import main; main(['-w', sys.argv[1], 'status']); print(*sys.modules)"


async def test_status_imports_only_what_it_needs(served: Served) -> None:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", STATUS_MODULES, str(served.ws.root), cwd=ROOT, stdout=asyncio.subprocess.PIPE
    )
    out, _ = await process.communicate()
    loaded = set(out.decode().splitlines()[-1].split())
    assert "kpd.cli.status" in loaded
    heavy = {"asyncio", "msgspec", "tomli", "textual", "optuna", "sqlite3", "logging", "subprocess", "tui"}
    assert not loaded & heavy
    rooms = {name for name in loaded if name.startswith(("kpd.model", "kpd.daemon", "kpd.engine"))}
    assert rooms == {"kpd.model", "kpd.model.scores", "kpd.model.verdicts"}, (
        "how scores are read, and not what they are of"
    )
