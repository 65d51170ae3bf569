"""Imports HarnessGym workspaces: task.md, and a benchmark.py or a verifier.py."""

import re

from kpd.imports import glue
from kpd.imports.commanded import begun, language_of, named_files, tune
from kpd.imports.draft import Answers, TaskDraft
from kpd.imports.errors import ImportRefused
from kpd.imports.importer import Importer
from kpd.imports.source import ForeignFolder

VERBS = "edit|optimi[sz]e|modify|improve|tune|rewrite|implement|fix|repair"
KERNELS = ("kernel*.c", "kernel*.cpp", "kernel*.cu", "kernel*.py", "*_kernel.c", "*_kernel.py", "kernel*.json")
_TIMED = """import re

found = re.findall(r"\\bbest(?:_(?:s|ms|us))?\\s*=\\s*([0-9.eE+-]+)\\s*(s|ms|us)\\b", ended.stdout)
if ended.returncode != 0:
    sys.exit(ended.returncode if ended.returncode > 0 else 1)
figure, unit = found[-1] if found else (seconds, "s")
print(json.dumps({"best_us": float(figure) * {"s": 1e6, "ms": 1e3, "us": 1}[unit], "ok": True}))
"""


def recognise(folder: ForeignFolder) -> tuple[str, ...]:
    if not folder.has("task.md") or not (folder.has("benchmark.py") or folder.has("verifier.py")):
        return ()
    return ("task.md", *(name for name in ("benchmark.py", "verifier.py") if folder.has(name)))


def draft(folder: ForeignFolder, answers: Answers) -> TaskDraft:
    programs = [name for name in ("benchmark.py", "verifier.py") if folder.has(name)]
    texts = {name: folder.text(name) for name in programs}
    words = folder.text("task.md")
    editable = named_files(folder, words, VERBS) or list(folder.matching(*KERNELS))
    editable = [path for path in editable if path not in ("task.md", *programs)]
    if not editable and not answers.editable and (missing := _missing(folder, words)):
        remedy = f"put it there; where a candidate is to write it, say --editable {missing} --baseline absent"
        raise ImportRefused(f"task.md says to edit {missing}, which is not in {folder.root}", remedy)
    language, device = language_of(folder, editable, programs)
    found = begun(folder, answers, editable, language)
    if "device" not in found.toml.get("need", {}) and language != "triton":
        found.put("need", "device", device)
    if not answers.editable:
        found.assumed.append(f"editable is what task.md says: {', '.join(editable)}")
    found.prefers = (
        *_objectives(words),
        "best_us",
        "best_ms",
        "best_cycles",
        "score",
    )  # a bare score tells no direction
    benchmark = next((name for name in programs if "--json" in texts[name]), "")
    if benchmark:
        _measured(found, benchmark, texts)
    else:
        _timed_by_verifier(found, programs[-1])
    for config in (path for path in found.get("task", "editable") if path.endswith(".json")):
        tune(folder, found, config, programs)
    return found


def _missing(folder: ForeignFolder, words: str) -> str:
    """Return the first file of the folder that a description says to edit, and that is not there; empty: none."""
    named = dict.fromkeys(re.findall(r"`(?:\./)?([\w./-]*\w\.(?:c|cc|cpp|cu|py|json))`", words), 0)
    found = named_files(ForeignFolder(folder.root, named), words, VERBS)
    within = (path for path in found if not path.startswith("/") and ".." not in path.split("/"))
    return next((path for path in within if path not in folder.files), "")


def _objectives(words: str) -> list[str]:
    """Return the names of figures that the description wants lower or higher, in backquotes, the first first."""
    wanted = re.compile(r"\b(lowest|lower|reduc\w+|minimi\w+|highest|higher|maximi\w+|best)\b", re.IGNORECASE)
    lines = (line for line in words.splitlines() if wanted.search(line))
    found = [name for line in lines for name in re.findall(r"`([a-z][a-z0-9_]*)`", line)]
    return [name for name in dict.fromkeys(found) if re.search(r"_(us|ms|ns|s|cycles)$|score|gflops|gbps", name)]


def _measured(found: TaskDraft, benchmark: str, texts: dict[str, str]) -> None:
    command = f"python3 {benchmark} --json"
    modes = [mode for mode in ("dev", "final") if re.search(rf"[\"']{mode}[\"']", texts[benchmark])]
    has_modes = "--mode" in texts[benchmark] and len(modes) == 2
    found.put("bench", "command", f"{command} --mode dev" if has_modes else command)
    if has_modes:
        found.put("final", "command", f"{command} --mode final")
        found.assumed.append("the mode `dev` is measured, and `final` holds out cases: it is run before an acceptance")
    verifier = "verifier.py" if "verifier.py" in texts and benchmark != "verifier.py" else ""
    if verifier:
        found.made[glue.CHECK] = glue.check(f"{{ python3 {verifier}; }}")
        found.put("check", "command", f"python3 {glue.CHECK}")
        found.weak.append(
            "verifier.py says by its exit status alone that a candidate is right: it passes one that ends the process"
        )
        found.assumed.append("verifier.py checks a candidate: it has to exit with 0, and what it says must be good")


def _timed_by_verifier(found: TaskDraft, verifier: str) -> None:
    found.made[glue.BENCH] = glue.bench(f"python3 {verifier}", _TIMED)
    found.put("bench", "command", f"python3 {glue.BENCH}")
    found.put("bench", "score", "best_us")
    found.put("bench", "direction", "lower")
    found.judges = True
    found.weak.append(
        f"{verifier} runs the candidate in its own process: one that prints a time itself and ends the process passes"
    )
    found.weak.append(
        f"{verifier} prints a time in a sentence (`best=0.01s`), or its whole run is timed; it may fail what is slower"
        " than its own threshold: a right candidate that is too slow then counts as wrong"
    )


IMPORTER = Importer("a HarnessGym workspace: task.md, benchmark.py, verifier.py", recognise, draft)
