"""What stays of a prompt beside its iteration, and how `kpd show --prompt` tells of it."""

import json
from pathlib import Path
from typing import Any

import pytest

from kpd.agents.agent import Context
from kpd.agents.prompt.compose import compose
from kpd.agents.prompt.record import RECORD, artefacts
from kpd.cli.main import main
from kpd.daemon.journal import EventJournal
from kpd.daemon.store import EventStore
from kpd.model import events as e
from kpd.model.budget import Budget
from kpd.workspace.paths import Workspace
from tests.support.agents.prompted import context, known


def keep(of: Context, purpose: Any, with_text: bool) -> None:
    for name, content in artefacts(of.home, compose(of, known()), purpose, with_text).items():
        of.keep(name, content)


def recorded(of: Context) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads((of.home / RECORD).read_bytes())["prompts"]
    return found


def test_the_weight_of_every_block_is_kept(tmp_path: Path) -> None:
    of = context(tmp_path)
    keep(of, "propose", with_text=False)
    (prompt,) = recorded(of)
    assert (prompt["purpose"], prompt["text"]) == ("propose", "")
    blocks = {block["name"]: block for block in prompt["blocks"]}
    assert prompt["tokens"] == sum(block["tokens"] for block in blocks.values()) == compose(of, known()).tokens
    assert blocks["source"]["cached"] and blocks["source"]["place"] == "system"
    assert not blocks["findings"]["cached"] and blocks["findings"]["place"] == "user"
    assert [path.name for path in of.home.iterdir()] == [RECORD]


def test_each_question_of_an_iteration_has_its_entry_and_its_text(tmp_path: Path) -> None:
    of = context(tmp_path)
    for purpose in ("propose", "compile_fix", "compile_fix"):
        keep(of, purpose, with_text=purpose != "propose")
    assert [(prompt["purpose"], prompt["text"]) for prompt in recorded(of)] == [
        ("propose", ""), ("compile_fix", "prompt_2.md"), ("compile_fix", "prompt_3.md"),
    ]  # fmt: skip
    assert (of.home / "prompt_2.md").read_text() == compose(of, known()).markdown()


def test_a_spoilt_record_is_begun_anew(tmp_path: Path) -> None:
    of = context(tmp_path)
    (of.home / RECORD).write_text("{")
    keep(of, "again", with_text=True)
    assert [(prompt["purpose"], prompt["text"]) for prompt in recorded(of)] == [("again", "prompt.md")]


@pytest.fixture(name="ws")
def _ws(tmp_path: Path) -> Workspace:
    """A workspace without a daemon, whose log has one run with an iteration of the model's."""
    root = (tmp_path / "ws").resolve()
    (root / "tasks").mkdir(parents=True)
    (root / "config.toml").touch()
    ws = Workspace.find(root)
    ws.make_private()
    with EventStore(ws.store) as store:
        journal = EventJournal(store)
        journal.emit(e.RunQueued("r1", "task", "claude", "local", Budget()))
        journal.emit(e.IterationStarted("r1", 0, "baseline", 0))
        journal.emit(e.IterationStarted("r1", 1, "claude", 0))
    return ws


def show(ws: Workspace, capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    code = main(["-w", str(ws.root), "show", *words])
    said = capsys.readouterr()
    return code, said.out, said.err


def test_it_is_shown_with_tokens_a_block(ws: Workspace, capsys: pytest.CaptureFixture[str]) -> None:
    of = context(ws.root)
    keep(of, "propose", with_text=True)
    code, out, err = show(ws, capsys, "r1.1", "--prompt")
    assert (code, err) == (0, "")
    head, names, first, *_ = out.splitlines()
    assert head.startswith(f"propose: about {compose(of, known()).tokens:,} tokens, ")
    assert names.split() == ["BLOCK", "PLACE", "TOKENS", "CACHE"]
    assert first.split()[:2] == ["role", "system"]
    assert first.split()[-1] == "cached"
    assert "# Make this kernel faster" in out
    code, out, _ = show(ws, capsys, "r1.1", "--prompt", "--json")
    (prompt,) = json.loads(out)["prompts"]
    assert (code, prompt["content"]) == (0, compose(of, known()).markdown())


def test_a_text_that_was_not_kept_is_said_with_the_remedy(ws: Workspace, capsys: pytest.CaptureFixture[str]) -> None:
    keep(context(ws.root), "propose", with_text=False)
    code, out, err = show(ws, capsys, "r1.1", "--prompt")
    assert code == 0
    assert "findings" in out
    assert "no text was kept; keep_prompts = true under [claude]" in err
    assert json.loads(show(ws, capsys, "r1.1", "--prompt", "--json")[1])["prompts"][0]["content"] is None


def test_an_iteration_without_a_prompt_says_so(ws: Workspace, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = show(ws, capsys, "r1.0", "--prompt")
    assert (code, out) == (1, "")
    assert "r1.0 has no prompt.json; only agents that ask a model leave one" in err
    of = context(ws.root)
    of.keep(RECORD, '{"version": 1}')
    code, _, err = show(ws, capsys, "r1.1", "--prompt")
    assert code == 1
    assert "cannot be read" in err


def test_nothing_in_a_text_drives_the_terminal(ws: Workspace, capsys: pytest.CaptureFixture[str]) -> None:
    of = context(ws.root, files={"kernel.cu": b"// \x1b[2J\n"})
    keep(of, "propose", with_text=True)
    _, out, _ = show(ws, capsys, "r1.1", "--prompt")
    assert "\x1b" not in out
    assert "␛[2J" in out
