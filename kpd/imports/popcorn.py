"""Imports problems of reference-kernels, which popcorn runs: task.yml, reference.py, eval.py."""

import re
from dataclasses import replace
from pathlib import PurePosixPath

import msgspec
import yaml  # type: ignore[import-untyped]

from kpd.imports import glue, popcorn_runner
from kpd.imports.commanded import begun
from kpd.imports.draft import Answers, TaskDraft
from kpd.imports.errors import ImportRefused
from kpd.imports.given import fitted
from kpd.imports.importer import Importer
from kpd.imports.runner_task import measured_by_kpd, second_opinion
from kpd.imports.source import ForeignFolder
from kpd.workspace.strict import Seconds

SUBMISSION = "@SUBMISSION@"
MOST_YAML = 64 << 10
"""The most bytes of task.yml: its aliases let a short text stand for a long one."""
_SHARED = re.compile(r"\.\./(\.\./[A-Za-z0-9_][A-Za-z0-9_-]*/)?[A-Za-z0-9_][A-Za-z0-9_-]*\.(py|h|cuh)")
"""What a problem may take of the folder above, or of one beside that: a program or a header, which problems share."""
Scalar = str | int | float | bool | None
Case = dict[str, Scalar | list[Scalar]]
_BASELINE = '''"""Agents edit this file: keep custom_kernel and its argument, eval.py calls it."""

from reference import ref_kernel


def custom_kernel(data):
    return ref_kernel(data)
'''
_TEST, _BENCHMARK = f"python3 {glue.BENCH} test", f"python3 {glue.BENCH} benchmark"
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
    [sys.executable, MAIN, *{"test": ("test", "tests.txt"), "benchmark": (BENCHMARK, "benchmarks.txt")}[mode]],
    env={**os.environ, "POPCORN_FD": str(write), "POPCORN_SEED": seed}, pass_fds=[write], stdout=sys.stderr,
)
os.close(write)
with os.fdopen(read, errors="replace") as pipe:
    lines = pipe.read().splitlines()
status = child.wait()
said = dict(line.split(": ", 1) for line in lines if ": " in line)
errors = [f"{key}: {value}" for key, value in said.items() if key.rpartition(".")[2] in ("error", "message")][:5]
right = status == 0 and said.get("check") == "pass"
errors += [] if right or errors else [f"{MAIN} exited with {status}, check: {said.get('check', 'nothing')}"]
result = {"ok": right, "errors": [] if right else errors}
if right and mode == "benchmark":
    cases = []
    for number in range(int(said.get("benchmark-count", 0))):
        spec = said.get(f"benchmark.{number}.spec", f"benchmark {number}")
        words = dict(part.split(": ", 1) for part in spec.split("; ") if ": " in part)
        dims = {key: int(value) for key, value in words.items() if value.strip().isdigit() and key != "seed"}
        us = float(said.get(f"benchmark.{number}.mean", "nan")) / 1e3
        cases.append({"name": f"{number}: {spec}"[:80], "us": us, "dims": dims})
    right = bool(cases) and all(case["us"] > 0 for case in cases)
    if right:
        result["best_us"] = math.exp(sum(math.log(case["us"]) for case in cases) / len(cases))
        result["cases"] = cases
    else:
        result = {"ok": False, "errors": [f"{MAIN} says no mean of each benchmark"]}
print(json.dumps(result))
sys.exit(0 if right else 1)
'''


class _Source(msgspec.Struct):
    name: str
    source: str


class _Config(msgspec.Struct):
    main: str = "eval.py"


class _Problem(msgspec.Struct):
    """What of task.yml an importer reads."""

    files: list[_Source] = []
    config: _Config = msgspec.field(default_factory=_Config)
    description: str = ""
    tests: list[Case] = []
    benchmarks: list[Case] = []
    test_timeout: Seconds = 180
    benchmark_timeout: Seconds = 180
    multi_gpu: bool = False
    gpus: list[str] = []


def recognise(folder: ForeignFolder) -> tuple[str, ...]:
    if not folder.has("task.yml") or SUBMISSION not in folder.text("task.yml"):
        return ()
    return ("task.yml", SUBMISSION, *(("reference.py",) * folder.has("reference.py")))


def draft(folder: ForeignFolder, answers: Answers) -> TaskDraft:
    given = _problem(folder)
    if given.multi_gpu or any(case.get("world_size", 1) != 1 for case in (*given.tests, *given.benchmarks)):
        raise ImportRefused(
            "task.yml asks for several GPUs, which kpd does not measure together", "choose another problem"
        )
    sources = {one.name: one.source for one in given.files}
    main = given.config.main
    submission = next((name for name, source in sources.items() if source == SUBMISSION), "submission.py")
    files = {name: _source(folder, source) for name, source in sources.items() if source != SUBMISSION}
    if main not in files:
        raise ImportRefused(f"task.yml has no source for {main!r}, which runs the tests", "add it to `files`")
    reference = files.get(popcorn_runner.REFERENCE, b"")
    own = folder.has(submission)
    absent = not own and not re.search(rb"^(def )?ref_kernel\b", reference, re.MULTILINE)
    why = popcorn_runner.why_not(reference, submission, files, given.benchmarks)
    by_kpd = measured_by_kpd(answers, "there is no kernel to begin with" if absent else why)
    runner = _RUNNER.replace("MAIN", repr(main)).replace("BENCHMARK", repr(_mode(files[main])))
    files |= {
        "task.yml": folder.data("task.yml"), "tests.txt": _cases(given.tests, "tests"),
        "benchmarks.txt": _cases(given.benchmarks, "benchmarks"), glue.BENCH: runner.encode(),
    }  # fmt: skip
    if not absent:
        files[submission] = folder.data(submission) if own else _BASELINE.encode()
    summary = " ".join(given.description.split())[:120]
    if by_kpd:
        found = popcorn_runner.draft(files, submission, summary, given.benchmarks, answers)
        second_opinion(found, {submission: submission}, [_TEST, _BENCHMARK])
    else:
        found = _commanded(folder, given, files, submission, replace(answers, baseline="absent") if absent else answers)
        found.put("task", "summary", summary)
        if why and not answers.measured_by:
            found.assumed.append(f"{main} measures it, and not kpd's own runner: {why}")
    if absent:
        found.assumed.append(f"there is no {submission}, and no ref_kernel: the first right one is the baseline")
    elif not own:
        found.assumed.append(f"there is no {submission}: the baseline calls ref_kernel of reference.py")
    if given.gpus:
        found.assumed.append(f"task.yml names {', '.join(given.gpus)}: kpd measures on the device that there is")
    if shared := sorted(source for source in sources.values() if source.startswith("../")):
        found.assumed.append(f"task.yml takes of the folders above: {', '.join(shared)}")
    return found


def _commanded(
    folder: ForeignFolder, given: _Problem, files: dict[str, bytes], submission: str, answers: Answers
) -> TaskDraft:
    """Return a draft of a task that eval.py measures."""
    here = dict.fromkeys((submission, *(("README.md",) * folder.has("README.md"))), 0)
    found = begun(ForeignFolder(folder.root, here), answers, (submission,), "triton")
    found.copied, found.made = (), files
    found.put("task", "context", [popcorn_runner.REFERENCE] if popcorn_runner.REFERENCE in files else [])
    found.put("check", "command", _TEST)
    found.put("check", "limit_s", given.test_timeout)
    found.put("bench", "command", _BENCHMARK)
    found.put("bench", "score", "best_us")
    found.put("bench", "direction", "lower")
    found.put("bench", "limit_s", given.benchmark_timeout)
    found.checked = True
    found.assumed.append("tests and benchmarks are those of task.yml; each run has a fresh POPCORN_SEED")
    found.weak.append("eval.py imports the submission into a process of its own, and believes its clock")
    return found


def _problem(folder: ForeignFolder) -> _Problem:
    """Read task.yml. Raises ImportRefused."""
    data = folder.data("task.yml")
    if len(data) > MOST_YAML:
        raise ImportRefused(f"task.yml has more than {MOST_YAML >> 10} KiB", "shorten it")
    try:
        found = yaml.safe_load(data.decode(errors="replace"))
    except (yaml.YAMLError, ValueError, RecursionError) as err:
        raise ImportRefused(f"task.yml cannot be read: {err}", "correct it") from err
    return fitted(found, _Problem, "task.yml")


def _mode(program: bytes) -> str:
    """Return the mode in which a program times: older ones have `private` for it."""
    return "private" if b'"private"' in program and b'"benchmark"' not in program else "benchmark"


def _source(folder: ForeignFolder, source: str) -> bytes:
    """Read a file that task.yml names: the folder's own, or a program above it. Raises ImportRefused."""
    own = PurePosixPath(source).as_posix()
    if folder.has(own):
        return folder.data(own)
    if not _SHARED.fullmatch(source):
        raise ImportRefused(
            f"task.yml names the source {source!r}",
            "name files of its folder, or a .py or .h of the one above or beside that",
        )
    if not (folder.root / source).exists():
        remedy = "name the problem where its set lies, with the programs that its problems share"
        raise ImportRefused(f"task.yml takes {source!r}, and there is no such file", remedy)
    target, above = (folder.root / source).resolve(), folder.root.resolve().parent
    expected = above.parent / PurePosixPath(source).parent.name if source.startswith("../../") else above
    if target.parent != expected or target.suffix not in (".py", ".h", ".cuh"):
        raise ImportRefused(f"the source {source!r} is a link that leads out", "put the file itself there")
    return folder.data(source)


def _cases(rows: list[Case], key: str) -> bytes:
    """Render the cases as eval.py reads them, one in a line: `size: 127; seed: 4242`. Raises ImportRefused."""
    if not rows:
        raise ImportRefused(f"task.yml has no list of {key}", "add one")
    lines = ("; ".join(f"{name}: {_plain(value)}" for name, value in row.items()) for row in rows)
    return ("\n".join(lines) + "\n").encode()


def _plain(value: Scalar | list[Scalar]) -> str:
    return str(tuple(value)) if isinstance(value, list) else str(value)


IMPORTER = Importer("a problem of reference-kernels: task.yml with @SUBMISSION@", recognise, draft)
