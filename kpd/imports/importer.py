"""Defines the interface to an importer: one format of folders that others write, an entry point of `kpd.importers`."""

from collections.abc import Callable
from dataclasses import dataclass

from kpd.imports.draft import Answers, TaskDraft
from kpd.imports.errors import ImportRefused, OpenQuestion, Unclear
from kpd.imports.source import ForeignFolder
from kpd.workspace.entry_points import EntryPointGroup, PlugInError

Recognise = Callable[[ForeignFolder], tuple[str, ...]]
"""Returns the signs of the format that a folder has, for people; none where it has another format."""


@dataclass(frozen=True, slots=True)
class Importer:
    """A format. `title` names it for people; `draft` makes a task of a folder. It raises Unclear, ImportRefused."""

    title: str
    recognise: Recognise
    draft: Callable[[ForeignFolder, Answers], TaskDraft]


@dataclass(frozen=True, slots=True)
class Recognised:
    """The format of a folder: its entry's name, the importer, and the signs by which it was recognised."""

    name: str
    importer: Importer
    signs: tuple[str, ...]


def _checked(found: object) -> Importer:
    if not isinstance(found, Importer):
        raise ValueError(f"it is {type(found).__name__} instead of a kpd.imports.importer.Importer")
    return found


IMPORTERS = EntryPointGroup("kpd.importers", _checked)


def _known(wanted: str) -> tuple[dict[str, Importer], list[str]]:
    """Return the importers that can be used, and the faults of others. Raises PlugInError for the wanted one."""
    known: dict[str, Importer] = {}
    faults: list[str] = []
    for name in IMPORTERS.names():
        try:
            if (found := IMPORTERS.get(name)) is not None:
                known[name] = found
        except PlugInError as err:
            if name == wanted:
                raise
            faults.append(err.message)
    return known, faults


def recognised(folder: ForeignFolder, name: str = "") -> Recognised:
    """Return the format of a folder, or the one called `name`. Raises ImportRefused, Unclear, PlugInError."""
    known, faults = _known(name)
    if name and name not in known:
        raise ImportRefused(f"there is no format {name!r}", f"formats: {', '.join(known)}")
    signs = {one: found.recognise(folder) for one, found in known.items() if not name or one == name}
    most = max(map(len, signs.values()), default=0)
    best = [one for one, found in signs.items() if found and len(found) == most] or ([name] if name else [])
    if not best:
        titles = "; ".join((*(f"{one} ({found.title})" for one, found in known.items()), *faults))
        raise ImportRefused(f"{folder.root} has none of the formats that kpd knows", f"formats: {titles}")
    if len(best) > 1:
        raise Unclear(OpenQuestion("--format", f"{folder.root} looks like {len(best)} formats", tuple(best)))
    return Recognised(best[0], known[best[0]], signs[best[0]])
