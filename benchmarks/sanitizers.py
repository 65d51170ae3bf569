"""What do the tools of compute-sanitizer say of honest kernels, and of kernels with a fault that they should see?

    python benchmarks/sanitizers.py [--class honest] [--task NAME] [--only NAME] [--tool overflow] [--seconds 250]

Each CUDA kernel of tests/cheats of these classes is built, and looked at by every tool as an accepted candidate is;
kernels for the same task are built at the same time. Prints one JSON object; progress goes to stderr.
"""

import argparse
import asyncio
import json
import sys
import tempfile
import time
from collections import Counter, defaultdict
from pathlib import PurePosixPath

from cheat_corpus import Kernel, load
from msgspec.structs import asdict
from nulls import found_device, silent

from kpd.engine.sanitize import MOST_S
from kpd.hosts.host import Host
from kpd.hosts.local import Local
from kpd.measure.bench import Bench
from kpd.measure.catalogue import prepare
from kpd.measure.compiling import BuildError
from kpd.model.sanitizer import TOOLS, Tool
from kpd.workspace.run_files import read_files
from kpd.workspace.shipped import shipped
from kpd.workspace.task import load_task

Row = dict[str, object]


class NoPlaces(dict[str, str]):
    """Stands for the folders that an attack would write to: there are none here."""

    def __missing__(self, place: str) -> str:
        return f"/nonexistent/{place}"


async def of_task(
    host: Host, name: str, kernels: list[Kernel], tools: tuple[Tool, ...], until: float, errors: Counter[str]
) -> list[Row]:
    """Look at the kernels of one task, one after another, and count errors by tool; none is begun after `until`."""
    task = load_task(shipped("tasks") / name)
    bench = await prepare(host, task, await found_device(host, task), silent)
    original = read_files(task.folder, task.editable)[task.editable[0]].decode()
    built = await asyncio.gather(
        *(_built(bench, kernel, task.editable, original) for kernel in kernels), return_exceptions=True
    )
    rows: list[Row] = []
    for kernel, job in zip(kernels, built, strict=True):
        if time.monotonic() > until:
            break
        row: Row = {"kernel": kernel.name, "class": kernel.kind, "task": name}
        if isinstance(job, BuildError):
            row["failed"] = str(job)
        elif isinstance(job, BaseException):
            raise job
        else:
            for tool in tools:
                report = await bench.sanitize(job, tool, f"{tool}-{kernel.name}", MOST_S, silent)
                row[tool] = asdict(report)
                errors[tool] += bool(report.errors)
        rows.append(row)
        print(json.dumps(row), file=sys.stderr, flush=True)
    return rows


async def _built(bench: Bench, kernel: Kernel, editable: tuple[str, ...], original: str) -> str:
    files = {path: text.encode() for path, text in kernel.files(NoPlaces(), editable, original).items()}
    return (await bench.build(await bench.stage(files), files, silent)).job


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--class", dest="kinds", action="append", help="of this class only (default: honest)")
    parser.add_argument("--task", dest="tasks", action="append", help="for this task only")
    parser.add_argument("--only", help="of this name only")
    parser.add_argument("--tool", dest="tools", action="append", choices=TOOLS, help="by this one only")
    parser.add_argument("--seconds", type=float, default=250.0, help="begin none after this time")
    args = parser.parse_args()
    until = time.monotonic() + args.seconds
    tasks: dict[str, list[Kernel]] = defaultdict(list)
    for kernel in load("cuda"):
        wanted = kernel.kind in (args.kinds or ["honest"]) and args.only in (None, kernel.name)
        if wanted and kernel.task in (args.tasks or [kernel.task]):
            tasks[kernel.task].append(kernel)
    errors: Counter[str] = Counter()
    with tempfile.TemporaryDirectory(prefix="kpd-sanitizers-") as folder:
        host = Host("local", PurePosixPath(folder), Local(), leases=f"{folder}/leases")
        await host.connect()
        try:
            rows = []
            for name, kernels in tasks.items():
                rows += await of_task(host, name, kernels, tuple(args.tools or TOOLS), until, errors)
            device = (await host.probe())["gpus"][0].name
        finally:
            await host.close()
    print(json.dumps({"device": device, "kernels": len(rows), "with_errors": errors, "rows": rows}, indent=1))


if __name__ == "__main__":
    asyncio.run(main())
