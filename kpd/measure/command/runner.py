"""On the host: runs a task's command repeatedly, each time in a fresh copy of a tree, and reports a line per run.

It is staged beside the module of the helper that ends all processes of a command, and started by `runs.script`. Its
only argument is an order as JSON: the `command`, its `limit_s`, the `sides` to run in turn ("abba"), each side's tree
and folder of compiled code (`trees`, `caches`), the `protected` files that must not change, the exit status for a
tree whose content does not match its name (`gone`), and what the task's own tools write: `records`, as regular
expressions for paths, and the `folders` that they need. It stops after a run that fails.
"""

import base64
import contextlib
import hashlib
import json
import os
import re
import stat
import sys
import time
from pathlib import Path
from typing import Any, Iterator, NamedTuple  # noqa: UP035 - evaluated under Python 3.6 too

from kpd.hosts.helper.children import Children
from kpd.hosts.helper.files import remove
from kpd.measure.command.nvml import NvmlGpu

TOLD = (256 << 10, 16 << 10)  # bytes of stdout and of stderr, from their ends, that are reported
KEPT = 1 << 20  # bytes of each log that stay on the host, from its end
CACHES = ("TRITON_CACHE_DIR", "TORCHINDUCTOR_CACHE_DIR", "TORCH_EXTENSIONS_DIR")
PYCACHE = "PYTHONPYCACHEPREFIX"
SHOWN = 10  # names of touched files that are reported
RECORDS = "records.json"  # what the last run of side B has written, in the job's `out/`
MOST_RECORDS, RECORD_BYTES = 100, 1 << 20  # files, and bytes of all of them, that are kept
LOOK_S = 0.05  # between two readings of the GPU's telemetry


class RunOrder(NamedTuple):
    """What to run; see the module's docstring."""

    command: str
    limit_s: float
    sides: str
    trees: "dict[str, str]"
    caches: "dict[str, str]"
    protected: "list[str]"
    gone: int
    records: "list[str]"
    folders: "list[str]"


class DaemonGone(Exception):
    """A tree is missing, or its content does not match its name."""


def main(text: str) -> int:
    order = RunOrder(**json.loads(text))
    children = Children()
    children.listen()
    for number, side in enumerate(order.sides):
        try:
            report = run(order, side, number, children)
        except DaemonGone as err:
            sys.stderr.write(f"{err}\n")
            return order.gone
        if children.asked:
            return 143  # the exit status that a shell gives for SIGTERM
        sys.stdout.write(json.dumps(report) + "\n")
        sys.stdout.flush()
        if report["rc"] != 0 or report["timeout"] or report["touched"]:
            return 0
    return 0


def run(order: RunOrder, side: str, number: int, children: Children) -> "dict[str, Any]":
    """Run the command once and return the report.

    Both sides run in a folder of the same name, so that a path does not tell a candidate which side it is.
    """
    place = Path("run")
    remove(place)
    home = place / "task"
    copy(Path(order.trees[side]), home, set(order.protected))
    before = hashes(home)
    if digest(before) != Path(order.trees[side]).name:
        raise DaemonGone(f"the tree {order.trees[side]} was changed")
    for name in order.folders:
        (home / name).mkdir(parents=True, exist_ok=True)
    (place / "tmp").mkdir()
    logs = [Path("out", f"{number}{side}.{stream}").resolve() for stream in ("stdout", "stderr")]
    gpu = NvmlGpu(os.environ.get("CUDA_VISIBLE_DEVICES", ""))
    started = time.monotonic()
    with guarded(order, side):
        rc, timeout = execute(order, side, place, logs, children, gpu)
    seconds = time.monotonic() - started
    touched = [name for name in order.protected if sha256(home / name) != before[name]]
    if side == "b" and order.records and not children.asked:
        keep_records(home, order.records)
    remove(place)
    return {
        "side": side, "rc": rc, "timeout": timeout, "seconds": round(seconds, 6), "touched": touched[:SHOWN],
        "telemetry": gpu.said(),
        "stdout": tail(logs[0], TOLD[0]), "stderr": tail(logs[1], TOLD[1]),
    }  # fmt: skip


@contextlib.contextmanager
def guarded(order: RunOrder, side: str) -> "Iterator[None]":
    """Run the block with the other side's cache closed; make a cache anew if something in it was changed.

    A framework adds to its cache and has no need to change what is there. A candidate might do so, to influence a later
    run.
    """
    known = {}
    for cache in sorted(map(Path, set(order.caches.values()))):
        if not cache.parent.is_dir():
            raise DaemonGone(f"the folder {cache.parent} is gone")
        cache.mkdir(exist_ok=True)
        cache.chmod(0o700)  # a runner that was killed may have left it closed
        known[cache] = hashes(cache)
    own = Path(order.caches[side])
    for cache in known:
        if cache != own:
            cache.chmod(0)
    try:
        yield
    finally:
        for cache, before in known.items():
            whole = cache.is_dir() and not cache.is_symlink()
            if whole:
                cache.chmod(0o700)
            found = hashes(cache) if whole else {}
            same = {name: found.get(name) for name in before} if cache == own else found
            if not whole or same != before:
                sys.stderr.write(f"the cache {cache} was tampered with while side {side} ran, so it is made anew\n")
                discard(cache)
                cache.mkdir()


def discard(path: Path) -> None:
    """Remove whatever a command left at `path`."""
    if path.is_dir():
        remove(path)
    else:
        with contextlib.suppress(FileNotFoundError):
            path.unlink()


def execute(
    order: RunOrder, side: str, place: Path, logs: "list[Path]", children: Children, gpu: NvmlGpu
) -> "tuple[int, bool]":
    """Run the command; return its exit status (negative for a signal) and whether it ran out of time.

    All processes that it started are ended.
    """
    home, scratch = place / "task", place / "tmp"
    env = dict(os.environ, TMPDIR=str(scratch.resolve()))
    for name in CACHES:
        # Each side has its own cache for what a framework compiles: the other side could replace it.
        env[name] = str(Path(order.caches[side]) / name.lower())
    # Python writes compiled modules of the task into the run's own copy, and those of libraries beside these. A common
    # folder for both would outlive the run, and a candidate could put code for protected files there.
    env.pop(PYCACHE, None)

    def become() -> None:
        os.setsid()
        for descriptor, path in enumerate(logs, 1):
            os.dup2(os.open(str(path), os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), descriptor)
        os.chdir(str(home))
        os.execve("/bin/sh", ["/bin/sh", "-c", order.command], env)

    deadline = time.monotonic() + order.limit_s
    child = children.spawn(become)
    while children.status(child) is None and not children.asked and time.monotonic() < deadline:
        gpu.look()
        children.nap(min(LOOK_S, deadline - time.monotonic()))
    status = children.status(child)
    children.end(child)
    if status is None:
        return -1, True
    return (-os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)), False


def keep_records(home: Path, records: "list[str]") -> None:
    """Put what the run has written into the job's RECORDS: the `files` by path, and the paths that are `left_out`.

    The smallest files come first: a table of results is smaller than a profile.
    """
    wanted = re.compile("|".join(records))
    names = (str(path.relative_to(home)) for path in files(home))
    found = [(name, home / name) for name in names if wanted.fullmatch(name)]
    kept: dict[str, str] = {}
    left_out, room = [], RECORD_BYTES
    for name, path in sorted(found, key=lambda one: one[1].lstat().st_size):
        data = plain(path, room) if len(kept) < MOST_RECORDS else None
        if data is None:
            left_out.append(name)
        else:
            kept[name] = base64.b64encode(data).decode()
            room -= len(data)
    said = json.dumps({"files": kept, "left_out": sorted(left_out)[:MOST_RECORDS]})
    partial = Path("out", f".{RECORDS}")
    partial.write_text(said)
    partial.replace(Path("out", RECORDS))


def plain(path: Path, most: int) -> "bytes | None":
    """Read a regular file of at most `most` bytes; return None for anything else that lies there."""
    with contextlib.suppress(OSError):
        descriptor = os.open(str(path), os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW)
        with os.fdopen(descriptor, "rb") as file:
            if stat.S_ISREG(os.fstat(descriptor).st_mode):
                data = file.read(most + 1)
                return data if len(data) <= most else None
    return None


def copy(tree: Path, home: Path, protected: "set[str]") -> None:
    """Copy a tree's files to `home`: the editable ones can be written, and scripts can be executed."""
    if not tree.is_dir():
        raise DaemonGone(f"the tree {tree} is gone")
    for source in files(tree):
        name = str(source.relative_to(tree))
        target = home / name
        target.parent.mkdir(parents=True, exist_ok=True)
        data = source.read_bytes()
        target.write_bytes(data)
        target.chmod((0o444 if name in protected else 0o644) | (0o111 if data.startswith(b"#!") else 0))


def files(folder: Path) -> "list[Path]":
    return sorted(Path(at, name) for at, _, names in os.walk(str(folder)) for name in names)


def hashes(folder: Path) -> "dict[str, str]":
    return {str(path.relative_to(folder)): sha256(path) for path in files(folder)}


def digest(content: "dict[str, str]") -> str:
    """Compute the name of a tree with this content, as `kpd.hosts.helper.store.ContentStore.tree` does."""
    return hashlib.sha256(json.dumps(sorted(content.items())).encode()).hexdigest()


def sha256(path: Path) -> str:
    """Hash a regular file; return an empty text for anything else that a command may have put in its place."""
    hashed = hashlib.sha256()
    with contextlib.suppress(OSError):
        descriptor = os.open(str(path), os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW)
        with os.fdopen(descriptor, "rb") as file:
            if stat.S_ISREG(os.fstat(descriptor).st_mode):
                for block in iter(lambda: file.read(1 << 20), b""):
                    hashed.update(block)
                return hashed.hexdigest()
    return ""


def tail(log: Path, told: int) -> str:
    """Return the last `told` bytes of a log as text, and cut the log itself to its last KEPT bytes."""
    try:
        with log.open("r+b") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - KEPT))
            kept = file.read(KEPT)
            if size > KEPT:
                file.seek(0)
                file.write(kept)
                file.truncate()
    except OSError:  # the command has removed it
        return ""
    return kept[-told:].decode(errors="replace")
