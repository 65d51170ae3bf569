"""Imports folders of kernel-pilot and KDA-Pilot, by both of their contracts.

One has prompt.md, interface.md, src/ and benchmark.py, which appends to benchmark.csv. The other has config.toml,
solution/ and bench/, whose benchmark.py writes bench/results.jsonl, or appends to benchmark.csv as well.
"""

import re
from dataclasses import replace

import msgspec

from kpd.imports import glue
from kpd.imports.commanded import begun, language_of
from kpd.imports.draft import Answers, TaskDraft
from kpd.imports.errors import ImportRefused
from kpd.imports.given import fitted, json_as
from kpd.imports.importer import Importer
from kpd.imports.source import ForeignFolder
from kpd.workspace.strict import ConfigError, Document, Seconds

CONTEXT = ("prompt.md", "interface.md", "docs/dispatch.md", "docs/benchmark_method.md")
MOST_LIMIT_S = 86400.0
_CSV = """import csv
import math

if ended.returncode != 0:
    sys.exit(ended.returncode if ended.returncode > 0 else 1)
with open("benchmark.csv", newline="") as ledger:
    lines = [line for line in csv.reader(ledger) if line]
headed = bool(lines) and all(any(key in lines[0] for key in keys) for keys in (NAMES, TIMES))
header = lines[0] if headed else HEADER
cases = {}
for line in lines:
    row = dict(zip(header, line))
    name = next((row[key] for key in NAMES if row.get(key)), "")
    text = next((row[key] for key in TIMES if row.get(key)), "")
    if line != header and name and text and row.get("mode", "").lower() not in ("geomean", "summary"):
        case = cases.setdefault(name, {"name": name, "us": float(text)})
        for key in ("status", "ok", "correct", "passed", "error"):
            if row.get(key) and row[key] != case.get(key):
                case[key] = f"{case[key]}, {row[key]}" if key in case else row[key]
if not cases:
    sys.exit("benchmark.csv has no row with a shape and a time")
best = math.exp(sum(math.log(case["us"]) for case in cases.values()) / len(cases))
print(json.dumps({"best_us": best, "cases": list(cases.values())}))
"""
_JSONL = """import math

rows = {}
with open("bench/results.jsonl") as ledger:
    for line in ledger:
        row = json.loads(line)
        if isinstance(row, dict) and "id" in row and "status" in row:
            rows[row["id"]] = row
if ended.returncode != 0 or not rows:
    sys.exit(ended.returncode if ended.returncode > 0 else "bench/results.jsonl has no result")
bad = [
    f"{name}: status {row['status']!r} instead of 'PASSED' {str(row.get('error', ''))[-200:]}"
    for name, row in rows.items()
    if row["status"] != "PASSED"
]
missing = [name for name in WORKLOADS if name not in rows]
bad += [f"{name}: no result" for name in missing]
timed = [row for row in rows.values() if row.get("production", True) and row["status"] == "PASSED"]
cases = [{"name": row["id"], "us": row["candidate"]["median_us"], "status": row["status"]} for row in timed]
best = math.exp(sum(math.log(case["us"]) for case in cases) / len(cases)) if cases else 0
print(json.dumps({"status": "FAILED" if bad else "PASSED", "errors": bad, "best_us": best, "cases": cases}))
"""


_NAMES = ("shape", "shape_id", "case", "case_name", "name", "workload")
_TIMES = ("candidate_us", "cand_median_us", "candidate_median_us", "median_us", "mean_us", "us")
_OF_CSV = (
    "a run's rows of benchmark.csv are its result: a case a shape, the candidate's median its time; of several rows of"
    " a shape the first counts"
)

_OF_JSON = (
    "the score is the geometric mean of the candidate's times over the workloads of production, not the printed ratio,"
    " which has the noise of two sides"
)


class _Task(msgspec.Struct):
    target_gpu: str = ""
    family: str = ""


class _Build(msgspec.Struct):
    candidate_entry_points: list[str] = []
    candidate_entry_point: str = ""


class _Benchmark(msgspec.Struct):
    timeout_seconds: Seconds = 600


class _Config(msgspec.Struct):
    """What of config.toml an importer reads."""

    task: _Task = msgspec.field(default_factory=_Task)
    build: _Build = msgspec.field(default_factory=_Build)
    benchmark: _Benchmark = msgspec.field(default_factory=_Benchmark)


class _Workload(msgspec.Struct):
    id: str | int = ""
    name: str | int = ""


class _Workloads(msgspec.Struct):
    workloads: list[_Workload] = []


def recognise(folder: ForeignFolder) -> tuple[str, ...]:
    if folder.has("config.toml", "bench/benchmark.py"):
        return ("config.toml", "bench/benchmark.py", *(("bench/workloads.json",) * folder.has("bench/workloads.json")))
    if folder.has("prompt.md", "benchmark.py") and any(path.startswith("src/") for path in folder.files):
        return ("prompt.md", "benchmark.py", "src/", *(("interface.md",) * folder.has("interface.md")))
    return ()


def draft(folder: ForeignFolder, answers: Answers) -> TaskDraft:
    found = _standalone(folder, answers) if folder.has("bench/benchmark.py") else _prompted(folder, answers)
    found.put("task", "context", [path for path in CONTEXT if path in folder.files])
    return found


def _prompted(folder: ForeignFolder, answers: Answers) -> TaskDraft:
    sources = [path for path in folder.files if path.startswith("src/")]
    language, device = language_of(folder, sources, ("benchmark.py",))
    found = begun(folder, answers, ("src/",), language)
    found.put("need", "device", answers.device or device)
    text = folder.text("benchmark.py")
    _keep(found, "benchmark.csv", "profile/", "solutions.jsonl")
    if "benchmark.csv" in text and "json.dumps" not in text:
        found.made[glue.BENCH] = _of_csv(folder, "benchmark.py")
        found.put("bench", "command", f"python3 {glue.BENCH}")
        found.put("bench", "score", "best_us")
        found.put("bench", "direction", "lower")
        found.assumed.append(_OF_CSV)
    else:
        flag = " --json" if '"--json"' in text or "'--json'" in text else ""
        found.put("bench", "command", f"python3 benchmark.py{flag}")
        found.prefers = ("best_us", "geomean_us", "median_us")
    if any(re.fullmatch(r"tests/(.*/)?test_[^/]*\.py", path) for path in folder.files):
        found.made[glue.CHECK] = glue.check("python3 -m pytest -q tests")
        found.put("check", "command", f"python3 {glue.CHECK}")
        found.assumed.append("pytest checks a candidate: tests/ has to pass")
        found.weak.append("tests/ run a candidate beside the test: one that ends the process with 0 passes")
    return found


def _standalone(folder: ForeignFolder, answers: Answers) -> TaskDraft:
    config = _config(folder)
    points = config.build.candidate_entry_points or [config.build.candidate_entry_point]
    entries = list(dict.fromkeys(point.partition("::")[0] for point in points if point))
    there = any(path.startswith("solution/") for path in folder.files)
    named = ("solution/",) if there else tuple(entries)
    found = begun(folder, answers if there or answers.editable else _absent(answers), named, "command")
    gpu = config.task.target_gpu.removeprefix("NVIDIA ").strip()
    found.put("need", "gpu", "" if answers.device == "cpu" else gpu)
    found.put("task", "summary", config.task.family)
    workloads = _workloads(folder)
    limit = config.benchmark.timeout_seconds * max(1, len(workloads))
    found.put("bench", "limit_s", min(limit, MOST_LIMIT_S))
    program = "bench/benchmark.py"
    in_csv = "results.jsonl" not in folder.text(program) and "benchmark.csv" in folder.text(program)
    json_lines = glue.bench(f"python3 {program}", _JSONL, {"WORKLOADS": workloads})
    found.made[glue.BENCH] = _of_csv(folder, program) if in_csv else json_lines
    found.put("bench", "command", f"python3 {glue.BENCH}")
    found.put("bench", "score", "best_us")
    found.put("bench", "direction", "lower")
    _keep(found, *(("benchmark.csv", "solutions.jsonl") if in_csv else ("bench/results.jsonl",)), "profile/")
    found.assumed.append(_OF_CSV if in_csv else _OF_JSON)
    if folder.has("bench/correctness.py"):
        found.made[glue.CHECK] = glue.check("python3 bench/correctness.py")
        found.put("check", "command", f"python3 {glue.CHECK}")
        found.put("check", "limit_s", min(limit, MOST_LIMIT_S))
    found.weak.append("the candidate is compared with the baseline folder's output, not with one of higher precision")
    return found


def _of_csv(folder: ForeignFolder, program: str) -> bytes:
    """Return a program that runs a benchmark, and reads the rows that it appends to a ledger of its own.

    The folder's ledger tells the columns: some benchmarks write no header.
    """
    first = folder.text("benchmark.csv").partition("\n")[0].strip() if folder.has("benchmark.csv") else ""
    constants = {"NAMES": _NAMES, "TIMES": _TIMES, "HEADER": first.split(",")}
    return glue.bench(f"rm -f benchmark.csv && python3 {program}", _CSV, constants)


def _absent(answers: Answers) -> Answers:
    return replace(answers, baseline="absent")


def _config(folder: ForeignFolder) -> _Config:
    try:
        table = Document.read(folder.root / "config.toml").table
    except ConfigError as err:
        raise ImportRefused(f"config.toml cannot be read: {err}", "correct it") from err
    return fitted(table, _Config, "config.toml")


def _workloads(folder: ForeignFolder) -> list[str]:
    """Return the ids of the workloads; each has to be in every result. Raises ImportRefused."""
    path = "bench/workloads.json"
    if not folder.has(path):
        return []
    found: list[_Workload] | _Workloads = json_as(folder.text(path), list[_Workload] | _Workloads, path)
    rows = found.workloads if isinstance(found, _Workloads) else found
    return [str(row.id or row.name) for row in rows if row.id or row.name]


def _keep(found: TaskDraft, *records: str) -> None:
    """Add records to those that were found; they are not copied."""
    known = found.get("task", "records") or []
    more = [one for one in records if not any(one.startswith(known_one) for known_one in known)]
    found.put("task", "records", sorted({*known, *more}))
    found.copied = tuple(path for path in found.copied if not any(path.startswith(one) for one in more))


IMPORTER = Importer("a kernel-pilot folder: prompt.md and src/, or config.toml and bench/", recognise, draft)
