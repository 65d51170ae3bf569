"""Defines what can look wrong with a candidate that is correct and fast: a flag is a reason for a person to look."""

from typing import Literal

from kpd.model.kinds import Kind, Told

Purpose = Literal["system", "clock", "cache", "modes", "unfenced", "unordered", "unsent", "hidden"]
"""What an instruction is for: it calls the system, reads a clock, drops cached data, sets floating-point modes, stores
past the caches without a fence, reads what another block may not have written yet, or is not code as it stands."""


class Calls(Kind, frozen=True):
    """A function of others that the object calls, and that no kernel of its language needs."""

    symbol: str


class Replaces(Kind, frozen=True):
    """A function of the C library, or of kpd's driver, that the object defines itself, for all others to call."""

    symbol: str


class Executes(Kind, frozen=True):
    """An instruction that no kernel needs."""

    instruction: str
    purpose: Purpose


class RunsAtLoad(Kind, frozen=True):
    """A function that runs as soon as the object is loaded, before anybody has called the kernel."""

    function: str


class HasSection(Kind, frozen=True):
    """A section that the compiler makes for no kernel: it runs, can be written and run, or has a name of its own."""

    section: str


class NotInspected(Kind, frozen=True):
    """An object that could not be looked at; `why` are the words of the tool or of its reader."""

    why: str


class InSource(Kind, frozen=True):
    """A line of source code, as in `kernel.py:12`, and what it looks like."""

    place: str
    what: str


Flag = Calls | Replaces | Executes | RunsAtLoad | HasSection | NotInspected | InSource | Told
