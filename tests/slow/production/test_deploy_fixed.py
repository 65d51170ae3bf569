"""A build that breaks after the integration is mended by a model, on its second try."""

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
from tests.support.production.provers import place_at
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
