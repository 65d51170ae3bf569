"""Imports programs of Google Benchmark, with a Makefile or a CMakeLists.txt."""

import re

from kpd.imports import glue
from kpd.imports.commanded import begun
from kpd.imports.draft import Answers, TaskDraft
from kpd.imports.errors import ImportRefused
from kpd.imports.importer import Importer
from kpd.imports.source import ForeignFolder

SOURCES = (".c", ".cc", ".cpp", ".cxx")
_INCLUDE = re.compile(r"#\s*include\s*<benchmark/benchmark\.h>")
_PARSE = """import math

UNITS = {"ns": 1e-3, "us": 1.0, "ms": 1e3, "s": 1e6}
if ended.returncode != 0:
    sys.exit(ended.returncode if ended.returncode > 0 else 1)
rows = json.loads(ended.stdout[ended.stdout.index("{"):])["benchmarks"]
rows = [row for row in rows if row.get("run_type", "iteration") == "iteration"]
errors = [f"{row['name']}: {row.get('error_message', 'error')}" for row in rows if row.get("error_occurred")]
cases = {}
for row in rows:
    if not row.get("error_occurred"):
        cases.setdefault(row["name"], []).append(row["real_time"] * UNITS[row.get("time_unit", "ns")])
listed = [{"name": name, "us": min(times)} for name, times in cases.items()]
score = math.exp(sum(math.log(case["us"]) for case in listed) / len(listed)) if listed else 0
print(json.dumps({"errors": errors, "best_us": score, "cases": listed}))
"""


def recognise(folder: ForeignFolder) -> tuple[str, ...]:
    found = _benches(folder)
    built = folder.matching("Makefile", "makefile", "CMakeLists.txt")
    return (*found, *built) if found and built else ()


def _benches(folder: ForeignFolder) -> tuple[str, ...]:
    return tuple(path for path in folder.files if path.endswith(SOURCES) and _INCLUDE.search(folder.text(path)))


def draft(folder: ForeignFolder, answers: Answers) -> TaskDraft:
    bench = _benches(folder)[0]
    headers = {name.rpartition("/")[2] for name in re.findall(r'#\s*include\s*"([^"]+)"', folder.text(bench))}
    stems = {name.rpartition(".")[0] for name in headers}
    sources = [path for path in folder.files if path.endswith((*SOURCES, ".h", ".hpp")) and path != bench]
    own = [path for path in sources if path.rpartition("/")[2].rpartition(".")[0] in stems and path.endswith(SOURCES)]
    editable = own or [path for path in sources if path.rpartition("/")[2] in headers]
    found = begun(folder, answers, editable, "command")
    build, program = _built(folder, bench)
    flags = "--benchmark_format=json --benchmark_repetitions=1"
    found.made[glue.BENCH] = glue.bench(f"{{ {build}; }} >&2 && {program} {flags}", _PARSE)
    found.put("bench", "command", f"python3 {glue.BENCH}")
    found.put("bench", "score", "best_us")
    found.put("bench", "direction", "lower")
    found.assumed.append(f"`{build}` builds {program}; the score is the geometric mean of its real_time")
    found.weak.append("a program of Google Benchmark checks no results, and each run compiles anew")
    return found


def _built(folder: ForeignFolder, bench: str) -> tuple[str, str]:
    """Return the command that builds the benchmark, and its program. Raises ImportRefused."""
    stem = bench.rpartition("/")[2].rpartition(".")[0]
    makefiles = folder.matching("Makefile", "makefile")
    if makefiles:
        named = re.findall(r"^([A-Za-z0-9_./-]+)\s*:(?!=)", folder.text(makefiles[0]), re.MULTILINE)
        targets = [one for one in named if not one.startswith(".")]
        if not targets:
            raise ImportRefused(f"{makefiles[0]} has no target", "name the commands with --bench")
        target = stem if stem in targets else targets[0]
        return f"make -s {target}", f"./{target if stem in targets else stem}"
    text = folder.text("CMakeLists.txt")
    made = re.search(rf"add_executable\s*\(\s*([A-Za-z0-9_.-]+)[^)]*{re.escape(bench)}", text)
    if made is None:
        raise ImportRefused(f"CMakeLists.txt makes no executable of {bench}", "name the commands with --bench")
    configure = "cmake -S . -B build -DCMAKE_BUILD_TYPE=Release"
    return f"{configure} && cmake --build build --target {made[1]}", f"./build/{made[1]}"


IMPORTER = Importer("a program of Google Benchmark, with a Makefile or CMakeLists.txt", recognise, draft)
