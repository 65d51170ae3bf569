"""Questions on a terminal: whether to deploy, which Ctrl-C answers while work goes on, and what a project is."""

import os
import pty
import signal
import subprocess
import sys
from collections.abc import Iterator

import pytest

from tests.places import ROOT
from tests.support.cli.terminal import Place, Terminal, place
from tests.support.patience import PATIENCE_S

__all__ = ["place"]
ASKS = """
import asyncio
from kpd.cli.project_deploy import asked

async def work() -> None:
    asking = asyncio.create_task(asked())
    await asyncio.sleep(0.05)
    print("under way" if not asking.done() else "blocked", flush=True)
    print("answered", await asking, flush=True)

asyncio.run(work())
"""


@pytest.fixture
def asks() -> Iterator[tuple[subprocess.Popen[str], int]]:
    near, far = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-c", ASKS], stdin=far, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=ROOT
    )
    os.close(far)
    assert process.stderr is not None
    assert "deploy this change?" in process.stderr.readline()
    yield process, near
    os.close(near)


def test_ctrl_c_is_a_no_and_waits_for_nothing(asks: tuple[subprocess.Popen[str], int]) -> None:
    process, _ = asks
    process.send_signal(signal.SIGINT)
    said, _ = process.communicate(timeout=PATIENCE_S)
    assert (process.returncode, said.splitlines()[-1]) == (0, "answered False")


def test_what_was_typed_before_the_question_is_no_answer() -> None:
    near, far = pty.openpty()
    os.write(near, b"y\ny\n")
    process = subprocess.Popen(
        [sys.executable, "-c", ASKS], stdin=far, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=ROOT
    )
    os.close(far)
    assert process.stdout is not None
    assert process.stdout.readline() == "under way\n"
    os.write(near, b"n\n")
    said, _ = process.communicate(timeout=PATIENCE_S)
    os.close(near)
    assert said == "answered False\n"


@pytest.mark.parametrize(("typed", "answer"), [(b"y\n", True), (b"\n", False), (b"\x04", False)])
def test_a_lease_can_be_renewed_until_somebody_answers(
    asks: tuple[subprocess.Popen[str], int], typed: bytes, answer: bool
) -> None:
    process, terminal = asks
    assert process.stdout is not None
    assert process.stdout.readline() == "under way\n"
    os.write(terminal, typed)
    said, _ = process.communicate(timeout=PATIENCE_S)
    assert (process.returncode, said) == (0, f"answered {answer}\n")


def test_what_cannot_be_so_is_asked_for_again_and_nothing_is_lost(place: Place) -> None:
    terminal = Terminal(place, "project", "add", "p")
    for told, says in (
        ("host: ", "moon"), ("known hosts are local", "local"), ("root: ", "prover"),
        ("begin it with / or ~/", "~/prover"), ("files: ", ""), ("a project needs one", "out/k.cu"),
        ("binary: ", "out/p"), ("build_dir: ", "out"), ("name the source", "build"),
    ):  # fmt: skip
        terminal.until(told)
        terminal.press(f"{says}\n")
    for told, says in (("build: ", "make"), ("run: ", "out/p"), ("kernel: ", "k"), ("verify: ", "true")):
        terminal.until(f"\n{told}")
        terminal.press(f"{says}\n")
    for key in ("outputs", "context", "flags"):
        terminal.until(f"\n{key}: ")
        terminal.press("\n")
    terminal.until("added p to")
    assert terminal.code() == 0
    assert place.ws.config.read_text().splitlines()[-10:] == [
        '[project.p]', 'host = "local"', 'root = "~/prover"', 'files = ["out/k.cu"]', 'binary = ["out/p"]',
        'build_dir = "build"', 'build = "make"', 'run = "out/p"', 'kernel = "k"',
        'verify = "true"',
    ]  # fmt: skip


def test_what_an_option_says_wrong_is_told_before_the_first_question(place: Place) -> None:
    terminal = Terminal(place, "project", "add", "p", "--root", "prover")
    terminal.until("root is no absolute path: 'prover'")
    assert terminal.code() != 0
    assert "host: " not in terminal.said
