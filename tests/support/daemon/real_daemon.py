"""A real daemon in a process of its own, on a workspace in a temporary folder, spoken to over its real socket."""

import contextlib
import json
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from kpd.client import DaemonError, ask
from kpd.workspace.paths import Workspace
from tests.places import DATA
from tests.support.daemon.forked import Running, started
from tests.support.patience import PATIENCE_S

TASKS = DATA / "tasks"


class RealDaemon:
    def __init__(self, workspace: Workspace) -> None:
        self.workspace = workspace
        self.home = workspace.root.parent / "home"  # with the operator's .ssh, if a test makes one
        self.env = {"ANTHROPIC_API_KEY": "secret-that-must-not-leak"}
        self.process: Running | None = None
        self._read: list[dict[str, Any]] = []  # the events that this process has answered, which only become more

    def start(self, *code: str) -> None:
        """The daemon as `kpd daemon`, or as the given Python program with the workspace as its last argument."""
        env = {**os.environ, **self.env}
        if self.home.exists():
            env["HOME"] = str(self.home)
        self._read = []
        self.process = self.launch(code, env, self.workspace.root.parent / "output.txt")
        self.until(self._answers, "the daemon to answer")

    def launch(self, code: tuple[str, ...], env: dict[str, str], output: Path) -> Running:
        root = str(self.workspace.root)
        return started(["-c", *code, root] if code else ["-m", "kpd.cli.main", "-w", root, "daemon"], env, output)

    def _answers(self) -> bool:
        assert self.process is not None
        if self.process.poll() is not None:
            return True
        try:
            self.query("status")
        except DaemonError:
            return False
        return True

    @property
    def output(self) -> str:
        return (self.workspace.root.parent / "output.txt").read_text(errors="replace")

    def query(self, what: str, **args: Any) -> Any:
        return ask(self.workspace.socket, "query", what, args)

    def command(self, verb: str, **args: Any) -> Any:
        return ask(self.workspace.socket, "command", verb, args)

    def events(self, *kinds: str) -> list[dict[str, Any]]:
        """Every event, or those of these kinds; a process is asked for each only once, as tests look often."""
        after = self._read[-1]["seq"] if self._read else 0
        self._read += self.query("events", after=after, limit=100_000)
        return [event for event in self._read if not kinds or event["kind"] in kinds]

    def until(self, ready: Callable[[], Any], what: str) -> Any:
        begun = time.monotonic()
        while (waited := time.monotonic() - begun) < PATIENCE_S:
            if found := ready():
                return found
            time.sleep(min(0.05 + waited / 10, 0.25))  # a look costs both sides: what has taken long may take longer
        raise AssertionError(f"waited {PATIENCE_S:.0f} s for {what}\n{self._last_events()}\n{self.output[-4000:]}")

    def _last_events(self) -> str:
        try:
            return "\n".join(f"{event['kind']} {event['body']}"[:400] for event in self.events()[-12:])
        except (DaemonError, OSError) as err:
            return str(err)

    def until_event(self, kind: str, **fields: Any) -> dict[str, Any]:
        def seen() -> dict[str, Any] | None:
            matching = (
                e for e in self.events(kind) if all(e["body"].get(key) == value for key, value in fields.items())
            )
            return next(matching, None)

        found: dict[str, Any] = self.until(seen, f"{kind} {fields}")
        return found

    def wait(self) -> int:
        process = self.process
        assert process is not None
        self.until(lambda: process.poll() is not None, "the daemon to end")
        return process.returncode

    def kill(self) -> None:
        assert self.process is not None
        self.process.send_signal(signal.SIGKILL)
        self.process.wait(PATIENCE_S)

    def stop(self) -> None:
        if self.process is not None and self.process.poll() is None:
            for number in (signal.SIGTERM, signal.SIGINT):  # the second one ends it without waiting for a step
                self.process.send_signal(number)
            try:
                self.process.wait(PATIENCE_S)
            except subprocess.TimeoutExpired:
                self.kill()
        left = leftovers(self.workspace)
        for process in left:
            with contextlib.suppress(psutil.NoSuchProcess):
                process.kill()
        psutil.wait_procs(left, timeout=PATIENCE_S)


def leftovers(workspace: Workspace) -> list[psutil.Process]:
    """Processes that work below the workspace."""
    found = []
    for process in psutil.process_iter():
        try:
            if Path(process.cwd()).is_relative_to(workspace.root) or str(workspace.root) in " ".join(process.cmdline()):
                found.append(process)
        except (psutil.Error, OSError):
            continue
    return found


def jobs_of(workspace: Workspace) -> list[str]:
    """Processes of jobs: they work below the local host's folder; the helper itself does not count."""
    jobs = workspace.host_root / "jobs"
    found = []
    for process in leftovers(workspace):
        line = " ".join(process.cmdline())
        if str(jobs) in line or process.cwd().startswith(str(jobs)):
            found.append(line)
    return found


@pytest.fixture
def workspace(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workspace]:
    """A new one for each test, all in one place: what the local host built and measured there serves the next test too.

    Of the workers of a suite two measure at a time: with one lease for all, most would wait for it most of the time.
    Afterwards it lies in the test's own folder. A test whose compiler is not the real one gives the host another root.
    """
    machine = tmp_path_factory.getbasetemp().resolve() / "machine"
    place = machine / "place"
    root = place / "workspace"
    for folder in ("tasks", "skills", "memory"):
        (root / folder).mkdir(parents=True)
    worker = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw"))
    leases = machine.with_name(f"leases-{worker % 2}")
    (root / "config.toml").write_text(f'[run]\nprofile = "checked"\n[hosts.local]\nleases = "{leases}"\n')
    shutil.copytree(TASKS / "scale", root / "tasks" / "scale")
    workspace = Workspace(root)
    workspace.make_private()
    if (machine / "host").exists():
        _copy(machine / "host", workspace.host_root)
    yield workspace
    done = tmp_path / "place"
    place.rename(done)  # before anything that can fail: the next test makes its own here
    _keep(Workspace(done / "workspace").host_root, machine / "host")


def set_local(workspace: Workspace, **keys: Any) -> None:
    """Set keys of the local host in config.toml."""
    lines = "".join(f"{key} = {json.dumps(value)}\n" for key, value in keys.items())
    kept = [line for line in workspace.config.read_text().splitlines(True) if line.partition(" ")[0] not in keys]
    workspace.config.write_text("".join(kept).replace("[hosts.local]\n", f"[hosts.local]\n{lines}"))


def _keep(host: Path, kept: Path) -> None:
    """Each harness in C and the CPU's roofline: it takes a second to build the one, and two to measure the other."""
    for rc in host.glob("jobs/*/rc"):
        job = rc.parent
        script = (job / "cmd").read_text()
        if (
            not job.name.startswith(("harness-", "roofline-"))
            or "-std=gnu11" not in script
            or json.loads(rc.read_text())["rc"] != 0
        ):
            continue
        for path in (job, *(tree for tree in host.glob("trees/*") if tree.name in script)):
            to = kept / path.relative_to(host)
            if not to.exists():
                _copy(path, to)


def _copy(source: Path, to: Path) -> None:
    """With the times and the FIFOs in it, as shutil could not."""
    to.parent.mkdir(parents=True, exist_ok=True)
    subprocess.run(["cp", "-a", source, to], check=True)


@pytest.fixture
def daemon(workspace: Workspace) -> Iterator[RealDaemon]:
    running = RealDaemon(workspace)
    yield running
    running.stop()
    assert not leftovers(workspace), "the daemon left processes behind"
