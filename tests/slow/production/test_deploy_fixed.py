"""A build that breaks after the integration is mended by a model, on its second try, or in a folder."""

import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

from kpd.agents.answers import ServiceAnswers
from kpd.claude.purse import Purse, calls_beside
from kpd.claude.question import Hooks
from kpd.cli.purse import at_once
from kpd.production.deploy.deploy import Deploying, Telling
from kpd.production.deploy.fixing import Fixer, fenced
from kpd.production.place import new_id
from kpd.text.deployments import lines
from kpd.workspace.config import ClaudeConfig
from kpd.workspace.deployments import DeploymentJournal
from tests.support.claude.anthropic_script import Reply
from tests.support.claude.asking import talking
from tests.support.patience import PATIENCE_S
from tests.support.production.provers import place_at
from tests.support.production.recorded import with_program
from tests.support.production.sleepers import FAST, accepted, content, made

BROKEN = FAST.replace("2 * x", "2 * broken(x)")


async def test_the_second_answer_of_the_service_builds_and_stays(tmp_path: Path) -> None:
    project = made(tmp_path / "program")
    journal, shown = DeploymentJournal(tmp_path / "deployments"), list[str]()

    before = content(tmp_path / "program")

    async def approves(diff: str) -> bool:
        shown.append(diff)
        assert content(tmp_path / "program") == before  # also while a fix was awaited
        return True

    answers = [Reply(fenced(BROKEN.replace("2 *", "3 *"))), Reply(f"Here it is.\n\n{fenced(FAST)}")]
    async with talking(answers) as (_, service), place_at(project, tmp_path) as place:
        purse = Purse(tmp_path, "deployment 1 of p", ClaudeConfig(), lambda: 0.0)
        hooks = Hooks(lambda text: None, lambda why: None, purse, at_once)
        fixer = Fixer(ServiceAnswers(service, replace(ClaudeConfig(), effort=""), hooks, "fix"), lambda: purse.spend)
        opened = journal.begin("a-run", 1, "a test", new_id())
        deploying = Deploying(place, opened, Telling(approves), fixer=fixer)
        ended = await deploying.deploy(accepted(BROKEN))
    assert (ended.state, ended.cause, ended.fixes) == ("deployed", None, {"compile": 2})
    assert content(tmp_path / "program")[0] == FAST
    assert [("+" + FAST) in diff for diff in shown] == [False, False, True]  # each file is approved before it is built
    assert (tmp_path / "deployments" / "0001.diff").read_text() == shown[-1]
    assert [(one.purpose, one.of) for one in calls_beside(tmp_path)] == [("fix", "deployment 1 of p")] * 2
    assert ended.spend.calls == 2
    assert any(line.startswith("mended files asked for: 2 for compile, $") for line in lines("p", ended))


def test_a_deployment_that_goes_on_for_a_killed_one_asks_nothing_again_that_was_answered(tmp_path: Path) -> None:
    """Also where two were killed, one after the other."""
    ws, root = with_program(tmp_path, fixer="folder", fast=BROKEN, approve=False)
    worse = BROKEN.replace("2 *", "3 *")
    command = [sys.executable, "-m", "kpd.cli.main", "-w", str(ws.root), "project", "deploy", "p", "r1"]

    def deploying() -> subprocess.Popen[str]:
        return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)

    def question(number: int, says: str) -> Path:
        """Wait until a deployment asks, and return where it is answered."""
        prompt, end = ws.deployments / "p" / f"{number:04d}.mailbox" / "prompt.md", time.monotonic() + PATIENCE_S
        while not prompt.exists() or says not in prompt.read_text():
            assert time.monotonic() < end, f"deployment {number} does not ask about {says}"
            time.sleep(0.1)
        return prompt.with_name("reply.md")

    first = deploying()
    question(1, "2 * broken(x)").write_text(fenced(worse))
    question(1, "3 * broken(x)")
    first.kill()
    first.wait()
    second = deploying()
    question(2, "3 * broken(x)")
    second.kill()
    second.wait()
    third = deploying()
    question(3, "3 * broken(x)").write_text(fenced(FAST))
    said, _ = third.communicate(timeout=PATIENCE_S)
    assert (third.returncode, said.partition(":")[0]) == (0, "DEPLOYED p #3")
    assert content(root)[0] == FAST
    cut, again, ended = DeploymentJournal(ws.deployments / "p").all()
    assert (cut.cause, again.cause, ended.fixes) == ("cut", "cut", {"compile": 2})
    assert not list((ws.deployments / "p").glob("000[23].mailbox/reply_*.md")), "each had one question"
