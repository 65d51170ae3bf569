"""Answers one request about a place: reads its arguments as JSON, prints the answer as JSON.

A change begins, is renewed, and ends in a commit or a restore. Who changes something names the change by its id: it may
have ended meanwhile.
"""

import fcntl
import json
import os
import re
import shutil
import sys
import time
from pathlib import Path

from kpd.hosts.helper.files import RequestRefused, remove, trouble
from kpd.hosts.helper.processes import MARK
from kpd.production.far import disk, switch, timed
from kpd.production.far.history import history, remember, remove_originals
from kpd.production.far.plan import ABSENT, LINK, STRANGE, owned
from kpd.production.far.record import BLOCKED, BOOT, COMMITTED, ENDED, OPEN, Change, PlaceFolder, entries, with_entry
from kpd.production.far.refusals import live, owned_now, refuse_overlap
from kpd.production.far.restore import restore

PLACES = "~/.local/state/kpd/places"


def op_status(place: PlaceFolder) -> Change:
    """Describe the last change and the files as they are now, and whether the switch runs.

    One that a restart has ended, while its change has not, is started again. Nothing else is written.
    """
    if not place.folder.is_dir():
        return {"change": None, "folder": str(place.folder)}
    with place.locked():
        change = place.change()
        if change is None:
            return {"change": None, "folder": str(place.folder)}
        now = {}
        for entry in entries(change):
            sha = disk.seen(place.root, entry.path)
            now[entry.path] = "original" if sha == entry.sha else "kpd" if owned(entry, sha) else "other"
        lived = switch.lives(place)
        if change["state"] not in (*ENDED, BLOCKED):
            switch.arm(place)
        return {
            "change": change, "folder": str(place.folder), "now": now, "left_s": place.left_s(change), "switch": lived,
            "trouble": place.troubled(),
        }  # fmt: skip


def op_look(
    place: PlaceFolder, files: "list[str]", binary: "list[str]", context: "tuple[str, ...]" = (), kernel: str = ""
) -> Change:
    """Describe the files as they are before any change. Nothing is written but what is removed at once.

    `named` says whether one of the files names the kernel, `missing` is what cannot be read of the context.
    """
    if not BOOT.exists():
        raise RequestRefused("refused", "only hosts with Linux can have projects")
    if not place.root.is_dir():
        raise RequestRefused("not_found", f"there is no folder {place.root}")
    found = []
    for name, kind in [*((name, "binary") for name in binary), *((name, "file") for name in files)]:
        entry = disk.described(place.root, name, kind)
        path = disk.place_of(place.root, name)
        if path.parent.is_dir():
            disk.check_writable(path)
        size = path.stat().st_size if entry.sha != ABSENT else 0
        found.append({"path": name, "kind": kind, "sha": entry.sha, "size": size})
    missing = [name for name in context if not os.access(str(place.root / name), os.R_OK)]
    texts = [(place.root / name).read_bytes() for name in files]
    return {
        "root": str(place.root), "files": found, "free": shutil.disk_usage(str(place.root)).free, "missing": missing,
        "named": any(re.search(rb"\b" + re.escape(kernel).encode() + rb"\b", text) for text in texts),
    }  # fmt: skip


def op_begin(
    place: PlaceFolder,
    id: str,
    files: "list[str]",
    binary: "list[str]",
    build_dir: str,
    holder: str,
    purpose: str,
    lease_s: float,
    needed: "tuple[str, ...]" = (),
) -> Change:
    """Copy the originals, and hold the files for `lease_s` seconds; from then on the switch runs. Return the change.

    `needed` are the ids of earlier changes that may still be taken back: their originals are kept. Asked again with the
    same id, because the answer was lost, it returns the change that has begun.
    """
    op_look(place, files, binary)
    place.make()
    with (place.folder.parent / "lock").open("a") as all_places, place.locked():
        fcntl.flock(all_places, fcntl.LOCK_EX)
        before = place.change()
        if before is not None and before["id"] == id:
            return before
        if before is not None and before["state"] not in ENDED:
            if before["state"] == OPEN and place.left_s(before):
                raise RequestRefused("taken", f"{before['holder']} changes {place.root}: {before['purpose']}")
            before = restore(place, "lease")
        if before is not None and before["state"] == BLOCKED:
            theirs = before["conflicts"][0]
            raise RequestRefused("changed", f"somebody else has made {theirs}: move it away, and restore")
        refuse_overlap(place, [*files, *binary])
        kinds = [*((name, "binary") for name in binary), *((name, "file") for name in files)]
        held = [disk.described(place.root, name, kind) for name, kind in kinds]
        for entry in held:
            if entry.sha != ABSENT:
                disk.keep(disk.place_of(place.root, entry.path), entry.sha, place.originals)
        past = remember(place, before, needed)
        change = {
            "id": id, "root": str(place.root), "holder": holder, "purpose": purpose, "state": OPEN,
            "why": "", "begun": time.time(), "ended": None, "build_dir": build_dir, "jobs": [], "touched": [],
            "conflicts": [], "entries": [dict(entry._asdict()) for entry in held],
        }  # fmt: skip
        remove_originals(place, change, past, needed)
        remove(place.program)
        shutil.copytree(str(Path(sys.argv[0]).resolve()), str(place.program))
        place.trouble("")
        place.hold(str(change["id"]), lease_s)
        place.save(change)
        switch.arm(place)
    return change


def op_put(place: PlaceFolder, id: str, path: str, content: str, sha: str) -> Change:
    """Write one of the files with the content of the file `content`, which has this hash. Return the change."""
    with place.locked():
        change = live(place, id)
        entry = next((entry for entry in entries(change) if entry.path == path), None)
        if entry is None:
            raise RequestRefused("refused", f"{path!r} is none of the project's files")
        now = owned_now(place, entry)
        switch.arm(place)
        others = tuple(one for one in entry.wrote if one != sha)
        entry = entry._replace(wrote=(*others, sha))
        change = with_entry(change, entry)
        place.save(change)
        if not disk.replace(disk.place_of(place.root, path), Path(content), sha, entry, now):
            raise RequestRefused("changed", f"somebody else has changed {path}")
    return change


def op_building(place: PlaceFolder, id: str) -> Change:
    """Note that the job in which this runs may write the binaries from now on. Return the change.

    The switch is not started here: it would be one of the job's processes, which restoring ends.
    """
    with place.locked():
        change = live(place, id)
        for entry in entries(change):
            owned_now(place, entry)
            change = with_entry(change, entry._replace(building=entry.kind == "binary"))
        change["jobs"] = [*change["jobs"], os.environ[MARK]]
        place.save(change)
        listing = disk.listing(place.root, untold(change))
        place.write("before.json", json.dumps(listing))
    return change


def op_built(place: PlaceFolder, id: str) -> Change:
    """Note what the job in which this runs has left: the binaries, and what it has touched besides."""
    with place.locked():
        change = live(place, id)
        for entry in entries(change):
            now = disk.seen(place.root, entry.path) if entry.kind == "binary" else entry.sha
            alike = now != entry.sha and not {now, entry.sha} & {ABSENT, LINK, STRANGE}
            alike = alike and disk.same_program(place.originals / entry.sha, disk.place_of(place.root, entry.path))
            change = with_entry(change, entry._replace(wrote=(*entry.wrote, now), building=False, alike=alike))
        before = json.loads((place.folder / "before.json").read_text())
        after = disk.listing(place.root, untold(change))
        change["touched"] = None if before is None or after is None else disk.touched(before, after)
        place.save(change)
    return change


def op_keep(place: PlaceFolder, id: str) -> Change:
    """Keep copies of the files as they are now, beside the originals, so that they can be put again."""
    with place.locked():
        change = live(place, id)
        for entry in entries(change):
            now = owned_now(place, entry)
            if now not in (ABSENT, LINK):
                disk.keep(disk.place_of(place.root, entry.path), now, place.originals)
    return change


def op_timed(
    place: PlaceFolder, id: str, order: str, sides: "dict[str, dict[str, str]]", command: str, cwd: str,
    limit_s: float, outputs: "list[str]",
) -> "dict[str, list[Change]]":  # fmt: skip
    """Run the program once for each letter of `order`, with the kept binaries of that side put anew before each run.

    `sides` are hashes by path. It ends at the first run that fails. The job in which this runs ends with the change.
    """
    with place.locked():
        change = live(place, id)
        change["jobs"] = [*change["jobs"], os.environ[MARK]]
        place.save(change)
    runs = []  # type: list[Change]
    for side in order:
        for path, sha in sides[side].items():
            op_put(place, id, path, str(place.originals / sha), sha)
        runs.append(dict(timed.run(place.root, command, cwd, limit_s, outputs), side=side))
        if runs[-1]["rc"] != 0:
            break
    return {"runs": runs}


def op_kept(place: PlaceFolder) -> "dict[str, list[str]]":
    """Return the hashes of the files of which there are copies."""
    if not place.folder.is_dir():
        return {"kept": []}
    with place.locked():
        return {"kept": sorted(path.name for path in place.originals.iterdir())}


def op_history(place: PlaceFolder) -> "dict[str, list[Change]]":
    """Return all changes that are remembered, oldest first."""
    if not place.folder.is_dir():
        return {"changes": []}
    with place.locked():
        return {"changes": history(place, place.change())}


def op_renew(place: PlaceFolder, id: str, lease_s: float) -> Change:
    """Hold the change for `lease_s` seconds from now. Return it."""
    with place.locked():
        change = live(place, id)
        place.hold(id, lease_s)
        switch.arm(place)
    return change


def op_commit(place: PlaceFolder, id: str) -> Change:
    """End the change with its files as they are now. Return it."""
    with place.locked():
        change = place.change() or {}
        if (change.get("id"), change.get("state")) == (id, COMMITTED):
            return change  # the first answer was lost
        change = live(place, id)
        for entry in entries(change):
            if (place.root / entry.path).is_symlink():
                raise RequestRefused("refused", f"{entry.path} is a symbolic link now: name the real file")
            owned_now(place, entry)
        change.update(state=COMMITTED, ended=time.time())
        place.save(change)
    return change


def op_restore(place: PlaceFolder, id: str = "") -> Change:
    """Restore what the last change has changed, whoever holds it, or only if it has this id. Return the change."""
    if not place.folder.is_dir():
        return {"change": None}
    with place.locked():
        change = place.change()
        other = change is not None and id not in ("", change["id"])
        return {"change": change if other else restore(place, "asked")}


def untold(change: Change) -> "list[str]":
    """Return what a build may write, and what kpd does: relative to the root."""
    return [change["build_dir"], *(entry.path for entry in entries(change))]


OPS = {name[3:]: op for name, op in list(globals().items()) if name.startswith("op_")}


def main() -> None:
    """Serve the request of the command line: an operation, and its arguments as a JSON object."""
    os.umask(0o022)
    try:
        name, given = sys.argv[1], json.loads(sys.argv[2])
        places = Path(given.pop("places", PLACES)).expanduser()
        place = PlaceFolder(places, Path(os.path.realpath(str(Path(given.pop("root")).expanduser()))))
        reply = {"ok": OPS[name](place, **given)}
    except Exception as err:  # noqa: BLE001 - the near side gets every error as an answer
        reply = {"error": trouble(err)}
    sys.stdout.write(json.dumps(reply) + "\n")
