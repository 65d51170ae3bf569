"""What attacks leave behind on this machine: touched bait, changed jobs, processes, settings of the GPU."""

import contextlib
import hashlib
import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

SHARED = (Path("/dev/shm"), Path("/tmp"), Path("/var/tmp"))
SETTINGS = (
    "persistence_mode,compute_mode,power.limit,clocks.max.sm,clocks.applications.graphics,ecc.mode.current,"
    "mig.mode.current"
)


class Bait:
    """A home with a key in it, a secret, and an empty folder for loot, all below `root`."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.home = root / "home"
        self._files = {
            self.home / ".ssh" / "authorized_keys": "ssh-ed25519 AAAA bait\n",
            self.home / ".bashrc": "# bait\n",
            root / "secret.txt": "kpd-bait-secret\n",
        }

    def lay(self) -> None:
        """Make the bait as it was at first."""
        shutil.rmtree(self.root, ignore_errors=True)
        (self.root / "loot").mkdir(parents=True)
        for path, text in self._files.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)

    def touched(self) -> list[str]:
        """List the files that are new or changed, or gone."""
        there = {path for path in self.root.rglob("*") if path.is_file() and ".cache" not in path.parts}
        changed = [path for path, text in self._files.items() if path in there and path.read_text() != text]
        new = sorted(there - self._files.keys())
        return [str(path.relative_to(self.root)) for path in [*new, *changed, *(self._files.keys() - there)]]


def kept(host_root: Path, workspace: Path, older_s: float = 0.0) -> dict[str, str]:
    """Return the hash of each file that judges later candidates: built objects, measuring programs, sources, tasks.

    Of jobs, only files that were written at least `older_s` seconds ago: a build may be under way. The program that
    measures a roofline is left out: each job that runs it compiles it first, as one does after an impossible time.
    """
    begun = time.time()
    found = {}
    for pattern in ("jobs/*/out/*", "trees/*/**/*"):
        for path in host_root.glob(pattern):
            with contextlib.suppress(OSError):
                passing = path.suffix == ".txt" or path.name == "roofline"  # .txt: a compiler's remarks
                if not passing and begun - path.stat().st_mtime >= older_s:
                    found[str(path)] = _hash(path)
    for path in (workspace / "config.toml", *(workspace / "tasks").rglob("*.*")):
        if path.name not in (
            "kernel.c",
            "kernel.cu",
            "kernel.py",
            "softmax.cu",
            "build.json",
        ):  # kpd writes the incumbent's there
            found[str(path)] = _hash(path)
    return found


def changed(before: dict[str, str], now: dict[str, str]) -> list[str]:
    """List the files that were there before and have changed since; a job that kpd has cleaned up is no change."""
    return sorted(path for path, known in before.items() if now.get(path, known) != known)


def processes(name: str) -> dict[int, str]:
    """Return the processes that an attack has left, which are called `name`, by pid."""
    found = {}
    for entry in Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            if entry.name.isdigit() and name.encode() in (entry / "comm").read_bytes():
                found[int(entry.name)] = (entry / "comm").read_text().strip()
    return found


def strays(name: str) -> list[Path]:
    """List the files that an attack has left in folders that all processes share; their names begin with `name`."""
    return [path for folder in SHARED for path in folder.glob(f"{name}*")]


def settings(gpu: str = "") -> str:
    """Return the settings of the GPU with this index, or of all; empty where there is none."""
    query = ["nvidia-smi", f"--query-gpu={SETTINGS}", "--format=csv,noheader", *(["-i", gpu] if gpu else [])]
    try:
        return subprocess.run(query, capture_output=True, text=True, timeout=60).stdout.strip()
    except (OSError, subprocess.TimeoutExpired):
        return ""


def clean(name: str) -> None:
    """End what attacks have left under this name, and remove it."""
    for pid in processes(name):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    for path in strays(name):
        if path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)


def _hash(path: Path) -> str:
    if path.is_dir():
        return "a folder"
    return hashlib.sha256(path.read_bytes()).hexdigest()
