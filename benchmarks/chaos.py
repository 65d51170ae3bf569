"""Does a lost connection lose a job, or run one twice? And how soon after the network is back does work go on?

    python benchmarks/chaos.py [cuts]

Prints one JSON object. Short iterations (stage, build, check, time) run one after the other in several lanes over one
ssh connection through a network that is cut at random moments: at once back, down for up to four seconds, or torn in
the middle of a message. Every job writes its name into a file on the host when it starts, and a known output; at the
end each must be there once, and every output whole. Needs OpenSSH's sshd on this machine.
"""

import asyncio
import hashlib
import json
import platform
import random
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from statistics import median
from typing import Any

from kpd.hosts.host import Host, JobSpec
from kpd.hosts.job import JobResult
from kpd.hosts.ssh.transport import Ssh
from tests.support.hosts.slow_pipe import Proxy, proxy
from tests.support.hosts.sshd import ssh_config, sshd

LANES = 3
DOWN_S = 4.0  # the longest outage
BETWEEN_S = (0.2, 1.0)  # between an outage's end and the next cut
SEED = 7
LINES = 400  # of output of the job that stands for timing


@dataclass
class Record:
    """What was asked for and what came back."""

    asked: list[str] = field(default_factory=list)
    iterations: int = 0
    wrong: list[str] = field(default_factory=list)
    recoveries: list[float] = field(default_factory=list)
    in_flight: int = 0  # cuts that met a job under way


def main() -> None:
    cuts = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    with tempfile.TemporaryDirectory(prefix="kpd-chaos-") as folder:
        found = asyncio.run(chaos(Path(folder), cuts))
    sys.stdout.write(json.dumps(found, indent=2) + "\n")


async def chaos(folder: Path, cuts: int) -> dict[str, Any]:
    chance = random.Random(SEED)
    record = Record()
    with sshd(folder / "servers", MaxSessions=1) as server:
        async with proxy(server.port) as network:
            config = ssh_config(
                folder / "config", server, box={"Port": network.port, "HostKeyAlias": f"[127.0.0.1]:{server.port}"}
            )
            host = Host("box", PurePosixPath(folder / "host"), Ssh("box", config_files=[config]))
            await host.connect()
            ending = asyncio.Event()
            began = time.perf_counter()
            lanes = [asyncio.create_task(lane(host, name, record, ending)) for name in range(LANES)]
            for _ in range(cuts):
                await asyncio.sleep(chance.uniform(*BETWEEN_S))
                record.in_flight += bool(await asyncio.wait_for(host.running(), 60))
                await outage(network, chance)
                back = time.perf_counter()
                await host.running()
                record.recoveries.append(time.perf_counter() - back)
            ending.set()
            await asyncio.gather(*lanes)
            seconds = time.perf_counter() - began
            await host.close()
    ran = Counter((folder / "host" / "ran").read_text().split())
    slow = sorted(record.recoveries)
    return {
        "machine": f"{platform.system()} {platform.machine()}, Python {sys.version.split()[0]}",
        "cuts": cuts,
        "cuts_that_met_a_running_job": record.in_flight,
        "seconds": round(seconds, 1),
        "iterations": record.iterations,
        "jobs": len(record.asked),
        "lost": sum(ran[name] == 0 for name in record.asked),
        "run_twice": sum(count > 1 for count in ran.values()),
        "wrong_output": len(record.wrong),
        "recovery_median_s": round(median(slow), 3),
        "recovery_p95_s": round(slow[int(0.95 * len(slow))], 3),
        "recovery_max_s": round(slow[-1], 3),
    }


async def outage(network: Proxy, chance: random.Random) -> None:
    """One of the ways in which a network fails."""
    kind = chance.choice(("cut", "down", "down", "torn"))
    if kind == "torn":
        network.cut_after(chance.randrange(1, 20_000))
        await asyncio.sleep(chance.uniform(0, 1))
        network.cut()
        return
    network.down = kind == "down"
    network.cut()
    if kind == "down":
        await asyncio.sleep(chance.uniform(0, DOWN_S))
        network.down = False


async def lane(host: Host, name: int, record: Record, ending: asyncio.Event) -> None:
    number = 0
    while not ending.is_set():
        number += 1
        await iteration(host, f"{name}.{number}", record)
        record.iterations += 1


async def iteration(host: Host, name: str, record: Record) -> None:
    content = hashlib.sha256(name.encode()).hexdigest().encode() * 200
    tree = await host.stage({"kernel.c": content})
    source = f"{host.root}/trees/{tree}/kernel.c"
    scripts = {
        "build": f"sha256sum < {source}",
        "check": "sleep 0.05; echo ok",
        "time": f"i=0; while [ $i -lt {LINES} ]; do echo {name} $i; i=$((i+1)); "
        "[ $((i % 40)) = 0 ] && sleep 0.05; done; true",
    }
    expected = {
        "build": hashlib.sha256(content).hexdigest().encode() + b"  -\n",
        "check": b"ok\n",
        "time": b"".join(f"{name} {n}\n".encode() for n in range(LINES)),
    }
    for step, script in scripts.items():
        id = f"{name}-{step}"
        record.asked.append(id)
        streamed = b""
        async for piece in host.follow(JobSpec(id, f"echo {id} >> {host.root}/ran\n{script}", 60.0)):
            if isinstance(piece, JobResult):
                if piece.rc != 0 or piece.stdout != expected[step] or streamed != expected[step]:
                    record.wrong.append(id)
            elif piece.stream == "stdout":
                streamed += piece.data


if __name__ == "__main__":
    main()
