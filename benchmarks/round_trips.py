"""What distance costs an iteration: its remote part (stage, build, check, time) by the engine's steps, near and far.

    python benchmarks/round_trips.py [repetitions]

Prints one JSON object; progress goes to stderr. The host is this machine behind sshd on loopback, through a network
that adds 0 or 100 ms to a round trip, in turn. Needs OpenSSH's sshd.
"""

import asyncio
import itertools
import json
import platform
import sys
import tempfile
from collections import Counter
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from statistics import median
from typing import Any

from kpd.agents.space import write_point
from kpd.hosts.errors import HostError
from kpd.hosts.host import Host
from kpd.hosts.ssh.transport import Ssh
from kpd.measure.catalogue import prepare
from kpd.measure.judge import judge
from kpd.measure.samples import samples_from_json
from kpd.model.hosts import Device
from kpd.model.verdicts import Verdict
from kpd.workspace.run_files import read_files
from kpd.workspace.shipped import shipped
from kpd.workspace.task import load_task
from tests.support.hosts.remote_part import Counted, Iterations, remote_part
from tests.support.hosts.slow_pipe import proxy
from tests.support.hosts.sshd import ssh_config, sshd

ADDED_MS = (0, 100)
REPETITIONS = 10
BUSY_S = 5.0
MIN_GAIN_PCT = 2.0
POINT = {"VEC": "4", "TILE_ROWS": "16", "TILE_COLS": "16", "flags": "-O3 -march=native"}
"""A good one of the transpose; without it the kernel that ships is several times slower."""


@dataclass
class Found:
    """What one kind of candidate took at one distance."""

    seconds: list[dict[str, float]] = field(default_factory=list)
    requests: list[list[str]] = field(default_factory=list)
    verdicts: list[Verdict] = field(default_factory=list)

    def summary(self) -> dict[str, Any]:
        by_step = {step: median(took[step] for took in self.seconds) for step in self.seconds[0]}
        return {
            "median_s": round(median(sum(took.values()) for took in self.seconds), 3),
            "median_s_by_step": {step: round(seconds, 3) for step, seconds in by_step.items()},
            "round_trips_most": max(map(len, self.requests)),
            "verdicts": Counter(verdict.word for verdict in self.verdicts),
            "median_processes": median(verdict.processes for verdict in self.verdicts),
        }


async def main() -> None:
    repetitions = int(sys.argv[1]) if len(sys.argv) > 1 else REPETITIONS
    task = load_task(shipped("tasks") / "transpose_cpu")
    slow = read_files(task.folder, task.editable)
    fast = write_point(slow, POINT)
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="kpd-bench-")))
        server = stack.enter_context(sshd(folder))
        async with proxy(server.port) as network:
            config = ssh_config(folder / "config", far={**server.host_options, "Port": network.port})
            pipe = Counted(Ssh("far", accept_new=True, python=sys.executable, config_files=[config]))
            host = Host("far", PurePosixPath(folder / "host"), pipe, leases=str(folder / "leases"))
            await host.connect()
            bench = await prepare(host, task, Device("cpu", "cpu", "a CPU"), silent)
            kinds = {"faster": (slow, fast), "slower": (fast, slow), "no gain": (fast, fast)}
            runs = {
                kind: Iterations(folder / kind, host, bench, task, f"r{number}") for number, kind in enumerate(kinds)
            }
            found = {(kind, added): Found() for kind in kinds for added in ADDED_MS}
            for run in runs.values():
                stack.enter_context(closing(run))
            for kind, (incumbent, _) in kinds.items():
                await patiently(runs[kind], pipe, incumbent, Found())
            for number, (kind, added) in itertools.product(range(repetitions), found):
                network.delay_s = added / 2000
                mark = f"/* {kind}, {added} ms, {number} */\n".encode()
                files = {**kinds[kind][1], "kernel.c": kinds[kind][1]["kernel.c"] + mark}
                await patiently(runs[kind], pipe, files, found[kind, added])
                print(
                    f"{kind}, {added} ms: {sum(found[kind, added].seconds[-1].values()):.2f} s",
                    file=sys.stderr,
                    flush=True,
                )
            network.delay_s = 0
            await host.close()
    print(json.dumps({
        "machine": f"{platform.system()} {platform.machine()}, Python {sys.version.split()[0]}",
        "task": task.name,
        "repetitions": repetitions,
        "added_to_a_round_trip_ms": {
            added: {kind: found[kind, added].summary() for kind in kinds} for added in ADDED_MS
        },
    }, indent=2))  # fmt: skip


async def patiently(run: Iterations, pipe: Counted, files: dict[str, bytes], found: Found) -> None:
    """One iteration's remote part; another one when other work on this machine disturbs it too much."""
    for attempt in itertools.count():
        mark = f"/* attempt {attempt} */\n".encode()
        at = run.attempt({**files, "kernel.c": files["kernel.c"] + mark})
        try:
            with pipe.waited_for() as asked:
                seconds = await remote_part(at)
        except HostError as err:
            if err.kind != "busy":
                raise
            print(err, file=sys.stderr, flush=True)
            await asyncio.sleep(BUSY_S)
            continue
        found.seconds.append(seconds)
        found.requests.append(asked)
        found.verdicts.append(judge(samples_from_json(at.folder.read("timing.json")), MIN_GAIN_PCT))
        return


def silent(text: str) -> None:
    """What compilers say is of no interest here."""


if __name__ == "__main__":
    asyncio.run(main())
