"""Starts daemons as forks of one process that has imported them already: importing takes a daemon a second.

A fork is a process of its own as any daemon is, and may be killed; but its command line is that of the first process.
Where the environment says something that is read at an import, or where modules are, a Python is started.
"""

import multiprocessing
import os
import runpy
import subprocess
import sys
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from typing import Protocol

from tests.support.patience import PATIENCE_S

_READ = {name: os.environ.get(name) for name in ("ANTHROPIC_LOG", "PYTHONPATH")}
_CONTEXT = multiprocessing.get_context("forkserver")
_CONTEXT.set_forkserver_preload(["anthropic", "kpd.cli.daemon", "kpd.daemon.process", __name__])


class Running(Protocol):
    """What tests do with a program: as subprocess.Popen does it."""

    @property
    def pid(self) -> int: ...
    @property
    def returncode(self) -> int | None: ...
    def poll(self) -> int | None: ...
    def wait(self, timeout: float | None = None) -> int: ...
    def send_signal(self, number: int) -> None: ...
    def kill(self) -> None: ...


def started(words: list[str], env: dict[str, str], output: Path) -> Running:
    """A Python program: `words` are what follows `python` on its command line, `-m MODULE …` or `-c CODE …`."""
    if {name: env.get(name) for name in _READ} == _READ:
        return Forked(words, env, output)
    with output.open("ab") as file:
        return subprocess.Popen([sys.executable, *words], stdout=file, stderr=file, env=env)


class Forked:
    def __init__(self, words: list[str], env: dict[str, str], output: Path) -> None:
        self._process: ForkServerProcess = _CONTEXT.Process(target=_run, args=(words, env, str(Path.cwd()), output))
        self._process.start()
        assert self._process.pid is not None
        self.pid = self._process.pid

    @property
    def returncode(self) -> int | None:
        return self._process.exitcode

    def poll(self) -> int | None:
        return self._process.exitcode

    def wait(self, timeout: float | None = None) -> int:
        self._process.join(timeout)
        if (code := self._process.exitcode) is None:
            raise subprocess.TimeoutExpired(f"the fork {self.pid}", timeout or PATIENCE_S)
        return code

    def send_signal(self, number: int) -> None:
        if self._process.exitcode is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        self._process.kill()


def _run(words: list[str], env: dict[str, str], folder: str, output: Path) -> None:
    os.environ.clear()
    os.environ.update(env)
    os.chdir(folder)
    with output.open("ab") as file:
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
    how, what, *arguments = words
    sys.argv = [how, *arguments]
    if how == "-c":
        exec(compile(what, "<string>", "exec"), {"__name__": "__main__"})
    else:
        runpy.run_module(what, run_name="__main__", alter_sys=True)
