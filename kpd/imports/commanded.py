"""Makes the parts that most drafts share: what may be edited, what a search may try, what belongs to a run and not to
the task."""

import ast
import re
from collections.abc import Iterable
from typing import Any

from kpd.imports.draft import Answers, TaskDraft
from kpd.imports.errors import ImportRefused, OpenQuestion, Unclear
from kpd.imports.given import json_as
from kpd.imports.source import ForeignFolder

LEDGERS = ("*.csv", "*.log", "*.jsonl")
_JUDGES = re.compile(r"bench|verif|eval|test|check", re.IGNORECASE)
"""Beginnings of the names of programs that judge: they are not proposed as editable."""
SPACES = ("VALID", "SPACE", "CHOICES", "TUNE", "SEARCH_SPACE", "VALID_VALUES")
"""Names of tables that list the values of a configuration's keys."""


def begun(folder: ForeignFolder, answers: Answers, editable: Iterable[str], language: str) -> TaskDraft:
    """Return a draft with the [task] table: all files of the folder, and those that the operator or it calls editable.

    Raises Unclear where nothing is editable, ImportRefused where a named file is not there.
    """
    chosen = answers.editable or tuple(dict.fromkeys(editable))
    if not chosen:
        sources = (path for path in folder.files if path.endswith((".c", ".cpp", ".cu", ".py", ".json")))
        some = tuple(path for path in sources if not _JUDGES.match(path.rpartition("/")[2]))[:8]
        raise Unclear(OpenQuestion("--editable", "which files may a candidate change?", some))
    if answers.baseline != "absent" and (missing := [path for path in chosen if not _there(folder, path)]):
        remedy = "correct its name, or say --baseline absent"
        raise ImportRefused(f"{missing[0]} is not in {folder.root}", remedy)
    draft = TaskDraft(tuple(folder.files), {"task": {"name": "", "language": answers.language or language}})
    draft.put("task", "summary", summary(folder.words))
    draft.put("task", "editable", list(chosen))
    draft.put("task", "baseline", answers.baseline)
    draft.put("need", "device", answers.device)
    records(folder, draft)
    return draft


def _there(folder: ForeignFolder, path: str) -> bool:
    return path in folder.files or any(one.startswith(path) for one in folder.files if path.endswith("/"))


def records(folder: ForeignFolder, draft: TaskDraft) -> None:
    """Make records of what the folder's own runs have left: results, and ledgers that its text files append to."""
    named = [path for path in folder.products if path.endswith("/") or path.endswith((".csv", ".log", ".jsonl"))]
    ledgers = [path for path in folder.matching("*.csv", "*.log", "results.jsonl") if not _read(folder, path)]
    editable = tuple(draft.get("task", "editable"))
    found = [path for path in (*named, *ledgers, *folder.empty) if not _meets(path, editable)]
    if found:
        draft.put("task", "records", sorted(set(found)))
        draft.copied = tuple(path for path in draft.copied if path not in ledgers)
        draft.assumed.append(f"what the task's own tools write: {', '.join(sorted(set(found)))}")


def _read(folder: ForeignFolder, path: str) -> bool:
    """Return whether a program of the folder reads the file as data: then it is no ledger."""
    programs = "\n".join(folder.text(one) for one in folder.files if one.endswith((".py", ".sh")))
    name = re.escape(path.rpartition("/")[2])
    return re.search(rf"(read_csv|loadtxt|genfromtxt|DictReader)\([^\n]*{name}", programs) is not None


def _meets(path: str, editable: tuple[str, ...]) -> bool:
    return any(path.startswith(one) or one.startswith(path) for one in editable)


def summary(words: str) -> str:
    """Return the first heading of a description, else its first line; empty without one."""
    lines = [line.strip() for line in words.splitlines() if line.strip()]
    heading = next((line for line in lines if line.startswith("#")), lines[0] if lines else "")
    return " ".join(heading.lstrip("# ").split())[:120]


def named_files(folder: ForeignFolder, words: str, verbs: str) -> list[str]:
    """Return the files that a description names in backquotes after one of the verbs, in its order.

    An item of a list without a verb belongs to the line above the list (`You may edit:`). What is not to be changed is
    left out.
    """
    found: list[str] = []
    barred: set[str] = set()
    heading = ""
    for sentence in re.split(r"(?<=[.:;!])\s|\n", words):
        quoted = [path.removeprefix("./") for path in re.findall(r"`([^`\s]+)`", sentence)]
        here = [path for path in quoted if path in folder.files]
        item = re.match(r"\s*[-*] ", sentence)
        said = next((text for text in (sentence, heading if item else "") if _says(text, verbs)), "")
        if re.search(_BARRED, said, re.IGNORECASE):
            barred |= set(here)
        elif said:
            found += here
        if sentence.strip() and not item:
            heading = sentence if sentence.rstrip().endswith(":") else ""
    return [path for path in dict.fromkeys(found) if path not in barred]


_BARRED = r"\b(do not|don't|never|must not|without)\b"


def _says(text: str, verbs: str) -> bool:
    return re.search(rf"{_BARRED}|\b({verbs})\b", text, re.IGNORECASE) is not None


def language_of(folder: ForeignFolder, paths: Iterable[str], programs: Iterable[str] = ()) -> tuple[str, str]:
    """Return the language of a task with its own benchmark, and its device, by what its Python files import."""
    texts = "\n".join(folder.text(path) for path in (*paths, *programs) if path in folder.files)
    python = any(path.endswith(".py") for path in paths)
    if re.search(r"^\s*(import|from) (triton|cutlass)\b", texts, re.MULTILINE):
        return "triton", ""
    gpu = "torch.cuda" in texts or "nvcc" in texts or any(path.endswith((".cu", ".cuh")) for path in folder.files)
    return ("python" if python else "command"), ("gpu" if gpu else "")


def tune(folder: ForeignFolder, draft: TaskDraft, config: str, programs: Iterable[str]) -> None:
    """Make [tune] of the table that lists the values of a configuration file's keys, if a program has one."""
    keys: dict[str, Any] = json_as(folder.text(config), dict[str, Any], config)
    for program in programs:
        for name, table in literals(folder.text(program)).items():
            if name not in SPACES or not isinstance(table, dict):
                continue
            space = {key: values for key, values in table.items() if key in keys and _is_axis(values)}
            if space and all(key.isidentifier() and key.isascii() for key in space):
                draft.toml["tune"] = {key: list(values) for key, values in space.items()}
                draft.assumed.append(f"the search space is {name} of {program}: {len(space)} keys of {config}")
                return


def _is_axis(values: Any) -> bool:
    plain = isinstance(values, list | tuple) and values and all(isinstance(v, bool | int | float | str) for v in values)
    return bool(plain) and len({str(value).lower() for value in values}) == len(values)


def literals(text: str) -> dict[str, Any]:
    """Return the constants that a Python file gives literal values to, at its top level; nothing is run."""
    found: dict[str, Any] = {}
    try:
        body = ast.parse(text).body
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return {}
    for node in body:
        targets = (
            node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
        )
        names = [target.id for target in targets if isinstance(target, ast.Name)]
        value = node.value if isinstance(node, ast.Assign | ast.AnnAssign) else None
        if names and value is not None:
            try:
                found |= dict.fromkeys(names, ast.literal_eval(value))
            except (ValueError, TypeError, MemoryError, RecursionError):
                continue
    return found
