"""Defines the base of all operations, and their targets: a run, an iteration, a waiting candidate, a host.

An operation is a class: its annotated fields are the arguments, its docstring is the help text, and `why_not` says when
it cannot be done. The daemon asks that before it acts, and the terminal UI before it offers the act, so that both give
the same sentence. This module imports next to nothing: command-line verbs start with it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    ClassVar,
    Generic,
    Literal,
    NamedTuple,
    TypeVar,
    dataclass_transform,
    get_args,
    get_origin,
    get_type_hints,
)

from kpd.operations.arguments import Arg
from kpd.operations.references import iteration_ref, run_ref
from kpd.wire import DaemonError

if TYPE_CHECKING:
    from kpd.model.state import Iteration, Run, State

Group = Literal["Run", "Review", "Iteration", "Compare", "Host", "Look", "Keep", "Recording", "kpd"]
T = TypeVar("T")


class Refused(DaemonError):
    """The operation cannot be done now; `message` says why, `remedy` what would help."""

    def __init__(self, message: str, remedy: str = "") -> None:
        super().__init__("refused", message, remedy)


class UnknownName(DaemonError):
    """An argument names a task, a host or an agent that there is not; `remedy` says which there are."""

    def __init__(self, message: str, remedy: str = "") -> None:
        super().__init__("unknown", message, remedy)


class Key(NamedTuple):
    """A key of the terminal UI: `id` names the act there and in config.toml, and is the verb of the command line.

    `keys` are as Textual names them. Where an operation has several keys, `help` stands in for its own, and `fixed` has
    the arguments that this one means. `rank` is the place in the footer, 0 for none; a `rare` one is left out
    there while it cannot be done.
    """

    id: str
    keys: str
    label: str
    group: Group
    rank: int = 0
    rare: bool = False
    help: str = ""
    fixed: Mapping[str, Any] = {}


@dataclass_transform(kw_only_default=True, frozen_default=True)
class Operation(Generic[T]):
    """`name` is the command on the socket, and the name of its effect in kpd/engine/operations.

    `verb` is how the command line says it, where that is not the id of a key; `emits` are the kinds of facts that it
    leaves in the log. `done` tells who did it that it is done; {of} in it is the iteration, as in r3.7, all else an
    argument or part of the answer. `then` is what the command line adds.
    """

    name: ClassVar[str]
    verb: ClassVar[str] = ""
    keys: ClassVar[Sequence[Key]] = ()
    emits: ClassVar[Sequence[str]] = ()
    done: ClassVar[str] = ""
    then: ClassVar[str] = ""

    def __init__(self, **given: Any) -> None:
        """What is not given is the class's default."""
        vars(self).update(given)

    def args(self) -> dict[str, Any]:
        """Return what was given, as it goes over the socket."""
        return dict(vars(self))

    def target(self, state: State) -> T:
        """Return what it is done to. Raises DaemonError where there is no such thing, or that is unclear."""
        raise NotImplementedError

    def why_not(self, state: State, target: T) -> Refused | None:
        """Return why it cannot be done to `target` now, whatever else is given; None when it can."""
        return None

    def answer(self, target: T) -> dict[str, Any]:
        """Return what the daemon answers at least."""
        return {}

    def told(self, answer: Mapping[str, Any]) -> str:
        """Return what is said to who did it, once the daemon has answered."""
        return self._filled(self.done, answer)

    def told_with_verbs(self, answer: Mapping[str, Any]) -> str:
        """Return the same for the command line, with the verb to use next."""
        told = self.told(answer)
        return f"{told}; {self._filled(self.then, answer)}" if self.then else told

    def _filled(self, template: str, answer: Mapping[str, Any]) -> str:
        known = {**self.args(), **answer}
        if "run" in answer and "iteration" in answer:
            known["of"] = f"{answer['run']}.{answer['iteration']}"
        return template.format_map(_Known({"of": known.get("iteration", "it"), **known}))


class _Known(dict[str, Any]):
    def __missing__(self, key: str) -> str:
        return "it"


def fields(kind: type[Operation[Any]]) -> dict[str, Any]:
    """Return the arguments of an operation with their types, `Annotated` with an `Arg`, those of its base first."""
    hints = get_type_hints(kind, include_extras=True)  # evaluated: what a field's type names must have been imported
    return {name: hint for name, hint in hints.items() if get_origin(hint) is not ClassVar}


def spoken(hint: Any) -> Arg | None:
    """Return what the command line says of an argument of this type; None where it has another way to give it."""
    return next((part for part in get_args(hint) if isinstance(part, Arg)), None)


def words_of(kind: type[Operation[Any]]) -> str:
    """Return the argument that must be said in words, for which a screen has a line to type it in; empty if there is none."""
    needed = (name for name in fields(kind) if not hasattr(kind, name))
    said = ((name, spoken(fields(kind)[name])) for name in needed)
    return next((name for name, arg in said if arg is not None and arg.words), "")


def help_of(kind: type[Operation[Any]]) -> str:
    """Return the first line of its docstring, as help texts have it."""
    first = (kind.__doc__ or "").partition("\n")[0].rstrip(".")
    return first[:1].lower() + first[1:]


# ── what operations are done to ───────────────────────────────────────────────────────────────────────────────────

RUN = Arg("RUN", "a run's id (default: the active run)")
ITER = Arg("ITER", "r3.7, or 7 in the newest run")


class RunIteration(NamedTuple):
    """An iteration and its run."""

    run: Run
    it: Iteration

    @property
    def ref(self) -> str:
        return f"{self.run.id}.{self.it.number}"


class OnDaemon(Operation[None]):
    """Something that concerns no run that there is."""

    def target(self, state: State) -> None:
        return None


class OnRun(Operation["Run"]):
    """Something that is done to a run which has not ended: the one that is named, else the only one under way."""

    run: Annotated[str | None, RUN] = None

    def target(self, state: State) -> Run:
        if self.run or not state.begun:
            return run_ref(state, self.run)
        if len(state.begun) > 1:
            raise Refused(f"{' and '.join(run.id for run in state.begun)} are under way", "say which one you mean")
        return state.begun[0]

    def why_not(self, state: State, target: Run) -> Refused | None:
        return ended(target)

    def answer(self, target: Run) -> dict[str, Any]:
        return {"run": target.id}


class OnIteration(Operation[RunIteration]):
    """Something that is done to an iteration."""

    iteration: Annotated[str, ITER]

    def target(self, state: State) -> RunIteration:
        return RunIteration(*iteration_ref(state, self.iteration))

    def answer(self, target: RunIteration) -> dict[str, Any]:
        return {"run": target.run.id, "iteration": target.it.number}


def ended(run: Run, remedy: str = "") -> Refused | None:
    """For a run that is over."""
    if not run.over:
        return None
    from kpd.text.endings import of_run

    return Refused(f"{run.id} has ended: {of_run(run)}", remedy or f"kpd run {run.task} queues another run")


def under_way(place: RunIteration) -> Refused | None:
    """For an iteration that has no outcome yet."""
    return Refused(f"{place.ref} is still under way") if place.it.outcome is None else None
