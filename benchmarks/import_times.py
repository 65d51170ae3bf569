"""How long folders of PyTorch-like kernels take to import, and tasks in Python to check.

    python benchmarks/import_times.py [NAME …] [--rows N] [--repeats N] [--root FOLDER] [--device cpu|gpu]

Each of `folders` goes through `kpd task import`, in a fresh workspace; the task that it became and `rmsnorm_py`
go through `kpd task check`. Prints a JSON line for each, with the medians of its seconds, and as root of the CPU
seconds of all its processes (by a control group of its own). `--root` is a checkout of kpd, such as one of another
version. The host's `python3` needs torch.
"""

import argparse
import contextlib
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from tests.support.imports.folders import written
from tests.support.imports.torch_folders import folders

GROUP = Path("/sys/fs/cgroup/cpuacct/kpd-import-times")


@contextlib.contextmanager
def group() -> Iterator[bool]:
    """Make a control group that counts CPU time, if this user can. Return whether it is there."""
    try:
        GROUP.mkdir()
    except OSError:
        yield False
        return
    try:
        yield True
    finally:
        GROUP.rmdir()


def cpu_s() -> float | None:
    """Return the CPU seconds of the group's processes so far; None where there is no group."""
    usage = GROUP / "cpuacct.usage"
    return int(usage.read_text()) / 1e9 if usage.exists() else None


class TimedVerb(NamedTuple):
    """A verb that has run: its seconds, the CPU seconds of all its processes, and what it printed."""

    seconds: float
    cpu_s: float | None
    said: Any


def timed(root: Path, workspace: Path, *words: str) -> TimedVerb:
    """Run a verb of a checkout."""
    before, begun = cpu_s(), time.monotonic()
    enter = f'[ -d {GROUP} ] && echo $$ >{GROUP}/cgroup.procs; exec "$@"'
    command = [sys.executable, "-m", "kpd", *words, "-w", str(workspace), "--json"]
    made = subprocess.run(["sh", "-c", enter, "sh", *command], capture_output=True, text=True, cwd=root, check=False)
    spent = time.monotonic() - begun
    time.sleep(1.0)  # what it has left ends by itself
    if made.returncode != 0:
        raise SystemExit(f"{' '.join(words)} ended with {made.returncode}: {made.stderr[-2000:]}")
    after = cpu_s()
    return TimedVerb(spent, None if after is None or before is None else after - before, json.loads(made.stdout))


def row(what: str, name: str, runs: list[TimedVerb], notes: list[str]) -> dict[str, Any]:
    seconds = round(statistics.median(run.seconds for run in runs), 1)
    counted = [run.cpu_s for run in runs if run.cpu_s is not None]
    cpu = round(statistics.median(counted), 1) if counted else None
    return {"what": what, "task": name, "seconds": seconds, "cpu_s": cpu, "repeats": len(runs), "notes": notes}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--rows", type=int, default=2048, help="of 4096 elements each")
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("--root", type=Path, default=Path(__file__).resolve().parent.parent)
    parser.add_argument("--device", choices=("cpu", "gpu"), default="cpu")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="kpd-import-times-") as scratch, group():
        workspace = Path(scratch) / "workspace"
        subprocess.run([sys.executable, "-m", "kpd", "init", str(workspace)], check=True, capture_output=True)
        for name, files in folders(args.rows).items():
            if args.names and name not in args.names:
                continue
            folder, options = written(Path(scratch) / name, files), ["--device", args.device]
            runs = [
                timed(args.root, workspace, "task", "import", str(folder), "--as", f"{name}_{number}", *options)
                for number in range(args.repeats)
            ]
            print(json.dumps(row("import", name, runs, runs[-1].said["notes"])), flush=True)
            checked(args.root, workspace, f"{name}_0", args.repeats)
        if not args.names or "rmsnorm_py" in args.names:
            checked(args.root, workspace, "rmsnorm_py", args.repeats)
    return 0


def checked(root: Path, workspace: Path, task: str, repeats: int) -> None:
    runs = [timed(root, workspace, "task", "check", task) for _ in range(repeats)]
    print(json.dumps(row("check", task, runs, runs[-1].said[0]["notes"])), flush=True)


if __name__ == "__main__":
    sys.exit(main())
