"""Refuses requests to a change that has ended, and to files that are not kpd's to change."""

import json
import os
from pathlib import Path

from kpd.hosts.helper.files import RequestRefused
from kpd.production.far import disk
from kpd.production.far.plan import Entry, owned
from kpd.production.far.record import ENDED, OPEN, Change, PlaceFolder, entries


def live(place: PlaceFolder, id: str) -> Change:
    """Return the change of this id. Raises RequestRefused (ended) where it is over."""
    change = place.change() if place.folder.is_dir() else None
    if change is None or change["id"] != id or change["state"] != OPEN or not place.left_s(change):
        raise RequestRefused("ended", f"the change of {place.root} has ended: its lease was over, or it was restored")
    return change


def owned_now(place: PlaceFolder, entry: Entry) -> str:
    """Return what one of the files is now. Raises RequestRefused (changed) where that is the work of others."""
    now = disk.seen(place.root, entry.path)
    if not owned(entry, now):
        raise RequestRefused("changed", f"somebody else has changed {entry.path}")
    return now


def refuse_overlap(place: PlaceFolder, names: "list[str]") -> None:
    """Raise RequestRefused (taken) where an open change of another root has one of the files."""
    mine = {os.path.realpath(str(place.root / name)) for name in names}
    for path in place.folder.parent.glob("*/change.json"):
        other = json.loads(path.read_text())
        if path.parent != place.folder and other["state"] not in ENDED:
            shared = mine & {os.path.realpath(str(Path(other["root"], entry.path))) for entry in entries(other)}
            if shared:
                raise RequestRefused("taken", f"{other['holder']} changes {min(shared)}, as part of {other['root']}")
