"""A coding agent answers a prompt that stands alone: confined, without kpd's tools, on the account of its purpose."""

from pathlib import Path

import pytest

from kpd.claude.errors import OverBudget, Unavailable
from kpd.claude.purse import Purse, calls_beside
from kpd.claude.question import PromptPart
from kpd.sessions.answers import ONLY_WORDS, AgentAnswers
from kpd.workspace.coding_agents import AgentConfig
from kpd.workspace.config import ClaudeConfig, Config
from kpd.workspace.paths import Workspace

ASKED = (PromptPart("Mend the file."),), "Here it is."
ECHO = "cat; echo key $MINE_KEY, tools $KPD_SESSION; cat {secret} || echo closed"


def answers(root: Path, script: str, **limits: float) -> AgentAnswers:
    ws = Workspace(root / "ws")
    ws.root.mkdir()
    secret = ws.root / "secret"
    secret.write_text("nobody's business")
    agent = AgentConfig(exec=("sh", "-c", script.replace("{secret}", str(secret))), keys=("MINE_KEY",))
    purse = Purse(ws.root, "a test", ClaudeConfig(**limits), lambda: 0.0)
    return AgentAnswers("mine", Config(agents={"mine": agent}), ws, ws.root / "asked", purse, "fix", lambda *_: None)


async def test_its_last_words_are_the_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MINE_KEY", "a-key-of-the-agent")
    asked = answers(tmp_path, ECHO)
    found = await asked.ask(*ASKED)
    told, _, rest = found.text.partition(ONLY_WORDS)
    assert (told, found.stop) == ("Mend the file.\n\nHere it is.", "end")
    assert rest.split("\n")[:2] == ["key (MINE_KEY), tools", "closed"]
    await asked.ask(*ASKED)
    assert [one.name for one in sorted(asked.folder.iterdir())] == ["01", "02"]
    calls = calls_beside(asked.workspace.root)
    assert [(one.of, one.purpose, one.model, one.most_usd) for one in calls] == [("a test", "fix", "mine", 2.0)] * 2


async def test_an_agent_that_fails_or_may_not_spend_has_not_answered(tmp_path: Path) -> None:
    failing = answers(tmp_path, "echo half an answer; echo no more >&2; exit 3")
    with pytest.raises(Unavailable, match=r"mine: it crashed: the agent ended \(exit status 3\): no more"):
        await failing.ask(*ASKED)
    (tmp_path / "poor").mkdir()
    poor = answers(tmp_path / "poor", "echo asked", max_usd_per_run=1.0)
    with pytest.raises(OverBudget):
        await poor.ask(*ASKED)
    assert not (poor.folder / "01" / "prompt.md").exists()
