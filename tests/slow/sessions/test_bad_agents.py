"""Agents that cannot be used, by a real daemon: each has its outcome with what helps, and the queue goes on."""

import json
import shutil

from kpd.workspace.disk import taken
from kpd.workspace.paths import Workspace
from tests.support.daemon.real_daemon import RealDaemon, daemon, workspace
from tests.support.sessions.killing import children_of
from tests.support.sessions.scripted import agent

__all__ = ["daemon", "workspace"]

FORKS = "for n in $(seq 410); do sleep 600 & done; wait"
FILLS = "mkdir .b; chmod 0 .b; for n in 1 2 3; do fallocate -l 1000MiB $n; done; sleep 600"
PLAIN = {"quits": ["true"], "silent": ["sleep", "600"], "forks": ["sh", "-c", FORKS], "fills": ["sh", "-c", FILLS]}

ENDS = ("done", "time", "processes", "disk")


def test_each_has_a_clear_end_and_the_queue_goes_on(daemon: RealDaemon, workspace: Workspace) -> None:
    agent(workspace, [], version=7)
    tables = [
        f'[agents.{name}]\nexec = {json.dumps([shutil.which(words[0]), *words[1:]])}\nlimit = "{limit}"\n'
        for (name, words), limit in zip(PLAIN.items(), ("240s", "2s", "240s", "240s"), strict=True)
    ]
    workspace.config.write_text(workspace.config.read_text() + "\n".join(tables))
    other = shutil.copytree(workspace.tasks / "scale", workspace.tasks / "other") / "task.toml"
    other.write_text(other.read_text().replace('"scale"', '"other"', 1))
    daemon.start()
    daemon.command("run", task="other", agent="mine", iterations=1)
    daemon.command("run", task="scale", agent=",".join(PLAIN), iterations=len(PLAIN), patience=5)
    assert daemon.until_event("run_ended", run="r2")["body"]["outcome"] == "no_gain", daemon.output
    daemon.command("run", task="other", agent="quits")
    kept = "r1, which is paused, has other: kpd resume r1, or kpd stop r1"
    daemon.until(lambda: daemon.query("status")["runs"]["r3"]["waits"] == kept, "what the next run waits for")
    changed = daemon.command("agent", run="r1", agent="quits")
    assert changed["keeps"] == ["r1.1"], "until somebody skips it"
    (paused,) = daemon.events("run_paused")
    assert "speaks version 7 of the protocol, kpd 1; install a version of the agent" in paused["body"]["reason"]
    turns = [(event["body"]["iteration"], event["body"]["end"]) for event in daemon.events("session_turned")]
    assert turns == [(number, end) for number, end in enumerate(ENDS, 1) for _ in range(2)]
    failed = [event["body"] for event in daemon.events("iteration_ended") if event["body"]["outcome"] == "failed"]
    assert [body["iteration"] for body in failed] == [1, 2, 3, 4]
    session = workspace.iteration_folder("scale", "r2", 4) / "session"
    assert taken(session) < 4 << 20 and (session / "tree" / "kernel.c").exists(), "what filled the disk is gone"
    assert all("session.md, and the agent's own logs in session/state, say more" in body["reason"] for body in failed)
    daemon.until(lambda: not children_of(workspace), "the end of all that agents had started")
    daemon.command("shutdown")
    daemon.wait()
    daemon.start()
    told = "a paused run waits for its host until that is connected, and no longer"
    daemon.until(lambda: [wait and wait["kind"] for wait in waits_of(daemon, "r1")][-2:] == ["for_device", None], told)
    workspace.config.write_text(workspace.config.read_text().replace("[agents.mine]\ncommand", "[agents.mine]\nexec"))
    daemon.until(lambda: "settings_read" in str(daemon.events("noticed")), "the table of the agent to be read again")
    daemon.command("resume", run="r1")
    assert daemon.until_event("session_turned", run="r1")["body"]["end"] == "crash", "the agent of the new table"


def waits_of(daemon: RealDaemon, run: str) -> list[dict[str, str] | None]:
    return [event["body"]["wait"] for event in daemon.events("run_waits") if event["body"]["run"] == run]
