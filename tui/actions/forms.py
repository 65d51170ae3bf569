"""Defines forms for a run's terms, and finds which fields were changed."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from tui.format.text import clean
from tui.model.view import View

Kind = Literal["count", "number", "text"]


@dataclass(frozen=True, slots=True)
class Field:
    """A field of a form: `name` is the command's argument, `value` the present value, `least` the smallest number.

    An entry that was emptied becomes `none`; where that is None, an empty entry changes nothing. One that is `long` has
    no hint, and all the room of the line.
    """

    name: str
    label: str
    value: str
    hint: str
    kind: Kind = "text"
    least: float = 0
    none: int | str | None = None
    long: bool = False


@dataclass(frozen=True, slots=True)
class Form:
    """Fields with their present values; `yes` says what enter does."""

    title: str
    text: tuple[str, ...]
    fields: tuple[Field, ...]
    yes: str


class BadEntry(ValueError):
    """The error that an entry has no valid value; the message names the field, and what would be valid."""


def changed(form: Form, entries: Sequence[str]) -> dict[str, Any]:
    """Return the arguments whose entries were changed. Raises BadEntry where an entry has no valid value."""
    found = {}
    for field, entry in zip(form.fields, entries, strict=True):
        text = entry.strip()
        if text == field.value or (not text and field.none is None):
            continue
        found[field.name] = _value(field, text) if text else field.none
    return found


def _value(field: Field, text: str) -> int | float | str:
    if field.kind == "text":
        return text
    wanted = f"{'a whole number' if field.kind == 'count' else 'a number'} from {field.least:g} on"
    try:
        value = int(text) if field.kind == "count" else float(text)
    except ValueError:
        raise BadEntry(f"{field.label}: {clean(text)!r} is not {wanted}") from None
    if not math.isfinite(value) or value < field.least:
        raise BadEntry(f"{field.label}: {clean(text)} is not {wanted}")
    return value


def run(view: View) -> Form:
    """Return the form of a new run of the selected task. Whatever is left empty is as config.toml and task.toml say."""
    return _run(view, "")


def run_with_note(view: View) -> Form:
    """Return the same form for the note that an ended run cannot be given any more; the note comes first."""
    assert view.run is not None
    return _run(view, f"{view.run.id} has ended: a new run can have your note.")


def _run(view: View, why: str) -> Form:
    begun = ", ".join(one.id for one in view.state.begun)
    under_way = f"; under way: {begun}" if begun else ""
    if view.state.held:
        waits = f"The queue is held: it begins once somebody has released it{under_way}."
    else:
        waits = f"It begins as soon as a device that fits is free{under_way}." if begun else "It begins at once."
    rest = "What you leave empty is as task.toml and config.toml say."
    agents = _agents(view) or "such as sweep"
    hosts = ", ".join(clean(name) for name in view.state.hosts) or "one of config.toml"
    note = Field("note", "note", "", "", none=None, long=True)
    terms = (
        Field("agent", "agent", "", agents),
        Field("host", "host", "", hosts),
        Field("iterations", "iterations", "", "attempts, without the baseline", "count", 1),
        Field("patience", "patience", "", "in a row without an accepted one", "count", 1),
        Field("usd", "dollars", "", "for calls to models", "number"),
        Field("hours", "hours", "", "from when it begins", "number"),
    )
    fields = (note, *terms) if why else (*terms, note)
    text = tuple(part for part in (why, f"{waits} {rest}") if part)
    return Form(f"New run of {clean(view.at.task)}", text, fields, "queue the run")


def _agents(view: View) -> str:
    return ", ".join(clean(name) for name in sorted({name for one in view.state.runs.values() for name in one.agents}))


def budget(view: View) -> Form:
    run = view.run
    assert run is not None
    now = run.budget
    usd = f"{now.usd:g}" if now.usd else ""
    stop = "" if now.stop_score is None else f"{now.stop_score:g}"
    fields = (
        Field("iterations", "iterations", str(now.iterations), f"{len(run.counted)} used", "count", 1),
        Field("patience", "patience", str(now.patience), "in a row without an accepted one", "count", 1),
        Field("min_gain_pct", "min gain, %", f"{now.min_gain_pct:g}", "what is accepted", "number"),
        Field("stop_score", "stop score", stop, "ends the run; empty: none", "number", none=0),
        Field("usd", "dollars", usd, "for calls to models; empty: no limit", "number", none=0),
    )
    return Form(f"Budget of {run.id}", ("It holds at once; only what you change is sent.",), fields, "change it")


def agent(view: View) -> Form:
    run = view.run
    assert run is not None
    fields = (
        Field("agent", "agent", clean(run.agent), "several take turns: claude,sweep"),
        Field("model", "model", clean(run.model), "empty: that of config.toml", none=""),
    )
    runs = f"Agents in this workspace's runs: {_agents(view)}."
    text = "The next iteration is theirs; one under way is finished as it began."
    return Form(f"Who proposes for {run.id}", (text, runs), fields, "change it")
