"""What a host costs: a short command against OpenSSH's ways of running it, and many hosts in one daemon.

    python benchmarks/hosts.py [repetitions]

Prints one JSON object. Everything over loopback, through a network that adds 0, 20 and 80 ms to a round trip; the ways
take turns, so that what disturbs one disturbs all. Needs OpenSSH's client and sshd on this machine.
"""

import asyncio
import itertools
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from contextlib import ExitStack
from pathlib import Path, PurePosixPath
from statistics import median
from typing import Any

import psutil

from kpd.client import DaemonError, ask
from kpd.hosts.host import Host, JobSpec
from kpd.hosts.ssh.transport import Ssh
from kpd.model.events import Event
from kpd.model.facts.runs import RunEnded
from kpd.subscription import Client
from kpd.workspace.paths import Workspace
from tests.support.hosts.remote_box import Box, box
from tests.support.hosts.slow_pipe import proxy
from tests.support.hosts.sshd import ssh_config, sshd

DELAYS_MS = (0, 20, 80)
CLEAN_SHELL = "SHLVL=2"  # keeps bash from reading a ~/.bashrc, which only OpenSSH's ways would pay for each time
COLD_EVERY = 4  # a cold connection is slow: it takes only every fourth turn
IDLE_HOSTS, IDLE_S = 16, 30.0
WORKING_HOSTS, ITERATIONS = 8, 3
SCALE = Path(__file__).parent.parent / "tests" / "data" / "tasks" / "scale"


def main() -> None:
    repetitions = int(sys.argv[1]) if len(sys.argv) > 1 else 100
    with tempfile.TemporaryDirectory(prefix="kpd-bench-") as folder:
        found = {
            "machine": f"{platform.system()} {platform.machine()}, Python {sys.version.split()[0]}",
            "short_command": asyncio.run(short_command(Path(folder) / "short", repetitions)),
            "idle": many(Path(folder) / "idle", IDLE_HOSTS, idle),
            "working": many(Path(folder) / "working", WORKING_HOSTS, working),
        }
    sys.stdout.write(json.dumps(found, indent=2) + "\n")


async def short_command(folder: Path, repetitions: int) -> dict[str, Any]:
    """Milliseconds for `true` on a host, and what kpd's way is of the others'."""
    found = {}
    with sshd(folder, SetEnv=CLEAN_SHELL) as server:
        async with proxy(server.port) as network:
            alias = f"[127.0.0.1]:{server.port}"
            config = ssh_config(folder / "config", server, box={"Port": network.port, "HostKeyAlias": alias})
            host = Host("box", PurePosixPath(folder / "host"), Ssh("box", config_files=[config]))
            await host.connect()
            ssh = ["ssh", "-F", str(config)]
            master = [*ssh, "-S", str(folder / "m"), "-o", "BatchMode=yes"]
            await run(*master, "-M", "-f", "-N", "-o", "ControlPersist=600", "box")
            numbers = itertools.count()
            ways: dict[str, Callable[[], Awaitable[Any]]] = {
                "kpd_run": lambda: host.run("true", 10.0),
                "kpd_job": lambda: host.job(JobSpec(f"true{next(numbers)}", "true", 10.0)),
                "controlmaster": lambda: run(*master, "box", "true"),
                "cold_ssh": lambda: run(*ssh, "-o", "ControlPath=none", "box", "true"),
            }
            for delay in DELAYS_MS:
                network.delay_s = delay / 2000
                times: dict[str, list[float]] = {way: [] for way in ways}
                for turn in range(repetitions):
                    for way, act in ways.items():
                        if way != "cold_ssh" or turn % COLD_EVERY == 0:
                            begun = time.perf_counter()
                            await act()
                            times[way].append(1e3 * (time.perf_counter() - begun))
                middle = {way: median(took) for way, took in times.items()}
                found[f"+{delay} ms"] = {
                    **{f"{way}_ms": round(ms, 2) for way, ms in middle.items()},
                    "run_of_controlmaster": round(middle["kpd_run"] / middle["controlmaster"], 3),
                    "job_of_controlmaster": round(middle["kpd_job"] / middle["controlmaster"], 3),
                    "cold_of_run": round(middle["cold_ssh"] / middle["kpd_run"], 1),
                    "cold_of_job": round(middle["cold_ssh"] / middle["kpd_job"], 1),
                }
            network.delay_s = 0.0
            await run(*master, "-O", "exit", "box")
            await host.close()
    return found


async def run(*command: str) -> None:
    child = await asyncio.create_subprocess_exec(
        *command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    if await child.wait() != 0:
        raise RuntimeError(f"{' '.join(command)} failed")


def many(folder: Path, count: int, measure: Callable[[Workspace, psutil.Process], dict[str, Any]]) -> dict[str, Any]:
    """A real daemon with so many hosts, each behind its own connection."""
    root = folder / "workspace"
    (root / "tasks").mkdir(parents=True)
    names = [f"h{number:02}" for number in range(count)]
    with ExitStack() as stack:
        here = stack.enter_context(box(folder, "box"))
        with (here.home / ".ssh" / "config").open("a") as config:
            config.write(aliases(here, names))
        tables = []
        for name in names:
            task = root / "tasks" / name
            shutil.copytree(SCALE, task)
            toml = task / "task.toml"
            toml.write_text(toml.read_text().replace('"scale"', f'"{name}"'))
            # One folder of locks each: as far as the daemon can see they are different machines.
            tables.append(f'[hosts.{name}]\ntransport = "ssh"\naddress = "{name}"\nleases = "{folder}/leases-{name}"\n')
        (root / "config.toml").write_text("\n".join(tables))
        workspace = Workspace(root.resolve())
        daemon = subprocess.Popen(
            [sys.executable, "-m", "kpd.cli.main", "-w", str(root), "daemon"],
            env={**os.environ, "HOME": str(here.home)},
        )
        try:
            until(
                lambda: sum(card["link"] == "up" for card in status(workspace).get("hosts", {}).values()) == count + 1
            )
            return measure(workspace, psutil.Process(daemon.pid))
        finally:
            daemon.terminate()
            daemon.wait(30)


def aliases(here: Box, names: list[str]) -> str:
    options = {**here.server.host_options, "Port": here.port, "HostKeyAlias": f"[127.0.0.1]:{here.port}"}
    del options["UserKnownHostsFile"]
    return f"Host {' '.join(names)}\n" + "".join(f"  {key} {value}\n" for key, value in options.items())


def idle(workspace: Workspace, daemon: psutil.Process) -> dict[str, Any]:
    time.sleep(3)
    before = daemon.cpu_times()
    time.sleep(IDLE_S)
    after = daemon.cpu_times()
    spent = after.user + after.system - before.user - before.system
    return {
        "hosts": IDLE_HOSTS,
        "daemon_rss_mb": round(daemon.memory_info().rss / 1e6, 1),
        "daemon_cpu_pct": round(100 * spent / IDLE_S, 2),
    }


def working(workspace: Workspace, daemon: psutil.Process) -> dict[str, Any]:
    return asyncio.run(followed(workspace, daemon))


async def followed(workspace: Workspace, daemon: psutil.Process) -> dict[str, Any]:
    """A run on every host at once, followed by a client that must see every event."""
    begun = time.perf_counter()
    async with Client(workspace.socket, "benchmark") as client:
        for number in range(WORKING_HOSTS):
            name = f"h{number:02}"
            await client.command("run", task=name, host=name, iterations=ITERATIONS, patience=ITERATIONS)
        seqs: list[int] = []
        ended: dict[str, str] = {}
        async for message in client.messages():
            if isinstance(message, Event):
                seqs.append(message.seq)
                if isinstance(message.fact, RunEnded):
                    ended[message.fact.run] = message.fact.outcome
            if len(ended) == WORKING_HOSTS:
                break
    gaps = sum(after - before - 1 for before, after in itertools.pairwise(seqs))
    return {
        "hosts": WORKING_HOSTS,
        "iterations_a_run": ITERATIONS,
        "seconds": round(time.perf_counter() - begun, 1),
        "events": len(seqs),
        "events_dropped": gaps,
        "runs_ended": sorted(ended.values()),
        "daemon_rss_mb": round(daemon.memory_info().rss / 1e6, 1),
    }


def status(workspace: Workspace) -> dict[str, Any]:
    try:
        found: dict[str, Any] = ask(workspace.socket, "query", "status")
    except DaemonError:
        return {}
    return found


def until(ready: Callable[[], bool]) -> None:
    give_up = time.monotonic() + 120
    while not ready():
        if time.monotonic() > give_up:
            raise TimeoutError("the hosts did not come up")
        time.sleep(0.2)


if __name__ == "__main__":
    main()
