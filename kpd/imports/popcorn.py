"""Imports problems of reference-kernels, which popcorn runs: task.yml, reference.py, eval.py."""

import re
from pathlib import PurePosixPath
from typing import Any

import yaml  # type: ignore[import-untyped]

from kpd.imports import glue
from kpd.imports.commanded import begun
from kpd.imports.draft import Answers, TaskDraft
from kpd.imports.errors import ImportRefused
from kpd.imports.importer import Importer
from kpd.imports.source import ForeignFolder

SUBMISSION = "@SUBMISSION@"
_BASELINE = '''"""Agents edit this file: keep custom_kernel and its argument, eval.py calls it."""

from reference import ref_kernel


def custom_kernel(data):
    return ref_kernel(data)
'''
_RUNNER = '''"""Written by kpd when it imported this task: runs eval.py in a mode, and prints one JSON object."""

import json
import math
import os
import secrets
import subprocess
import sys

mode = sys.argv[1]
read, write = os.pipe()
seed = str(secrets.randbelow(1 << 31))
child = subprocess.Popen(
    [sys.executable, MAIN, mode, {"test": "tests.txt", "benchmark": "benchmarks.txt"}[mode]],
    env={**os.environ, "POPCORN_FD": str(write), "POPCORN_SEED": seed}, pass_fds=[write], stdout=sys.stderr,
)
os.close(write)
with os.fdopen(read, errors="replace") as pipe:
    lines = pipe.read().splitlines()
status = child.wait()
said = dict(line.split(": ", 1) for line in lines if ": " in line)
errors = [f"{key}: {value}" for key, value in said.items() if key.endswith((".error", ".message"))][:5]
right = status == 0 and said.get("check") == "pass"
errors += [] if right or errors else [f"{MAIN} exited with {status}, check: {said.get('check', 'nothing')}"]
result = {"ok": right, "errors": [] if right else errors}
if mode == "benchmark":
    cases = []
    for number in range(int(said.get("benchmark-count", 0))):
        spec = said.get(f"benchmark.{number}.spec", f"benchmark {number}")
        words = dict(part.split(": ", 1) for part in spec.split("; ") if ": " in part)
        dims = {key: int(value) for key, value in words.items() if value.strip().isdigit() and key != "seed"}
        us = float(said.get(f"benchmark.{number}.mean", "nan")) / 1e3
        cases.append({"name": f"{number}: {spec}"[:80], "us": us, "dims": dims})
    if right:
        result["best_us"] = math.exp(sum(math.log(case["us"]) for case in cases) / len(cases))
        result["cases"] = cases
print(json.dumps(result))
sys.exit(0 if right else 1)
'''


def recognise(folder: ForeignFolder) -> tuple[str, ...]:
    if not folder.has("task.yml") or SUBMISSION not in folder.text("task.yml"):
        return ()
    return ("task.yml", SUBMISSION, *(("reference.py",) * folder.has("reference.py")))


def draft(folder: ForeignFolder, answers: Answers) -> TaskDraft:
    given = _yaml(folder)
    if given.get("multi_gpu"):
        raise ImportRefused(
            "task.yml asks for several GPUs, which kpd does not measure together", "choose another problem"
        )
    listed = given.get("files")
    files = {str(one.get("name")): str(one.get("source")) for one in listed} if isinstance(listed, list) else {}
    submission = next((name for name, source in files.items() if source == SUBMISSION), "submission.py")
    main = str((given.get("config") or {}).get("main", "eval.py"))
    made = {name: _source(folder, source) for name, source in files.items() if source != SUBMISSION}
    if main not in made:
        raise ImportRefused(f"task.yml has no source for {main!r}, which runs the tests", "add it to `files`")
    own = folder.has(submission)
    one = ForeignFolder(folder.root, {submission: 0, "README.md": 0} if folder.has("README.md") else {submission: 0})
    found = begun(one, answers, (submission,), "triton")
    found.copied = ("task.yml",)
    found.made = {**made, glue.BENCH: _RUNNER.replace("MAIN", repr(main)).encode()}
    found.made[submission] = folder.data(submission) if own else _BASELINE.encode()
    found.made["tests.txt"] = _cases(given, "tests")
    found.made["benchmarks.txt"] = _cases(given, "benchmarks")
    found.put("task", "summary", " ".join(str(given.get("description", "")).split())[:120])
    found.put("task", "context", ["reference.py"] if "reference.py" in made else [])
    found.put("check", "command", f"python3 {glue.BENCH} test")
    found.put("check", "limit_s", float(given.get("test_timeout") or 180))
    found.put("bench", "command", f"python3 {glue.BENCH} benchmark")
    found.put("bench", "score", "best_us")
    found.put("bench", "direction", "lower")
    found.put("bench", "limit_s", float(given.get("benchmark_timeout") or 180))
    found.checked = True
    if not own:
        found.assumed.append(f"there is no {submission}: the baseline calls ref_kernel of reference.py")
    found.assumed.append("tests and benchmarks are those of task.yml; each run has a fresh POPCORN_SEED")
    found.weak.append("eval.py imports the submission into a process of its own, and believes its clock")
    return found


def _yaml(folder: ForeignFolder) -> dict[str, Any]:
    try:
        found = yaml.safe_load(folder.text("task.yml"))
    except yaml.YAMLError as err:
        raise ImportRefused(f"task.yml cannot be read: {err}", "correct it") from err
    if not isinstance(found, dict):
        raise ImportRefused("task.yml is no table", "correct it")
    return found


def _source(folder: ForeignFolder, source: str) -> bytes:
    """Read a file that task.yml names: of the folder, or of the one above, where all problems share some.

    Raises ImportRefused.
    """
    parts = PurePosixPath(source).parts
    inner = parts[1:] if parts[:1] == ("..",) else parts
    if not re.fullmatch(r"[A-Za-z0-9_./-]+", source) or not inner or ".." in inner or source.startswith("/"):
        raise ImportRefused(f"task.yml names the source {source!r}", "name files of its folder or of the one above")
    if not (folder.root / source).resolve().is_relative_to(folder.root.resolve().parent):
        raise ImportRefused(f"the source {source!r} is a link that leads out", "put the file itself there")
    return folder.data(source)


def _cases(given: dict[str, Any], key: str) -> bytes:
    """Render the cases as eval.py reads them, one in a line: `size: 127; seed: 4242`. Raises ImportRefused."""
    rows = given.get(key)
    if not isinstance(rows, list) or not rows or not all(isinstance(row, dict) for row in rows):
        raise ImportRefused(f"task.yml has no list of {key}", "add one")
    lines = ("; ".join(f"{name}: {_plain(value)}" for name, value in row.items()) for row in rows)
    return ("\n".join(lines) + "\n").encode()


def _plain(value: Any) -> str:
    return str(tuple(value)) if isinstance(value, list) else str(value)


IMPORTER = Importer("a problem of reference-kernels: task.yml with @SUBMISSION@", recognise, draft)
