"""A program observed by lines in its source: whatever becomes of that, its files are as they were."""

import asyncio
import json
import os
import re
import subprocess
import time
from pathlib import Path

import msgspec
import psutil
import pytest

from kpd.claude.purse import calls_beside
from kpd.production.deploy.deploy import approved
from kpd.production.logged.step import TRIES, SourceLogging
from kpd.production.observe.errors import ObserveError
from kpd.production.program import PlaceError
from tests.support.claude.anthropic_server import KEY, Reply, serving
from tests.support.daemon.forked import run_kpd
from tests.support.patience import PATIENCE_S
from tests.support.production.killing import beside
from tests.support.production.logger import BUILD, LINES, PATH, SOURCE, answer, observe, table_of
from tests.support.production.prepared import Prepared
from tests.support.production.provers import built, content, made, place_at

LEASE_S = 15.0
"""Long enough to be renewed on a busy machine."""


async def test_what_does_not_build_or_logs_nothing_is_told_and_asked_again(tmp_path: Path) -> None:
    root = tmp_path / "prover"
    shown = list[str]()
    answers = Prepared(
        "no file", answer(LINES.replace("fopen(", "opened(")), answer(LINES.replace("{\\", "[\\")),
        answer(LINES.replace("fclose(file)", "fclose(file); *(volatile int *)0 = 0")), answer(),
    )  # fmt: skip
    project = made(root, SOURCE, BUILD)
    async with place_at(project, tmp_path) as place:
        before = content(root)

        async def approves(diff: str) -> bool:
            assert content(root) == before  # also while an answer was awaited
            shown.append(diff)
            return True

        seen = await observe(place, SourceLogging(answers, approves))
        assert (await place.status()).now == {"target/prover": "original", PATH: "original"}
    assert content(root) == before
    assert [(tuple(one.grid), tuple(one.block)) for one in seen.launches] == [((1, 1, 1), (32, 1, 1))]
    assert [(one.name, one.values) for one in seen.parameters] == [("x", (7,))]
    assert (seen.seen_by, seen.key, len(shown)) == ("source", "key", 4)
    first, second, third, fourth, fifth = answers.asked
    assert "void twice(int x)" in first and "last answer" not in first
    assert "What became of your last answer: the answer was refused: it has no fenced block" in second
    assert "opened" in third and "it ends with 1" in third and "+        FILE *file = path ? opened(" in third
    assert "1 line of its log, of which none is a launch" in fourth
    assert re.search(r"the program fails with it: it ends with (-11|139)\b", fifth)


async def test_nothing_is_changed_where_nobody_approves_or_no_answer_is_of_use(tmp_path: Path) -> None:
    root = tmp_path / "prover"

    async def declines(diff: str) -> bool:
        return False

    async with place_at(made(root, SOURCE, BUILD), tmp_path) as place:
        before = content(root)
        for logging, kind, asked in (
            (SourceLogging(once := Prepared(answer()), declines), "not_approved", 1),
            (SourceLogging(all_of := Prepared(*["none"] * (TRIES + 1)), approved), "not_logged", TRIES),
        ):
            with pytest.raises(ObserveError, match="the host has no CUPTI") as caught:
                await observe(place, logging)
            assert (caught.value.kind, len((once if kind == "not_approved" else all_of).asked)) == (kind, asked)
        assert await place.changes() == []
    assert content(root) == before


async def test_nobody_is_asked_again_where_the_program_as_it_is_does_not_build(tmp_path: Path) -> None:
    answers = Prepared(answer(), answer())
    async with place_at(made(tmp_path / "prover", SOURCE, "echo no compiler >&2; exit 1"), tmp_path) as place:
        with pytest.raises(ObserveError, match=r"the unchanged program does not build or run: .*no compiler") as caught:
            await observe(place, SourceLogging(answers, approved))
        assert (caught.value.kind, len(answers.asked)) == ("failed", 1)
        assert [one.state for one in await place.changes()] == ["restored", "restored"]


async def test_what_a_model_costs_is_on_the_account(tmp_path: Path) -> None:
    project = made(tmp_path / "prover", SOURCE, BUILD)
    root = tmp_path / "ws"
    (root / "tasks").mkdir(parents=True)
    await asyncio.to_thread(subprocess.run, BUILD, shell=True, cwd=project.root, check=True)
    async with serving([Reply(answer())]) as server:
        (root / "config.toml").write_text(f'[claude]\nbase_url = "{server.url}"\n{table_of(project)}')
        env = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "ANTHROPIC_API_KEY": KEY}
        words = ("-w", str(root), "project", "observe", "prover", "--yes", "--writer", "model")
        ran = await asyncio.to_thread(run_kpd, *words, env=env)
    assert ran.returncode == 0, ran.stderr
    assert "spent: 1 call, " in ran.stderr
    assert KEY not in ran.stdout + ran.stderr
    assert [(one.purpose, one.of) for one in calls_beside(root)] == [("observe", "observation of prover")]
    assert json.loads((root / "refs" / "prover.observed.json").read_text())["launches"][0]["x"] == 7


async def test_somebodys_edit_in_between_stays_and_is_told(tmp_path: Path) -> None:
    root = tmp_path / "prover"

    async def edited(diff: str) -> bool:
        (root / PATH).write_bytes(SOURCE + b"// theirs\n")
        return True

    async with place_at(made(root, SOURCE, BUILD), tmp_path) as place:
        with pytest.raises(PlaceError, match="somebody else has changed"):
            await observe(place, SourceLogging(Prepared(answer()), edited))
    assert (root / PATH).read_bytes() == SOURCE + b"// theirs\n"


@pytest.mark.parametrize("when", ["build", "run"])
async def test_the_host_restores_where_kpd_is_killed(tmp_path: Path, when: str) -> None:
    root = tmp_path / "prover"
    stops = f"touch {root}/target/began; exec sleep 4321"
    slow = f"if grep -q 'KPD LOG' src/kernel.c; then {BUILD}; {stops}; fi; {BUILD}"
    project = made(root, SOURCE, slow if when == "build" else BUILD, run="target/prover" if when == "build" else stops)
    before = content(root)
    assert before == built(SOURCE)
    (tmp_path / "project.json").write_bytes(msgspec.json.encode(project))
    (tmp_path / "answer").write_text(answer())
    process = beside("logger", tmp_path, str(tmp_path), str(LEASE_S))
    end = time.monotonic() + PATIENCE_S
    while not (root / "target" / "began").exists():
        assert process.poll() is None and time.monotonic() < end
        await asyncio.sleep(0.05)
    assert content(root) != before
    assert b"KPD LOG" in content(root)[0]
    process.kill()
    process.wait(PATIENCE_S)
    end = time.monotonic() + LEASE_S + PATIENCE_S
    while content(root) != before or _sleeps(root):
        assert time.monotonic() < end, "the host did not restore"
        await asyncio.sleep(0.2)
    async with place_at(project, tmp_path) as place:
        (change,) = await place.changes()
        assert (change.state, change.why, change.conflicts) == ("restored", "lease", ())


def _sleeps(root: Path) -> bool:
    """Whether something that was started there still runs."""
    for process in psutil.process_iter(["cmdline", "cwd"]):
        if process.info["cmdline"] == ["sleep", "4321"] and process.info["cwd"] == os.fspath(root):
            return True
    return False
