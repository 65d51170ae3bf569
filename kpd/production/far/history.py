"""Remembers the changes of a place that have ended, and keeps the originals of those that may still be needed."""

import contextlib
import json

from kpd.production.far.record import COMMITTED, Change, PlaceFolder, entries

KEPT = 5  # committed changes whose originals are kept, beside those that are still needed
HISTORY = 200  # changes that are remembered


def history(place: PlaceFolder, last: "Change | None") -> "list[Change]":
    """Return all changes that are remembered, oldest first, and the last one; a row that cannot be read is left out."""
    found = []
    with contextlib.suppress(FileNotFoundError):
        for row in (place.folder / "history.jsonl").read_bytes().splitlines():
            with contextlib.suppress(ValueError):
                found.append(dict(json.loads(row.decode())))
    return [*found, *([] if last is None else [last])]


def remember(place: PlaceFolder, last: "Change | None", needed: "tuple[str, ...]") -> "list[Change]":
    """Add the last change to those that are remembered, and return them: so many, and those with the ids `needed`."""
    rows = history(place, last)
    rows = [row for at, row in enumerate(rows) if at >= len(rows) - HISTORY or row["id"] in needed]
    place.write("history.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
    return rows


def remove_originals(place: PlaceFolder, change: Change, rows: "list[Change]", needed: "tuple[str, ...]") -> None:
    """Remove the originals of all changes but this one, the last committed ones, and those with the ids `needed`."""
    last = [row for row in rows if row["state"] == COMMITTED or row["conflicts"]][-KEPT:]
    keeping = [change, *last, *[row for row in rows if row["id"] in needed]]
    kept = {entry.sha for one in keeping for entry in entries(one)}
    for path in place.originals.iterdir():
        if path.name not in kept:
            path.unlink()
