"""Makes tools of a `.harnessgym` folder: each of its servers with the bundle's other files, else each of its skills."""

import json
import posixpath
import re
import shlex
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kpd.tools import content_length
from kpd.tools.files import BadTool, read_tool
from kpd.tools.manifest import INTERPRETER, MANIFEST, MOST_CALL_S, MOST_SUMMARY, SKILL

FOLDER = ".harnessgym"
REGISTRY = "registry.json"
MANIFESTS = ("mcp.json", "server.json", "harnessgym-mcp.json")
SHARED = ("tools", "verifiers", "fixtures", "tests", "docs", "scripts")
"""Folders of a bundle that belong to all of its servers. Logs of runs, in `runs`, do not."""
BRIDGE = "content_length.py"
POINTED = re.compile(r"`([\w.-]+)[`(]|\bmcp(?:__|/)([A-Za-z0-9.-]+(?:_[A-Za-z0-9.-]+)*)")
"""How a skill writes the name of a server, or of a tool of it: in backquotes, or behind `mcp/` or `mcp__`."""
FRAMES = re.compile(rb"[\"'`]content-length: ?[%{$\"'`]", re.IGNORECASE)
"""A header of this name that a program writes: text that ends there, or goes on with a value."""


@dataclass(frozen=True, slots=True)
class ForeignTool:
    """A tool of such a folder, as files of kpd's own form; `notes` say what was assumed of it, a line each."""

    name: str
    files: dict[str, bytes]
    notes: tuple[str, ...]


def bundle_of(folder: Path) -> Path | None:
    """Return the `.harnessgym` folder that `folder` is or has; None for another one."""
    for found in (folder, folder / FOLDER):
        if found.name == FOLDER and found.is_dir():
            return found
        if (found / REGISTRY).is_file() or (
            found.is_dir() and any((found / kind).is_dir() for kind in ("mcp", "skills"))
        ):
            return found
    return None


def foreign_tools(bundle: Path) -> tuple[tuple[ForeignTool, ...], tuple[str, ...]]:
    """Return the tools of a bundle, and what was left out, a line each. Raises BadTool; raises OSError."""
    folders = (name for name in ("mcp", "skills", *SHARED) if not (bundle / name).is_symlink())
    parts = [name for name in folders if (bundle / name).is_dir()]
    files = {f"{part}/{path}": data for part in parts for path, data in read_tool(bundle / part).items()}
    quarantined, left = _quarantined(bundle / REGISTRY), []
    servers = [path for path in files if path.startswith("mcp/") and path.rpartition("/")[2] in MANIFESTS]
    skills = [path for path in files if path.startswith("skills/") and path.rpartition("/")[2] == SKILL]
    for kept in (servers, skills):
        for path in [path for path in kept if f"{FOLDER}/{path}" in quarantined]:
            left.append(f"{path} is quarantined there")
            kept.remove(path)
    gone = {name: path for path in quarantined for name in _names_of(path.removeprefix(f"{FOLDER}/"), files)}
    for path in list(skills):
        named = (name for pair in POINTED.findall(files[path].decode(errors="replace")) for name in pair)
        if stale := next((gone[name] for name in named if name in gone), ""):
            left.append(f"{path} points at {stale}, which is quarantined there")
            skills.remove(path)
    if not servers and not skills:
        told = f"no server and no skill in {bundle}{''.join(f'; {line}' for line in left)}"
        raise BadTool(told, f"its servers are below mcp, each with a {MANIFESTS[-1]}")
    if not servers:
        return tuple(_skill(path, files) for path in skills), tuple(left)
    left += [f"{path}: a tool has one skill" for path in skills[1:]]
    shared = {path: data for path, data in files.items() if path.partition("/")[0] in SHARED}
    if skills:
        shared[SKILL] = files[skills[0]]
    made: list[ForeignTool] = []
    bad: list[BadTool] = []
    for path in servers:
        try:
            made.append(_server(path, files, shared))
        except BadTool as err:
            bad.append(err)
    if not made:
        raise bad[0]
    return tuple(made), (*left, *map(str, bad))


def _quarantined(registry: Path) -> set[str]:
    """Return the paths of what the registry calls quarantined. Keys that it lacks mean nothing. Raises BadTool."""
    if not registry.is_file():
        return set()
    found = _parsed(registry.name, registry.read_bytes()).get("artifacts")
    entries = [entry for entry in found if isinstance(entry, dict)] if isinstance(found, list) else []
    return {str(entry.get("path")) for entry in entries if _status(entry) == "quarantined"}


def _names_of(path: str, files: Mapping[str, bytes]) -> set[str]:
    """Return the names by which a skill may point at the server of this manifest; of other files there are none."""
    if not path.startswith("mcp/") or posixpath.basename(path) not in MANIFESTS:
        return set()
    try:
        manifest = _parsed(path, files.get(path, b"{}"))
    except BadTool:
        manifest = {}
    listed = manifest.get("enabled_tools")
    words = [posixpath.basename(posixpath.dirname(path)), manifest.get("name")]
    words += listed if isinstance(listed, list) else []
    return {word for word in words if isinstance(word, str)}


def _status(entry: Mapping[str, Any]) -> str:
    metadata = entry.get("metadata")
    found = metadata.get("qualification") if isinstance(metadata, dict) else None
    return str(found.get("status", "")) if isinstance(found, dict) else ""


def _skill(path: str, files: Mapping[str, bytes]) -> ForeignTool:
    folder = posixpath.dirname(path)
    own = {name.removeprefix(f"{folder}/"): data for name, data in files.items() if name.startswith(f"{folder}/")}
    name = tool_name(posixpath.basename(folder))
    return ForeignTool(name, {**own, MANIFEST: _toml(name, f"the skill {name}", {})}, ())


def _server(path: str, files: Mapping[str, bytes], shared: Mapping[str, bytes]) -> ForeignTool:
    """Make a tool of the server that the manifest at `path` describes. Raises BadTool."""
    manifest, folder, notes = _parsed(path, files[path]), posixpath.dirname(path), []
    own = {name: data for name, data in files.items() if name.startswith(f"{folder}/")}
    name = tool_name(str(manifest.get("name") or posixpath.basename(folder)))
    at = str(manifest.get("cwd") or ".")
    argv = _words(path, manifest.get("command"), manifest.get("args"))
    if not argv:
        raise BadTool(f"{path} names no command", 'write "command" and "args" there')
    known = {**own, **shared}
    server = [_placed(word, at, folder, known) for word in argv]
    check = manifest.get("self_test")
    given = check.get("command") if isinstance(check, dict) else check
    self_test = [_placed(word, at, folder, known) for word in _words(path, given, None)]
    if not self_test:
        self_test = [*server, "--self-test"]
    if self_test[:-1] == server and check is not True:
        notes.append(f"{path} names no self_test: --self-test is tried")
    tests = sorted(name for name in shared if re.fullmatch(r"tests/test_[^/]*\.py", name))
    commands = {
        "server": server,
        "self_test": self_test,
        "tests": ["python3", "-m", "unittest", "discover", "-s", "tests"],
    }
    if len(tests) == 1:
        commands["tests"] = ["python3", tests[0]]
    elif not tests:
        notes.append("it has no tests: its self-test stands for them")
        commands["tests"] = self_test
    if any(FRAMES.search(data) for at, data in own.items() if at.endswith((".py", ".js", ".mjs"))):
        known[BRIDGE] = Path(content_length.__file__).read_bytes()
        commands["server"] = ["python3", BRIDGE, *server]
        notes.append("its server frames messages with Content-Length: the tool converts them")
    seconds = manifest.get("timeouts")
    call_s = seconds.get("tool_seconds") if isinstance(seconds, dict) else None
    limit = min(float(call_s), MOST_CALL_S) if isinstance(call_s, int | float) and call_s > 0 else MOST_CALL_S
    known[MANIFEST] = _toml(name, f"the server {name}", commands, limit)
    return ForeignTool(name, known, tuple(notes))


def _words(path: str, command: object, args: object) -> list[str]:
    try:
        words = shlex.split(command) if isinstance(command, str) else command if isinstance(command, list) else []
    except ValueError as err:
        raise BadTool(f"{path} has a command that cannot be read: {err}", "write it as a list of words") from err
    more = args if isinstance(args, list) else []
    return [str(word) for word in (*words, *more)]


def _placed(word: str, at: str, folder: str, files: Iterable[str]) -> str:
    """Return a word of a command for the tool's folder: files of the bundle keep their place in it.

    There the workspace was three folders above a server; here the current folder is the copy of the task.
    """
    if posixpath.basename(word) in INTERPRETER:
        return "python3"
    here = posixpath.normpath(posixpath.join(at, word))
    inner = here.removeprefix(f"{FOLDER}/")
    if inner in files:
        return inner
    if f"{folder}/{word}" in files:
        return f"{folder}/{word}"
    return "." if here == "." else word


def tool_name(given: str) -> str:
    """Return the nearest name that a tool may have."""
    plain = re.sub(r"[^a-z0-9]+", "-", given.lower()).strip("-")
    plain = plain.removeprefix("kpd").strip("-") or "tool"
    return (plain if plain[0].isalpha() else f"t-{plain}")[:32].strip("-").ljust(2, "x")


def _parsed(path: str, data: bytes) -> dict[str, Any]:
    try:
        found = json.loads(data)
    except (ValueError, RecursionError) as err:
        raise BadTool(f"{path} is no JSON: {err}", "mend it, or remove it") from err
    if not isinstance(found, dict):
        raise BadTool(f"{path} is no object", "mend it, or remove it")
    return found


def _toml(name: str, summary: str, commands: Mapping[str, list[str]], call_s: float | None = None) -> bytes:
    """Write a manifest; JSON's strings and lists are TOML's, too, but for two kinds of characters. Raises BadTool."""
    values: dict[str, Any] = {"name": name, "summary": f"{summary}, from {FOLDER}"[:MOST_SUMMARY], **commands}
    if call_s is not None:
        values["call_s"] = call_s
    text = "".join(f"{key} = {json.dumps(value, ensure_ascii=False)}\n" for key, value in values.items())
    try:
        return text.replace("\x7f", "\\u007f").encode()
    except UnicodeEncodeError as err:
        raise BadTool(f"a command of {name} holds half a character", "mend it") from err
