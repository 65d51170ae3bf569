"""The question whether to deploy, on a terminal: Ctrl-C answers it at once."""

import os
import pty
import signal
import subprocess
import sys

from tests.places import ROOT
from tests.support.patience import PATIENCE_S

ASKS = """
import asyncio
from kpd.cli.project_deploy import _asked

async def work() -> None:
    print("answered", _asked(), flush=True)
    await asyncio.sleep(0)

asyncio.run(work())
"""


def test_ctrl_c_is_a_no_and_waits_for_nothing() -> None:
    near, far = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-c", ASKS], stdin=far, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=ROOT
    )
    os.close(far)
    assert process.stderr is not None
    assert "deploy this change?" in process.stderr.readline()
    process.send_signal(signal.SIGINT)
    said, _ = process.communicate(timeout=PATIENCE_S)
    os.close(near)
    assert (process.returncode, said) == (0, "answered False\n")
