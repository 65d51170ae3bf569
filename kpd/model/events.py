"""Defines an `Event`, and is the door to all facts: `from kpd.model import events as e`, then `e.RunQueued`.

A step of an iteration is journalled twice: `StepStarted` before it, its own fact (`Proposed`, `Built`, …) after it.
Who reads or writes facts of several subjects uses this door; who needs a few of one subject imports that module.
`facts/` has those that `fold`, `iterating` and `rebasing` apply; a module that applies its own facts defines them, too.
"""

from dataclasses import dataclass

from kpd.model.acts import *
from kpd.model.comparisons import *
from kpd.model.deploying import *
from kpd.model.fact import Fact as Fact, IterationFact as IterationFact, RunFact as RunFact, StepFact as StepFact
from kpd.model.facts.calls import *
from kpd.model.facts.devices import *
from kpd.model.facts.files import *
from kpd.model.facts.iterations import *
from kpd.model.facts.runs import *
from kpd.model.facts.steps import *
from kpd.model.facts.watchdog import *
from kpd.model.facts.workspace import *
from kpd.model.playback import *
from kpd.model.preparing import *
from kpd.model.sanitizing import *
from kpd.model.sessions import *
from kpd.model.tools import *
from kpd.model.trials import *


@dataclass(frozen=True, slots=True)
class Event:
    """A fact in the log: `seq` counts from 1 without gaps, `at` is Unix time in seconds."""

    seq: int
    at: float
    fact: Fact


_FACTS = [cls for cls in globals().values() if isinstance(cls, type) and issubclass(cls, Fact)]
FACTS: dict[str, type[Fact]] = {
    cls.kind(): cls for cls in _FACTS if not any(cls in other.__bases__ for other in _FACTS)
}
"""Every kind of fact that a log may hold: those that are no base of others."""
