"""Imports programs that print their figures in sentences, with a Makefile: `time: 1.25 ms`, `12.3 GFLOP/s`."""

import re

from kpd.imports import glue
from kpd.imports.commanded import begun
from kpd.imports.draft import Answers, TaskDraft
from kpd.imports.errors import ImportRefused
from kpd.imports.importer import Importer
from kpd.imports.source import ForeignFolder

SOURCES = (".c", ".cc", ".cpp", ".cxx", ".cu")
UNIT = r"ns|us|µs|ms|sec(?:onds?)?|s|cycles|GFLOP/?s|GFLOPS|TFLOP/?s|TFLOPS|GB/s|GiB/s|MB/s"
"""The units of figures: of times, of cycles and of rates."""
_WRITES = re.compile(r"printf|puts|<<")
_FIGURE = re.compile(rf"(?:%\S{{0,16}}[feg]|<<).*\b(?:{UNIT})\b", re.IGNORECASE | re.DOTALL)
LONGEST_STATEMENT = 1_000
"""Characters of a statement that are looked at: a table of numbers is one statement, too."""
_MAIN = re.compile(r"^[ \t]*(?:int|auto|void)\s+main\s*\(", re.MULTILINE)
_PARSE = r"""import re

if ended.returncode != 0:
    sys.exit(ended.returncode if ended.returncode > 0 else 1)
NAMES = {
    "µs": "us", "sec": "s", "second": "s", "seconds": "s", "gflop/s": "gflops", "tflop/s": "tflops", "gb/s": "gbps",
    "gib/s": "gibps", "mb/s": "mbps",
}
WORDS = "PASS(?:ED)?|OK|CORRECT|SUCCESS|FAIL(?:ED|URE)?|INCORRECT|WRONG|MISMATCH|ERROR"
OF = r"\W*(?:verif\w+|validat\w+|check(?:ed|ing)?|test|result|correct(?:ness)?|status)"
result, seen, verdicts = {}, {}, []
for line in ended.stdout.splitlines():
    at = 0
    for found in re.finditer(rf"([-+]?[0-9]*\.?[0-9]+(?:[eE][-+]?[0-9]+)?)\s*({UNIT})\b", line, re.IGNORECASE):
        words = re.findall("[A-Za-z][A-Za-z0-9]*", line[at : found.start()])[-3:]
        unit = found[2].lower()
        unit = NAMES.get(unit, unit)
        words = [word.lower() for word in words if not re.fullmatch(UNIT, word, re.IGNORECASE)]
        name = "_".join([*words, unit])
        seen[name] = seen.get(name, 0) + 1
        result[name if seen[name] == 1 else f"{name.removesuffix(unit)}{seen[name]}_{unit}"] = float(found[1])
        at = found.end()
    for name, value in re.findall(r"(checksum|hash|digest)\s*[:=]?\s*([0-9A-Za-z.+-]+)", line, re.IGNORECASE):
        result[name.lower()] = value
    found = (
        re.fullmatch(rf"\W*({WORDS})\W*", line, re.I)
        or re.match(rf"{OF}(?:\s*(?:[:=]|\.{{2,}})\s*|\s+)({WORDS})\b", line, re.I)
        or re.fullmatch(rf"{OF}\s*(?:[:=]|\.{{2,}})\s*(\w+)\W*", line, re.I)
        or re.search(r"(?<!\b0 )\b(FAIL(?:ED|URE)?|INCORRECT|MISMATCH)\b(?!\s*[:=]?\s*0\b)", line)
    )
    verdicts += [found[1]] if found else []
if verdicts:
    result["verdict"] = verdicts[0] if len(verdicts) == 1 else verdicts
print(json.dumps(result))
"""


def recognise(folder: ForeignFolder) -> tuple[str, ...]:
    built = folder.matching("Makefile", "makefile")
    found = _programs(folder) if built else ()
    return (built[0], found[0]) if built and found else ()


def _programs(folder: ForeignFolder) -> tuple[str, ...]:
    """Return the sources that have a main and print a figure with a unit."""
    texts = {path: folder.text(path) for path in folder.files if path.endswith(SOURCES)}
    plain = {path: text for path, text in texts.items() if "<benchmark/benchmark.h>" not in text}
    return tuple(path for path, text in plain.items() if _MAIN.search(text) and any(map(_prints, text.split(";"))))


def _prints(statement: str) -> bool:
    """Return whether a statement prints a figure with a unit."""
    head = statement[-LONGEST_STATEMENT:]
    begun = _WRITES.search(head)
    return begun is not None and _FIGURE.search(head, begun.end()) is not None


def draft(folder: ForeignFolder, answers: Answers) -> TaskDraft:
    program = _programs(folder)[0]
    makefile = folder.matching("Makefile", "makefile")[0]
    others = [path for path in folder.files if path.endswith(SOURCES) and not _MAIN.search(folder.text(path))]
    found = begun(folder, answers, others, "command")
    if answers.device == "" and any(path.endswith(".cu") for path in folder.files):
        found.put("need", "device", "gpu")
    target = _target(folder.text(makefile), program)
    command = f"{{ make -s {target}; }} >&2 && ./{target}"
    found.made[glue.BENCH] = glue.bench(command, _PARSE, {"UNIT": UNIT})
    found.put("bench", "command", f"python3 {glue.BENCH}")
    found.pins = ("checksum", "hash", "digest")
    found.assumed.append(f"`make {target}` builds the program, and ./{target} prints the figures")
    found.weak.append("the candidate runs in the program that prints: it can print figures itself, and end it")
    found.weak.append("each run compiles anew")
    return found


def _target(makefile: str, program: str) -> str:
    """Return the Makefile's target that is the program: named as its source, else after -o, else the first."""
    named = re.findall(r"^([A-Za-z0-9_][A-Za-z0-9_.-]*)\s*:(?!=)", makefile, re.MULTILINE)
    stem = program.rpartition("/")[2].rpartition(".")[0]
    made = [one for one in named if one not in ("all", "clean", "run", "test", "check") and not one.endswith(".o")]
    if not made:
        raise ImportRefused("the Makefile has no target that is a program", "name the command with --bench")
    return stem if stem in made else made[0]


IMPORTER = Importer("a program that prints its times, with a Makefile", recognise, draft)
