"""What becomes of folders in the formats of others: imported, and run with a right and a wrong candidate.

    python benchmarks/importers.py [NAME …] [--torch cpu|gpu] [--gpu INDEX] [--rows N] [--out FILE]

Each folder of tests/support/imports/gym_examples.py, or of torch_folders.py with --torch, goes through `kpd task
import` and `kpd run --wait`, in a fresh workspace with a daemon of its own. The latter need torch in the host's
`python3`, and have up to so many rows. Prints a JSON line a folder, also into FILE; exits
with 1 where something is not as it should be: what was read, the baseline, that the right candidate is not called
incorrect, and that the wrong one is.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from kpd.workspace.task import load_task
from tests.support.imports.folders import written
from tests.support.imports.gym_examples import EXAMPLES, Change, Example
from tests.support.imports.torch_folders import examples

LIMIT_S = 600
INCORRECT = "incorrect"
TOLD = 200


def kpd(root: Path, verb: str, *words: str) -> subprocess.CompletedProcess[str]:
    """Run a verb in the workspace `root`, as a person does."""
    command = [sys.executable, "-m", "kpd", *verb.split(), "-w", str(root), *words]
    return subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S)


def candidate(folder: Path, task: Path, change: Change) -> None:
    """Write the candidate that differs from the task in one place."""
    path, old, new = change
    text = (task / path).read_text()
    assert old in text, f"{path} of {task.name} does not hold {old!r}"
    written(folder, {path: text.replace(old, new)})


def tried(root: Path, name: str, example: Example) -> dict[str, Any]:
    """Import a folder, run it, and return a row."""
    folder = written(root / "foreign" / name, example.files)
    begun = time.monotonic()
    made = kpd(root, "task import", str(folder), "--as", name, "--json", *example.options)
    row: dict[str, Any] = {"folder": name, "import_s": round(time.monotonic() - begun, 1)}
    if made.returncode != 0:
        return {**row, "as_it_should": False, "error": made.stderr[-2000:]}
    told = json.loads(made.stdout)
    task = load_task(root / "tasks" / name)
    read = told["read"]["score"] if told["read"] else None
    row |= {"format": told["format"], "score": read or task.bench.score, "editable": list(task.editable)}
    row |= {"tune": sorted(task.tune), "weak": told["weak"], "notes": [note[:TOLD] for note in told["notes"]]}
    prepared = root / "candidates" / name
    for order, change in (("1_right", example.right), ("2_wrong", example.wrong)):
        candidate(prepared / order, task.folder, change)
    begun = time.monotonic()
    run = kpd(root, "run", name, "--agent", f"script:candidates/{name}", "--iterations", "2", "--wait")
    row |= {"run_s": round(time.monotonic() - begun, 1), "exit": run.returncode}
    runs = json.loads(kpd(root, "status", "--json").stdout)["runs"]
    run_id = next(id for id, one in runs.items() if one["task"] == name)
    ended = [kpd(root, "show", f"{run_id}.{number}", "--json") for number in range(3)]
    shown = [json.loads(one.stdout)["iteration"] if one.returncode == 0 else {} for one in ended]
    row["outcomes"] = [one.get("outcome") for one in shown]
    row["reasons"] = [str(one.get("reason"))[:TOLD] for one in shown]
    bad = [why.startswith(INCORRECT) for why in row["reasons"]]
    first = 1 if "--baseline" in example.options else 0
    row["as_it_should"] = (
        (row["score"], tuple(row["editable"]), tuple(row["tune"])) == (example.score, example.editable, example.tuned)
        and row["outcomes"][first] == "baseline"
        and bad == [first == 1, False, True]
    )
    return row


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--torch", choices=("cpu", "gpu"))
    parser.add_argument("--gpu", type=int, metavar="INDEX", help="by nvidia-smi (default: the first)")
    parser.add_argument("--rows", type=int, default=2048, help="of 4096 elements each")
    parser.add_argument("--out", type=Path)
    args = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory(prefix="kpd-importers-") as scratch:
        root = Path(scratch)
        kpd(root, "init", str(root))
        if args.gpu is not None:
            (root / "config.toml").write_text(f"[hosts.local]\ngpus = [{args.gpu}]\n")
        try:
            for name, example in (examples(args.rows, args.torch) if args.torch else EXAMPLES).items():
                if args.names and name not in args.names:
                    continue
                rows.append(tried(root, name, example))
                print(json.dumps(rows[-1]), flush=True)
                if args.out:
                    args.out.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
        finally:
            kpd(root, "shutdown", "--now")
    return 0 if rows and all(row["as_it_should"] for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
