"""`kpd task new` from a production kernel, as a command: facts, the whole way, and every way to be refused."""

import asyncio
import subprocess
from pathlib import Path

from kpd.workspace.task import load_task
from tests.places import OPEN
from tests.support.claude.anthropic_server import KEY, Reply, Script, serving
from tests.support.onboarding.cli import _project, kpd, left
from tests.support.onboarding.kernels import FLAT, GOOD, Sources, fenced

__all__ = ["_project"]


async def answered(folder: Path, script: Script, *words: str) -> subprocess.CompletedProcess[str]:
    async with serving(script) as server:
        (folder / "ws" / "config.toml").write_text(f'[claude]\nbase_url = "{server.url}"\n[hosts.local]\n{OPEN}')
        return await asyncio.to_thread(kpd, folder, *words, ANTHROPIC_API_KEY=KEY)


async def test_a_task_is_made_and_what_it_cost_is_said(project: Sources, tmp_path: Path) -> None:
    said = await answered(tmp_path, [Reply(fenced(FLAT)), Reply(fenced(GOOD))], "rows", *project.arguments)
    assert said.returncode == 0, said.stderr
    folder = tmp_path / "ws" / "tasks" / "rows"
    assert said.stdout == f"{folder}\n"
    assert load_task(folder).sectioned == "row_scale.cu"
    assert "expected dim3(32, 8, 1) = 256 threads a block" in said.stderr
    assert "spent: 2 calls, " in said.stderr
    assert "$0.0" in said.stderr
    assert KEY not in said.stderr + said.stdout


async def test_never_right_fails_and_leaves_nothing(project: Sources, tmp_path: Path) -> None:
    said = await answered(tmp_path, [Reply(fenced(FLAT))] * 2, "rows", *project.arguments, "--tries", "2")
    assert said.returncode == 1
    assert said.stdout == ""
    assert "kpd: no harness after 2 answers; the last was refused: harness:" in said.stderr
    assert "spent: 2 calls, " in said.stderr
    assert left(tmp_path) == []


async def test_markup_in_a_reply_does_not_reach_the_terminal(project: Sources, tmp_path: Path) -> None:
    evil = GOOD.replace('"top2"', '"\x9b2J\u202etop2"')
    said = await answered(tmp_path, [Reply(fenced(evil))], "rows", *project.arguments, "--tries", "1")
    assert said.returncode == 1
    assert all(char.isprintable() or char == "\n" for char in said.stderr)


async def test_a_wrong_key_is_said_so(project: Sources, tmp_path: Path) -> None:
    async with serving([], key="another") as server:
        (tmp_path / "ws" / "config.toml").write_text(f'[claude]\nbase_url = "{server.url}"\n[hosts.local]\n{OPEN}')
        said = await asyncio.to_thread(kpd, tmp_path, "rows", *project.arguments, ANTHROPIC_API_KEY=KEY)
    assert said.returncode == 3
    assert KEY not in said.stderr
    assert left(tmp_path) == []
