"""What comes of callables that are no kernels on a GPU, and is the next one judged as if they had never been?

    python benchmarks/python_bad.py [--python PATH] [--seconds 90] [--only NAME …]

Checks broken candidates of rmsnorm_triton as an iteration does, and a right one after them. Those that hang take as
long as a kernel may compile. Prints JSON lines.
"""

import argparse
import asyncio
import json
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import PurePosixPath

from python_tasks import checked, silent

from kpd.hosts.host import Host
from kpd.hosts.local import Local
from kpd.hosts.preflight.cards import devices
from kpd.measure.catalogue import prepare
from kpd.workspace.host_tables import HostConfig
from kpd.workspace.run_files import read_files
from kpd.workspace.shipped import shipped
from kpd.workspace.task import load_task

SHADOW = "\n\n_plain = rmsnorm\n\n\ndef rmsnorm(x, weight, eps):\n    "
BAD = {
    "takes all memory": "kept.append(torch.empty(1 << 40, device='cuda'))",
    "writes where nothing is": "torch.as_strided(x, (1,), (1,), 1 << 40).zero_()\n    return _plain(x, weight, eps)",
    "crashes": "__import__('ctypes').string_at(0)",
    "hangs on the device": "torch.cuda._sleep(1 << 50)\n    return _plain(x, weight, eps)",
    "hangs on the host": "while True: pass",
    "says megabytes": "__import__('sys').stderr.write('y' * 5_000_000)\n    raise ValueError('z' * 5_000_000)",
    "leaves a thread": "import threading, time\n"
    "    threading.Thread(target=lambda: time.sleep(600), daemon=True).start()\n    return _plain(x, weight, eps)",
    "replaces what waits": "torch.cuda.synchronize = lambda *_: None\n    return _plain(x, weight, eps)",
    "works on a stream of its own": "side = torch.cuda.Stream()\n    with torch.cuda.stream(side):\n"
    "        torch.cuda._sleep(1 << 22)\n        return _plain(x, weight, eps)",
    "is right": "return _plain(x, weight, eps)",
}


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--seconds", type=float, default=90.0)
    parser.add_argument("--only", action="append", default=[], choices=BAD)
    args = parser.parse_args()
    begun = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="kpd-python-") as folder:
        host = Host("local", PurePosixPath(folder), Local(), leases=f"{folder}/leases")
        await host.connect()
        try:
            task = load_task(shipped("tasks") / "rmsnorm_triton")
            task = replace(task, build=replace(task.build, python=args.python))
            device = next(one for one in devices(await host.probe(), HostConfig()) if one.kind == "gpu")
            bench = await prepare(host, task, device, silent)
            own = read_files(task.folder, task.editable)
            for name, body in BAD.items():
                wanted = not args.only or name in args.only
                if name != "is right" and not (wanted and time.monotonic() - begun < args.seconds):
                    continue
                source = own["kernel.py"] + f"\n\nkept = []{SHADOW}{body}\n".encode()
                at = time.monotonic()
                _, row = await checked(bench, {**own, "kernel.py": source}, name.replace(" ", "-"))
                print(json.dumps({**row, "seconds": round(time.monotonic() - at, 1)}), flush=True)
        finally:
            await host.close()


if __name__ == "__main__":
    asyncio.run(main())
