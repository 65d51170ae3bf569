"""Starts kpd's programs as forks of one process that has imported them already: importing takes a daemon a second.

A fork is a process of its own as any program is, and may be killed; but its command line is that of the first process.
Where the environment says something that is read at an import, or where modules are, a Python is started.
"""

import multiprocessing
import os
import pkgutil
import runpy
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping
from multiprocessing.connection import wait
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from typing import Protocol

import kpd.cli.main
from tests.places import ROOT
from tests.support.patience import PATIENCE_S

_CONTEXT = multiprocessing.get_context("forkserver")
_KPD = ("-m", "kpd.cli.main")
_LOCK = threading.Lock()  # a start looks at all processes, and how one ended can be read once
_VERBS = [f"kpd.cli.{module.name}" for module in pkgutil.iter_modules(kpd.cli.__path__)]
_CONTEXT.set_forkserver_preload(["anthropic", "kpd.daemon.process", *_VERBS, __name__])


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
    if _as_imported(env):
        return Forked(words, env, Path.cwd(), output, output)
    with output.open("ab") as file:
        return subprocess.Popen([sys.executable, *words], stdout=file, stderr=file, env=env)


def run_kpd(*words: str, env: Mapping[str, str], folder: Path | None = None) -> "subprocess.CompletedProcess[str]":
    """Run `kpd WORDS` of this source to its end, with nothing on its stdin: as subprocess.run does it."""
    command = [*_KPD, *words]
    if not _as_imported(env):
        return subprocess.run(
            [sys.executable, *command], env=env, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, text=True,
            timeout=PATIENCE_S,
        )  # fmt: skip
    with tempfile.TemporaryDirectory() as place:
        out, err = Path(place, "out"), Path(place, "err")
        process = Forked(command, dict(env), folder or Path.cwd(), out, err)
        try:
            code = process.wait(PATIENCE_S)
        except subprocess.TimeoutExpired:
            process.kill()
            raise
        return subprocess.CompletedProcess(["kpd", *words], code, out.read_text(), err.read_text())


def _as_imported(env: Mapping[str, str]) -> bool:
    return _read(env) == _HERE


def _read(env: Mapping[str, str]) -> tuple[str | None, list[str]]:
    """What is read at an import, and where modules are beside this checkout, which is installed from where it is."""
    places = env.get("PYTHONPATH", "").split(os.pathsep)
    return env.get("ANTHROPIC_LOG"), [place for place in places if place not in ("", str(ROOT))]


_HERE = _read(os.environ)


class Forked:
    def __init__(self, words: list[str], env: dict[str, str], folder: Path, out: Path, err: Path) -> None:
        self._process: ForkServerProcess = _CONTEXT.Process(target=_run, args=(words, env, str(folder), out, err))
        with _LOCK:
            self._process.start()
        assert self._process.pid is not None
        self.pid = self._process.pid

    @property
    def returncode(self) -> int | None:
        return self.poll()

    def poll(self) -> int | None:
        with _LOCK:
            return self._process.exitcode

    def wait(self, timeout: float | None = None) -> int:
        wait([self._process.sentinel], timeout)
        if (code := self.poll()) is None:
            raise subprocess.TimeoutExpired(f"the fork {self.pid}", timeout or PATIENCE_S)
        return code

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


def _run(words: list[str], env: dict[str, str], folder: str, out: Path, err: Path) -> None:
    os.environ.clear()
    os.environ.update(env)
    os.chdir(folder)
    for path, stream in ((out, 1), (err, 2)):
        with path.open("ab") as file:
            os.dup2(file.fileno(), stream)
    how, what, *arguments = words
    sys.argv = [how, *arguments]
    if (how, what) == _KPD:
        sys.exit(kpd.cli.main.main())
    if how == "-c":
        exec(compile(what, "<string>", "exec"), {"__name__": "__main__"})
    else:
        runpy.run_module(what, run_name="__main__", alter_sys=True)
