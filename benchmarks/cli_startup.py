"""How long the commands take that people and prompts call often, beside a bare Python. Prints one JSON object.

    python benchmarks/cli_startup.py [ROUNDS]

Medians of wall-clock milliseconds, the commands in turn. `status` asks a real daemon in a temporary workspace;
`status_offline` reads the log of one that has ended; `completion` is what a shell waits for after `kpd stop` and Tab.
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BOUNDS_MS = {"help": 80.0, "status": 120.0, "completion": 120.0}
KPD = [sys.executable, "-m", "kpd.cli.main"]


def timed(command: list[str], env: dict[str, str]) -> float:
    """Milliseconds that the command takes. Raises CalledProcessError."""
    begun = time.perf_counter()
    subprocess.run(command, env=env, cwd=ROOT, stdout=subprocess.DEVNULL, check=True)
    return 1000 * (time.perf_counter() - begun)


def medians(commands: dict[str, list[str]], rounds: int, env: dict[str, str]) -> dict[str, float]:
    found: dict[str, list[float]] = {name: [] for name in commands}
    for _ in range(rounds + 1):  # the first round fills caches and is left out
        for name, command in commands.items():
            found[name].append(timed(command, env))
    return {name: round(statistics.median(values[1:]), 1) for name, values in found.items()}


def asking(line: str) -> dict[str, str]:
    """The environment in which a shell asks what may come next on `line`."""
    asked = {"COMP_LINE": line, "COMP_POINT": str(len(line)), "_ARGCOMPLETE": "1"}
    return {**asked, "_ARGCOMPLETE_SHELL": "fish", "_ARGCOMPLETE_STDOUT_FILENAME": os.devnull}


def start(folder: Path, env: dict[str, str]) -> "subprocess.Popen[bytes]":
    """A daemon on a fresh workspace in `folder`, once it answers."""
    subprocess.run([*KPD, "init", str(folder)], env=env, check=True, capture_output=True)
    daemon = subprocess.Popen([*KPD, "-w", str(folder), "daemon"], env=env, cwd=ROOT, stderr=subprocess.DEVNULL)
    while json.loads(subprocess.check_output([*KPD, "-w", str(folder), "status", "--json"], env=env))["pid"] is None:
        if daemon.poll() is not None:
            raise SystemExit(f"the daemon ended at once with code {daemon.returncode}")
        time.sleep(0.1)
    return daemon


def main() -> None:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 20
    with tempfile.TemporaryDirectory(prefix="kpd-bench-") as home:
        folder = Path(home) / "workspace"
        env = {**os.environ, "PYTHONPATH": str(ROOT), "XDG_RUNTIME_DIR": home}
        status = [*KPD, "-w", str(folder), "status"]
        daemon = start(folder, env)
        try:
            commands = {"python": [sys.executable, "-c", "pass"], "help": [*KPD, "--help"], "status": status}
            found = medians(commands, rounds, env)
            found |= medians({"completion": KPD}, rounds, env | asking(f"kpd -w {folder} stop "))
        finally:
            daemon.terminate()
            daemon.wait()
        found |= {"status_offline": medians({"status": status}, rounds, env)["status"]}
    within = {name: found[name] <= bound for name, bound in BOUNDS_MS.items()}
    json.dump({"median_ms": found, "bound_ms": BOUNDS_MS, "within": within, "rounds": rounds}, sys.stdout, indent=2)
    sys.stdout.write("\n")


if __name__ == "__main__":
    main()
