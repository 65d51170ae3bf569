"""A run that was queued with --deploy: the daemon goes on from its end to the program, over SSH, whoever is killed."""

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from kpd.cli.main import main
from kpd.cli.waiting import wait_for
from kpd.client import DaemonError
from tests.support.daemon.real_daemon import RealDaemon, leftovers
from tests.support.hosts.remote_box import Box, box
from tests.support.patience import PATIENCE_S
from tests.support.production.recorded import with_program
from tests.support.production.sleepers import FAST, content


@pytest.fixture
def far(tmp_path: Path) -> Iterator[Box]:
    with box(tmp_path, SetEnv=f"HOME={tmp_path / 'far-home'}") as found:
        yield found


def test_the_winner_waits_for_a_person_and_is_deployed_although_both_processes_are_killed_and_the_link_is_cut(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], far: Box
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("KPD_OPERATOR", "ada")
    ws, root = with_program(tmp_path, deploy="p", host="box", table=far.table())
    before = content(root)
    daemon = RealDaemon(ws)

    def card() -> dict[str, Any]:
        cards = daemon.query("status")["deployments"]
        return {**cards[-1]["deployment"], "cut": cards[-1]["cut"]} if cards else {"number": 0, "asks": ""}

    def kpd(*args: str) -> tuple[int, str]:
        code = main(["-w", str(ws.root), "project", *args])
        return code, "".join(capsys.readouterr())

    def deploying() -> psutil.Process:
        return next(one for one in leftovers(ws) if "--gate" in one.cmdline())

    daemon.start()
    try:
        daemon.until(lambda: card()["asks"], "the change to wait for a person")
        assert content(root) == before
        assert "p #1, r1.13 waits for you: kpd project approve p" in daemon.query("status")["notices"][-1]["text"]
        assert main(["-w", str(ws.root), "held"]) == 0
        assert "p #1, r1.13 waits for you: kpd project approve p" in capsys.readouterr().out
        assert main(["-w", str(ws.root), "held", "--json"]) == 0
        assert [one["deployment"]["number"] for one in json.loads(capsys.readouterr().out)] == [1]
        assert "  WAITS FOR YOU  r1 13" in kpd("history", "p")[1]
        assert not set(deploying().environ()) & set(daemon.env), "the model's key, as no model mends files"
        os.kill(deploying().pid, signal.SIGKILL)
        daemon.until(lambda: card()["number"] == 2 and card()["asks"], "the deployment to be begun again")
        daemon.kill()
        daemon.start()
        assert card()["asks"], "its process goes on without the daemon"
        again = [sys.executable, "-m", "kpd.cli.main", "-w", str(ws.root), "project", "deploy", "p", "r1", "--gate"]
        waits = subprocess.Popen(again, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        code, told = kpd("approve", "p")
        assert (code, "nobody here can say yes" in told) == (64, True)
        code, told = kpd("approve", "p", "--diff", "0" * 64)
        assert (code, "--diff names another change" in told, card()["asks"] != "") == (1, True, True)
        change = daemon.query("change", deployment="p#2")
        assert "+int work(int x) { return 2 * x; }" in change["text"]
        with pytest.raises(DaemonError, match="the change of p#2 is not the one that you were shown"):
            daemon.command("answer_deployment", deployment="p#2", yes=True, diff="0" * 64)
        daemon.command("answer_deployment", deployment="p#2", yes=True, diff=change["diff"])
        daemon.until(lambda: card()["phase"] == "time", "the program to be timed")
        far.go_down()
        far.come_back()
        daemon.until(lambda: card()["state"] == "deployed", "the deployment")
        assert waits.communicate(timeout=PATIENCE_S)[0].startswith("DEPLOYED p #2"), "the one that it has waited for"
        assert card()["number"] == 2
        assert card()["answered_by"] == "cli", "whom the connection named"
        assert content(root)[0] == FAST
        assert kpd("approve", "p")[0] == 64, "nothing waits any more"
        assert asyncio.run(wait_for(ws, "r1")) == 0
        told = capsys.readouterr().err.splitlines()
        assert told[-1].startswith("DEPLOYED p #2, r1.13: the program +")
        states = [event["body"]["card"]["deployment"]["state"] for event in daemon.events("deployment_seen")]
        assert states.count("deployed") == 1
        assert len(daemon.events("deploy_begun")) == 2
    finally:
        daemon.stop()
