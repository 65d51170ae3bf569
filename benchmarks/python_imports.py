"""How long do check, contest, repeats and audits of a callable take, by how often its libraries are imported?

    python benchmarks/python_imports.py --python PATH [--rounds 3] [--ways apart joined]
    python benchmarks/python_imports.py --kind gpu --ways joined [--tasks tasks/matmul_triton …]

`apart`: each step is a job of its own, and each process of a contest imports torch. `joined`: check, contest, repeats
and audits are one job; their processes are forked from one that has imported torch, as on a GPU. A contest has as many
processes as one with a clear gain. PATH is a Python with torch, for a small task; others have their own. The ways take
turns. Prints one JSON object with the seconds of each step by task and way, medians over the rounds, and what the last
audits say of their time. Both kernels are the task's own, so what the audits say of a gain is their noise.
"""

import argparse
import asyncio
import json
import sys
import tempfile
import time
from contextlib import aclosing
from dataclasses import replace
from pathlib import Path, PurePosixPath
from statistics import median

from kpd.hosts.host import Host
from kpd.hosts.local import Local
from kpd.hosts.preflight.cards import devices
from kpd.measure.audits import summary
from kpd.measure.bench import BuiltObject
from kpd.measure.catalogue import prepare
from kpd.measure.driver.bench import DriverBench
from kpd.measure.judge import CLEAR
from kpd.workspace.host_tables import HostConfig
from kpd.workspace.run_files import read_files
from kpd.workspace.task import load_task

FILES = {
    "task.toml": """\
[task]
name = "scaled"
language = "python"
editable = ["kernel.py"]

[build]
python = "{python}"

[check]
seeds = 1
rtol = 1e-5
atol = 1e-6
limit_s = 300

[bench]
quads = 8
limit_s = 120
""",
    "harness.py": """\
import torch

OUTPUTS = ("y",)
CASES = {"rows": {"rows": 64, "cols": 512}, "long": {"rows": 8, "cols": 4096}}


def inputs(dims, draw):
    return {"x": torch.from_numpy(draw.values(dims["rows"], dims["cols"]))}


def truth(x):
    x = x.double()
    return x / x.pow(2).mean(1, keepdim=True).add(1e-6).sqrt()
""",
    "kernel.py": "def kernel(x):\n    return x * x.pow(2).mean(1, keepdim=True).add(1e-6).rsqrt()\n",
}


def written(folder: Path, python: str) -> Path:
    """Write the task."""
    folder.mkdir()
    for name, text in FILES.items():
        (folder / name).write_text(text.replace("{python}", python))
    return folder


async def built(bench: DriverBench, note: str) -> BuiltObject:
    """Build the task's own kernel with a comment more."""
    files = read_files(bench.task.folder, bench.task.editable)
    files = {name: text + f"# {note}\n".encode() if name.endswith(".py") else text for name, text in files.items()}
    return await bench.build(await bench.stage(files), files, silent)


def silent(text: str) -> None:
    pass


async def steps(bench: DriverBench, way: str, note: str) -> dict[str, float]:
    """Take the steps of a candidate that is accepted; return their seconds, and what the audits say of a gain."""
    incumbent, candidate = await built(bench, "incumbent"), await built(bench, note)

    async def own() -> BuiltObject:
        return incumbent

    await bench.check(incumbent.job, f"incumbent-{note}", silent)  # as it was, in a run: what it compiled is kept
    marks = [time.monotonic()]
    if way == "joined":
        await bench.check(candidate.job, f"check-{note}", silent, own)
    else:
        await bench.check(candidate.job, f"check-{note}", silent)
    marks.append(time.monotonic())
    contest = []
    joined = way == "joined"
    taken = bench.time(incumbent.job, candidate.job, f"time-{note}", 0, 24, silent, leave=lambda: joined)
    async with aclosing(taken) as samples:
        async for sample in samples:
            contest.append(sample)
            if len(contest) == CLEAR:
                break
    marks.append(time.monotonic())
    await bench.repeat(candidate.job, f"repeats-{note}", silent, incumbent.job)
    marks.append(time.monotonic())
    audit = await bench.audit(incumbent.job, candidate.job, f"audit-{note}", silent)
    marks.append(time.monotonic())
    told = summary(audit, contest)
    names = ("check_s", "contest_s", "repeats_s", "audits_s")
    found = {name: round(after - before, 2) for name, before, after in zip(names, marks, marks[1:], strict=False)}
    found |= {"fresh_s": round(audit.fresh_s, 2), "alone_s": round(audit.alone_s, 2)}
    found |= {"fresh_pct": round(told.fresh.pct, 1), "alone_pct": round(told.alone.pct, 1)}
    return {**found, "accepted_s": round(marks[-1] - marks[2], 2), "all_s": round(marks[-1] - marks[0], 2)}


async def spent(bench: DriverBench, note: str) -> list[dict[str, float]]:
    """Return where the time of each process has gone: repeats, fresh inputs, either kernel alone."""
    first = 1 + CLEAR if bench.harness.forks else 0
    job = f"check-{note}" if bench.harness.forks else f"repeats-{note}"
    said = await bench.host.read(f"{bench.host.root}/jobs/{job}/stdout", 1 << 24)
    return [json.loads(line).get("spent", {}) for line in said.splitlines()][first : first + 3]


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--kind", choices=("cpu", "gpu"), default="cpu")
    parser.add_argument("--tasks", nargs="+", type=Path, default=[], help="folders; none: a small task in torch")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--ways", nargs="+", default=["apart", "joined"], choices=["apart", "joined"])
    args = parser.parse_args()
    results = []
    with tempfile.TemporaryDirectory(prefix="kpd-python-") as folder:
        host = Host("local", PurePosixPath(folder, "host"), Local(), leases=f"{folder}/leases")
        await host.connect()
        try:
            device = next(one for one in devices(await host.probe(), HostConfig()) if one.kind == args.kind)
            for place in args.tasks or [written(Path(folder, "scaled"), args.python)]:
                bench = await prepare(host, load_task(place), device, silent)
                assert isinstance(bench, DriverBench)
                taken: dict[str, list[dict[str, float]]] = {way: [] for way in args.ways}
                for number in range(args.rounds):
                    for way in args.ways:
                        bench.harness = replace(bench.harness, forks=way == "joined")
                        note = f"{place.name}-{way}{number}"
                        taken[way].append(await steps(bench, way, note))
                        print(note, taken[way][-1], file=sys.stderr, flush=True)
                where = await spent(bench, note)
                medians = {
                    way: {name: median(one[name] for one in rows) for name in rows[0]} for way, rows in taken.items()
                }
                results.append({"task": place.name, "medians": medians, "taken": taken, "spent": where})
        finally:
            await host.close()
    print(json.dumps({"kind": args.kind, "processes": CLEAR, "rounds": args.rounds, "results": results}))


if __name__ == "__main__":
    asyncio.run(main())
