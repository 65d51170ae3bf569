"""An nvidia-smi that says which processes use a GPU, and leases of that GPU."""

import asyncio
import contextlib
import os
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from kpd.hosts.helper import smi
from tests.support.hosts.remote_daemon import far_end

GPU = "GPU-a94fa920-90a4-3943-f26d-b7c254a86f1a"
UNSEEN = (1 << 22) + 17  # a pid that no Linux gives
WAIT = "while [ ! -e go ]; do sleep 0.01; done\n"


class Smi:
    """The stand-in and what it does: `lists` lines, or something that a shell can do instead."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "lists"
        self.asked = folder / "asked"
        self.does = folder / "does"
        (folder / "bin").mkdir()
        program = folder / "bin" / smi.PROGRAM
        program.write_text(f'#!/bin/sh\necho "$*" >> "{self.asked}"\ncat "{self.path}"\n. "{self.does}"\n')
        program.chmod(0o755)
        self.instead("true")
        self.lists()

    def instead(self, script: str) -> None:
        self._put(self.does, script + "\n")

    def lists(self, *processes: tuple[int, str] | tuple[int, str, str]) -> None:
        lines = [f"{pid}, {name}, {device[0] if device else GPU}\n" for pid, name, *device in processes]
        self._put(self.path, "".join(lines))

    def times(self) -> int:
        return len(self.asked.read_text().splitlines()) if self.asked.exists() else 0

    def _put(self, path: Path, text: str) -> None:
        new = path.with_suffix(".new")
        new.write_text(text)
        new.replace(path)


@pytest.fixture
def nvidia(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Smi:
    stand_in = Smi(tmp_path)
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:{os.environ['PATH']}")
    return stand_in


@pytest.fixture
async def far(nvidia: Smi, tmp_path: Path):
    async with far_end(tmp_path / "host") as far:
        yield far


@contextlib.asynccontextmanager
async def process(**env: str) -> AsyncIterator[int]:
    """Somebody's process, to be listed."""
    child = await asyncio.create_subprocess_exec("sleep", "300", env=env)
    try:
        yield child.pid
    finally:
        with contextlib.suppress(ProcessLookupError):
            child.kill()
        await child.wait()


def lease(*tolerate: str) -> dict[str, Any]:
    return {"device": GPU, "gpu": True, "tolerate": tolerate, "holder": "test"}
