"""Observes one run of a program on this machine's GPU, and prints what kpd saw as JSON.

    python benchmarks/observe.py KERNEL 'COMMAND' [--source FILE] [--cwd FOLDER] [--limit SECONDS] [--endless]
        [--launches N] [--write OBSERVED.json]

`--source` is the kernel's file, which names its parameters. Prints the configurations that stand for all launches, the
coverage, what could not be had, and how long it took. Needs CUDA with CUPTI; without a GPU it says what is missing.
"""

import argparse
import asyncio
import json
import sys
import tempfile
import time
from pathlib import Path, PurePosixPath
from typing import Any

from kpd.hosts.host import Host
from kpd.hosts.local import Local
from kpd.production.observe.errors import ObserveError
from kpd.production.observe.observation import Observation, as_json, configs, is_current, key, write
from kpd.production.observe.step import ObservedProgram, observe
from kpd.source.kernels import Kernel


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kernel")
    parser.add_argument("command")
    parser.add_argument("--source", type=Path)
    parser.add_argument("--cwd", default=str(Path.cwd()))
    parser.add_argument("--limit", type=float, default=60)
    parser.add_argument("--endless", action="store_true")
    parser.add_argument("--launches", type=int, default=10_000)
    parser.add_argument("--write", type=Path)
    args = parser.parse_args()
    program = ObservedProgram(
        args.command, args.cwd, args.kernel, args.limit, endless=args.endless, launches=args.launches
    )
    began = time.monotonic()
    source = _kernel(args.source, args.kernel)
    text = b"" if args.source is None else args.source.read_bytes()
    current = key(args.command, args.kernel if source is None else source.signature, text)
    if args.write and is_current(args.write, current):
        print(json.dumps({"current": str(args.write)}))
        return
    try:
        seen = asyncio.run(_observed(program, source, current))
    except ObserveError as err:
        print(json.dumps({"kind": err.kind, "message": err.message, "remedy": err.remedy}, indent=1))
        sys.exit(3)
    if args.write:
        write(args.write, seen)
    print(json.dumps({"seconds": round(time.monotonic() - began, 2), **_brief(seen)}, indent=1))


def _kernel(source: Path | None, wanted: str) -> Kernel | None:
    if source is None:
        return None
    from kpd.source.kernels import kernels
    from kpd.source.source import Source

    named = wanted.partition("<")[0]
    return next((one for one in kernels(Source.of(source.read_text())) if named in (one.name, one.qualified)), None)


async def _observed(program: ObservedProgram, source: Kernel | None, current: str) -> Observation:
    with tempfile.TemporaryDirectory(prefix="kpd-observe-") as folder:
        host = Host("local", PurePosixPath(folder), Local())
        await host.connect()
        try:
            return await observe(host, program, source, current)
        finally:
            await host.close()


def _brief(seen: Observation) -> dict[str, Any]:
    whole = as_json(seen)
    representatives = configs(seen) if seen.launches else ()
    return {
        "kernel": whole["kernel"],
        **whole["capture"],
        "covered": sum(one.share for one in representatives),
        "configs": [
            {
                "name": one.name, "grid": list(one.grid), "block": list(one.block), "launches": one.count,
                "share": one.share, "target_us": one.target_us, "scalars": dict(one.scalars),
                "varies": list(one.varies),
            }
            for one in representatives
        ],
        "first": {**whole["launches"][0], **whole["details"][0]} if seen.launches else {},
    }  # fmt: skip


if __name__ == "__main__":
    main()
