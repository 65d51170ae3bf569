"""Finds agents, transports, languages and rules by name, through entry points: kpd's own and those of plug-ins.

An entry is imported when it is first used. kpd's own go first, so a plug-in cannot replace one of them. Every fault of
a plug-in is a PlugInError, raised whenever its name is used.
"""

import importlib
import re
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from types import TracebackType
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from kpd.workspace.paths import WorkspaceError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

T = TypeVar("T")
Entries = Mapping[str, "EntryPoint"]
NAME = re.compile(r"[a-z][a-z0-9_-]{0,31}")
"""The names that an entry may have: they are written on command lines and in config.toml."""
SESSION = "session"
"""The entry that stands for all coding agents of config.toml: people name these without it."""
_CORRECT = "correct the plug-in or uninstall it, then restart the daemon; docs/extending.md shows how one is made"
_REINSTALL = "install kpd again: pip install -e . in a checkout, else pip install --force-reinstall kpd"
_imported: dict[str, str] = {}
"""The modules of plug-ins that have been imported, each with its distribution."""


class PlugInError(WorkspaceError):
    """The error that an entry point cannot be used; the message names the distribution and the entry."""


class EntryPointGroup(Generic[T]):
    """A group of entry points. Each leads to a `T`: `check` returns it, or raises ValueError for anything else."""

    def __init__(self, group: str, check: Callable[[object], T]) -> None:
        self.group = group
        self._check = check
        self._found: dict[str, T | PlugInError] = {}

    def names(self) -> tuple[str, ...]:
        """Return all names, kpd's own first; imports nothing. Raises PlugInError when kpd's own are not installed."""
        return (*self.own(), *_of_plug_ins(self.group)[0])

    def own(self) -> Entries:
        """Return kpd's own entries. Raises PlugInError when the installed metadata of kpd does not have them."""
        if not (found := _own().get(self.group)):
            raise PlugInError(f"the installed metadata of kpd has no {self.group}: it is of another kpd", _REINSTALL)
        return found

    def get(self, name: str) -> T | None:
        """Return the object that `name` refers to; None where no entry has that name.

        Raises PlugInError where the entry is broken.
        """
        if name not in self._found:
            own = self.own().get(name)
            entry = own or _of_plug_ins(self.group)[0].get(name)
            if entry is None:
                return None
            self._found[name] = self._load(entry, _REINSTALL if own else _CORRECT)
        found = self._found[name]
        if isinstance(found, PlugInError):
            raise PlugInError(found.message, found.remedy)
        return found

    def register(self, name: str, value: T) -> None:
        """Make `name` refer to `value` in this process, in place of what is installed: for programs that embed kpd."""
        self._found[name] = value

    def plug_ins(self) -> Iterator[tuple[str, T | PlugInError]]:
        """Yield each plug-in's entry, in words, with its object or the error that it raises. Imports all of them."""
        usable, passed_over = _of_plug_ins(self.group)
        for name, entry in usable.items():
            try:
                found = self.get(name)
                assert found is not None
                yield told(entry), found
            except PlugInError as err:
                yield told(entry), err
        yield from passed_over.items()

    def _load(self, entry: "EntryPoint", remedy: str) -> T | PlugInError:
        try:
            if remedy == _CORRECT and entry.dist is not None:
                _imported[entry.module] = f"{entry.dist.name} {entry.dist.version}"
            return self._check(entry.load())
        except ValueError as err:
            return PlugInError(f"{told(entry)} is not valid: {err}", remedy)
        except Exception as err:  # noqa: BLE001 - whatever a plug-in's module does, only its own name is lost
            return PlugInError(f"{told(entry)} cannot be imported: {type(err).__name__}: {err}", remedy)


def told(entry: "EntryPoint") -> str:
    """Describe an entry in words: `'example' of kpd-example 0.1 (kpd.agents, example:AGENT)`."""
    dist = entry.dist
    assert dist is not None
    return f"{entry.name!r} of {dist.name} {dist.version} ({entry.group}, {entry.value})"


def referred(reference: str) -> Any:
    """Import and return the object that `module:name` refers to. Raises whatever the import raises."""
    module, _, name = reference.partition(":")
    return getattr(importlib.import_module(module), name)


def plug_in_at_fault(trace: TracebackType | None) -> str:
    """Return the plug-in's distribution in whose code an error was raised; empty where no plug-in's code took part."""
    fault = ""
    while trace is not None:
        module = f"{trace.tb_frame.f_globals.get('__name__', '')}."
        fault = next((words for of, words in _imported.items() if module.startswith(f"{of}.")), fault)
        trace = trace.tb_next
    return fault


@cache
def _own() -> Mapping[str, Entries]:
    """Return kpd's own entries by group; empty where kpd is not installed. Reads one file, kpd's own metadata."""
    from importlib.metadata import PackageNotFoundError, distribution

    found: dict[str, dict[str, EntryPoint]] = {}
    try:
        for entry in distribution("kpd").entry_points:
            found.setdefault(entry.group, {})[entry.name] = entry
    except PackageNotFoundError:
        return {}
    return found


@cache
def _of_plug_ins(group: str) -> tuple[Entries, Mapping[str, PlugInError]]:
    """Return the plug-ins' entries of a group that can be used, by name, and the errors of those that cannot.

    The errors are listed by the entry's description.
    """
    usable: dict[str, EntryPoint] = {}
    passed_over: dict[str, PlugInError] = {}
    for entry in _all_others():
        if entry.group != group:
            continue
        why = "" if NAME.fullmatch(entry.name) else "a name is lower-case letters, digits, _ and -"
        if entry.name in _own().get(group, {}):
            why = "kpd's own has that name"
        elif entry.name in usable:
            why = f"{told(usable[entry.name])} has that name"
        if why:
            passed_over[told(entry)] = PlugInError(f"{told(entry)} is passed over: {why}", "give it another name")
        else:
            usable[entry.name] = entry
    return usable, passed_over


@cache
def _all_others() -> tuple["EntryPoint", ...]:
    """Return the entries of all other distributions, sorted by distribution name. Reads the metadata of all of them."""
    from importlib.metadata import distributions

    found = [
        (entry.dist.name, entry)
        for each in distributions()
        for entry in each.entry_points
        if entry.group.startswith("kpd.") and entry.dist is not None and entry.dist.name != "kpd"
    ]
    return tuple(entry for _, entry in sorted(found, key=lambda one: one[0]))
