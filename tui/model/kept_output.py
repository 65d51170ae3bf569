"""Adds to an iteration's live output what its files keep of the time before this screen heard anything."""

from collections.abc import Collection, Sequence

from kpd.model.events import Event
from kpd.model.facts.iterations import StepStarted
from kpd.model.session import AGENT, KPD, OPERATOR, THOUGHT, TOOL
from tui.model.conversation import SESSION_LOG, spoken
from tui.model.details import TEXTS
from tui.model.output import OutputLine, shortened
from tui.model.view import View

CONVERSATION = (AGENT, THOUGHT, TOOL, KPD, OPERATOR)
"""Channels on which a session's conversation begins."""


def with_kept(view: View, journal: Sequence[Event], live: Sequence[OutputLine]) -> list[OutputLine]:
    """Return all output of the view's iteration in its order in time.

    Lines from files have numbers below those received live. Output of jobs is read from files once the iteration has
    ended.
    """
    it = view.iteration
    assert it is not None
    printed = _printed(view, journal, {one.channel for one in live if one.run}) if it.outcome is not None else ()
    kept = sorted([*_said(view, journal, live), *printed], key=lambda one: one.after)
    numbered = [one._replace(number=nth - len(kept)) for nth, one in enumerate(kept)]
    return sorted([*numbered, *live], key=lambda one: one.after)


def _printed(view: View, journal: Sequence[Event], heard: Collection[str]) -> Sequence[OutputLine]:
    """Return the output that was printed while nobody watched, from the iteration's files, each below its step.

    Channels that were received live are left out.
    """
    begun = {event.fact.step: event.seq for event in journal if isinstance(event.fact, StepStarted)}
    at = view.at
    assert at.iteration is not None
    found = []
    for text in view.shown.texts if isinstance(view.shown.texts, tuple) else ():
        channel = TEXTS[text.name]
        if channel in heard or text.name == SESSION_LOG:
            continue
        after = begun.get("propose" if channel == AGENT else "build", 0)
        said = [shortened(one) for one in text.text.splitlines()]
        more = [f"… the rest is in {text.name}"] if text.cut else []
        found += [OutputLine(at.run, at.iteration, after, channel, one) for one in (*said, *more)]
    return found


def _said(view: View, journal: Sequence[Event], live: Sequence[OutputLine]) -> Sequence[OutputLine]:
    """Return what a session's agent said before this screen heard anything of it, from the session's log."""
    texts = view.shown.texts if isinstance(view.shown.texts, tuple) else ()
    first = next((one.after for one in live if one.run and one.channel in CONVERSATION), None)
    until = next((event.at for event in journal if event.seq == first), 0.0) if first is not None else float("inf")
    found, seen = [], 0
    for text in texts:
        for said in spoken(text.text) if text.name == SESSION_LOG else ():
            while seen < len(journal) and journal[seen].at <= said.at:
                seen += 1
            if said.at < until:
                after = journal[seen - 1].seq if seen else 0
                found.append(OutputLine(view.at.run, view.at.iteration or 0, after, said.channel, shortened(said.text)))
    return found
