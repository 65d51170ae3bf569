"""`kpd task new` from a production kernel, as a command: facts, the whole way, and every way to be refused."""

import json
from pathlib import Path

import pytest

from kpd.workspace.task import load_task
from tests.support.claude.anthropic_server import KEY
from tests.support.onboarding.cli import _project, kpd, left
from tests.support.onboarding.kernels import LAUNCHES, Sources, sources

__all__ = ["_project"]


def test_facts_need_no_model_and_make_nothing(project: Sources, tmp_path: Path) -> None:
    said = kpd(tmp_path, "rows", *project.arguments, "--facts")
    assert (said.returncode, said.stderr) == (0, "")
    found = json.loads(said.stdout)
    assert found["kernel"]["name"] == "prover::row_scale"
    assert found["configs"][0]["block"] == [32, 8, 1]
    assert left(tmp_path) == []


def test_without_a_key_nothing_is_asked(project: Sources, tmp_path: Path) -> None:
    said = kpd(tmp_path, "rows", *project.arguments)
    assert said.returncode == 3
    told = (
        "there is no API key: ANTHROPIC_API_KEY is not set; set it; --mailbox asks in a folder, --facts needs no model"
    )
    assert said.stderr == f"kpd: {told}\n"
    said = kpd(tmp_path, "rows", *project.arguments, "--agent", "nobody")
    assert (said.returncode, said.stderr) == (
        3,
        "kpd: there is no agent nobody: [agents.nobody] of config.toml needs command = [...] or exec = [...]; "
        "--mailbox asks in a folder, --facts needs no model\n",
    )
    assert left(tmp_path) == []


WRONG = {
    "two files": (["--from", "k.cu", "--wrapper", "h.cu"], "kpd: --observed is missing; give all three files"),
    "facts of nothing": (["--facts"], "kpd: --from and --wrapper and --observed are missing; give all three files"),
    "files that are not there": (
        ["--from", "k.cu", "--wrapper", "h.cu", "--observed", "o.json"], "kpd: o.json: cannot be read: No such file"
    ),
}  # fmt: skip


@pytest.mark.parametrize(("words", "why"), WRONG.values(), ids=WRONG)
def test_files_that_are_missing_are_named(words: list[str], why: str, project: Sources, tmp_path: Path) -> None:
    said = kpd(tmp_path, "rows", *words)
    assert said.returncode == 64
    assert said.stderr.startswith(why)


def test_a_contradiction_is_shown_and_not_made_a_task(project: Sources, tmp_path: Path) -> None:
    found = sources(tmp_path / "project", launches=[{**LAUNCHES[0], "block_x": 64}])
    said = kpd(tmp_path, "rows", *found.arguments, "--facts")
    assert (said.returncode, "block 64 x 1 x 1" in json.loads(said.stdout)["conflict"]) == (0, True)
    said = kpd(tmp_path, "rows", *found.arguments, ANTHROPIC_API_KEY=KEY)
    assert said.returncode == 64
    assert "observe it again" in said.stderr


def test_a_small_task_in_c_is_made_as_before(project: Sources, tmp_path: Path) -> None:
    said = kpd(tmp_path, "small")
    assert said.returncode == 0, said.stderr
    assert load_task(tmp_path / "ws" / "tasks" / "small").language == "c"
