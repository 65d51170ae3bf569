"""All of benchmarks/cheats.py in a few minutes: its parts at the same time, each on CPUs and on a GPU of its own.

    python benchmarks/cheat_shards.py FILE --cpus 0-7,8-15 [--gpus 0,1] [--seconds N] [--language cuda] …

Each range of `--cpus` gets one part, pinned to it: kpd measures on the last CPU of those that it may use, and compiles
on the others. With `--gpus` part I uses the GPU at place I. Parts share no lease, no folder and no name of what
attacks leave, so that none waits for another or is blamed for it. After `--seconds` none is begun, a minute later all
are ended; what there is by then is put together in FILE. Other options go to cheats.py. Progress goes to stderr.
"""

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from cheat_results import Result, devices, told

CHEATS = Path(__file__).with_name("cheats.py")
LATE_S = 60.0
"""How long a kernel that was begun in time may take before its part is ended."""


def started(folder: Path, part: int, args: argparse.Namespace, others: list[str]) -> "subprocess.Popen[bytes]":
    """Start a part in a session of its own; what it says goes to a file beside its results."""
    ranges = args.cpus.split(",")
    command = ["taskset", "-c", ranges[part], sys.executable, str(CHEATS), "--sharded", f"{part}/{len(ranges)}"]
    command += ["--seconds", str(args.seconds), "--out", str(folder / f"{part}.json"), *others]
    if args.gpus:
        command += ["--gpu", args.gpus.split(",")[part]]
    with (folder / f"{part}.log").open("wb") as log:
        return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=log, start_new_session=True)


def finished(parts: "list[subprocess.Popen[bytes]]", seconds: float) -> list[int]:
    """Wait until all parts have ended, but no longer than that; end the others. Return those that did not end well.

    Where this process is ended, so are they.
    """
    until = time.monotonic() + seconds
    try:
        for part in parts:
            try:
                part.wait(max(until - time.monotonic(), 0.0))
            except subprocess.TimeoutExpired:
                os.killpg(part.pid, signal.SIGKILL)
                part.wait()
    except (SystemExit, KeyboardInterrupt):
        for part in parts:
            part.terminate()
        for part in parts:
            part.wait()
        raise
    return [number for number, part in enumerate(parts) if part.returncode]


def merged(folder: Path, parts: int) -> dict[str, Any]:
    """Put the results of the parts together, in their order."""
    kept = [json.loads(path.read_text()) for part in range(parts) if (path := folder / f"{part}.json").exists()]
    rows = [{key: value for key, value in row.items() if key != "verdict"} for one in kept for row in one["each"]]
    return told([Result(**row) for row in rows], sum(one["asked"] for one in kept))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path, metavar="FILE")
    parser.add_argument("--cpus", required=True, help="ranges of CPUs, with commas between them: one for each part")
    parser.add_argument("--gpus", default="", help="nvidia-smi's indices, with commas between them: one for each part")
    parser.add_argument("--seconds", type=float, default=450.0, help="begin none after this time")
    args, others = parser.parse_known_args()
    begun = time.monotonic()
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
    with tempfile.TemporaryDirectory(prefix="kpd-cheat-shards-") as name:
        folder = Path(name)
        parts = [started(folder, part, args, others) for part in range(len(args.cpus.split(",")))]
        failed = finished(parts, args.seconds + LATE_S)
        figures = merged(folder, len(parts))
        logs = "".join(f"== part {part}\n{(folder / f'{part}.log').read_text()}" for part in range(len(parts)))
    sys.stderr.write(logs)
    about = {
        "device": devices(args.gpus), "command": " ".join(["python", *sys.argv]), "parts": len(parts),
        "did_not_end": failed, "seconds": round(time.monotonic() - begun),
    }  # fmt: skip
    args.file.write_text(json.dumps(about | figures, indent=1) + "\n")
    print(json.dumps({key: value for key, value in (about | figures).items() if key != "each"}, indent=1))


if __name__ == "__main__":
    main()
