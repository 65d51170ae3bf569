"""The question whether to deploy, on a terminal: Ctrl-C answers it at once, and work goes on while it waits."""

import os
import pty
import signal
import subprocess
import sys
from collections.abc import Iterator

import pytest

from tests.places import ROOT
from tests.support.patience import PATIENCE_S

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
