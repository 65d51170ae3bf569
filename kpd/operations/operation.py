"""Defines the base of all operations, and their targets: a run, an iteration, a waiting candidate, a host.

An operation is a class: its annotated fields are the arguments, its docstring is the help text, and `why_not` says when
it cannot be done. The daemon calls that before it acts, and the terminal UI before it offers the action, so that both
show the same sentence. This module imports next to nothing: command-line verbs start with it.
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
    from kpd.model.iteration import Iteration
    from kpd.model.run import Run
    from kpd.model.side import ComparedRun
    from kpd.model.state import State

Group = Literal["Run", "Review", "Iteration", "Compare", "Host", "Look", "Keep", "Recording", "kpd"]
T = TypeVar("T")


class Refused(DaemonError):
    """A refusal: the operation cannot be done now. `message` says why, `remedy` what would help."""

    def __init__(self, message: str, remedy: str = "") -> None:
        super().__init__("refused", message, remedy)


class UnknownName(DaemonError):
    """A refusal of an argument that names an unknown task, host or agent; `remedy` lists the known ones."""

    def __init__(self, message: str, remedy: str = "") -> None:
        super().__init__("unknown", message, remedy)


class Key(NamedTuple):
    """A key of the terminal UI: `id` names the action there and in config.toml, and is the verb of the command line.

    `keys` are named as in Textual. Where an operation has several keys, `help` replaces its own help text, and `fixed`
    has the arguments that this key sets. `rank` is the place in the footer, 0 for none; a `rare` action is left out
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
    """The base of all operations. `name` is the command on the socket, and that of its effect in kpd/engine/operations.

    `verb` is its name on the command line, where that is not the id of a key; `emits` are the kinds of facts that it
    writes to the log. `done` is the message when it is done; {of} in it is the iteration, as in r3.7, every other field
    an argument or part of the answer. `then` is what the command line adds to it. One that `biases` could change what
    comes out of a run, so runs of comparisons refuse it, those that are over, too, but where it `decides`.
    """

    name: ClassVar[str]
    verb: ClassVar[str] = ""
    keys: ClassVar[Sequence[Key]] = ()
    emits: ClassVar[Sequence[str]] = ()
    done: ClassVar[str] = ""
    then: ClassVar[str] = ""
    biases: ClassVar[bool] = False
    decides: ClassVar[bool] = False

    def __init__(self, **given: Any) -> None:
        """Keep the given arguments; for all others the class's defaults apply."""
        vars(self).update(given)

    def args(self) -> dict[str, Any]:
        """Return the given arguments, as they are sent over the socket."""
        return dict(vars(self))

    def target(self, state: State) -> T:
        """Return the run, iteration or host that the operation acts on.

        Raises DaemonError where there is none, or where it is unclear which one is meant.
        """
        raise NotImplementedError

    def why_not(self, state: State, target: T) -> Refused | None:
        """Return why the operation cannot be applied to `target` now, whatever its arguments; None when it can."""
        return None

    def refused(self, state: State, target: T) -> Refused | None:
        """Return why the operation is refused now: `why_not`, or that it would bias a run of a comparison."""
        run = target.run if isinstance(target, RunIteration) else target
        place: ComparedRun | None = getattr(run, "compared", None) if self.biases else None
        if place is not None and not (self.decides and _is_over(state, place)):
            from kpd.text.comparisons import name

            return Refused(f"nobody interferes with {name(place)}", f"kpd compare stop {place.of} ends the comparison")
        return self.why_not(state, target)

    def answer(self, target: T) -> dict[str, Any]:
        """Return the fields that the daemon's answer always has."""
        return {}

    def told(self, answer: Mapping[str, Any]) -> str:
        """Return the message for the operator after the daemon has answered: `done`, filled in."""
        return self._filled(self.done, answer)

    def told_with_verbs(self, answer: Mapping[str, Any]) -> str:
        """Return the same message for the command line, with the verb to use next."""
        told = self.told(answer)
        return f"{told}; {self._filled(self.then, answer)}" if self.then else told

    def _filled(self, template: str, answer: Mapping[str, Any]) -> str:
        known = {**self.args(), **answer}
        if "run" in answer and "iteration" in answer:
            known["of"] = f"{answer['run']}.{answer['iteration']}"
        return template.format_map(_Known({"of": known.get("iteration", "it"), **known}))


def _is_over(state: State, place: ComparedRun) -> bool:
    from kpd.model.comparisons import is_over

    return place.of in state.comparisons and is_over(state, state.comparisons[place.of])


class _Known(dict[str, Any]):
    def __missing__(self, key: str) -> str:
        return "it"


def fields(kind: type[Operation[Any]]) -> dict[str, Any]:
    """Return an operation's arguments with their types, `Annotated` with an `Arg`; those of its base come first."""
    hints = get_type_hints(kind, include_extras=True)  # evaluated: names in a field's type must have been imported
    return {name: hint for name, hint in hints.items() if get_origin(hint) is not ClassVar}


def spoken(hint: Any) -> Arg | None:
    """Return how the command line describes an argument of this type; None where it is given there in another way."""
    return next((part for part in get_args(hint) if isinstance(part, Arg)), None)


def words_of(kind: type[Operation[Any]]) -> str:
    """Return the name of the required free-text argument, for which a screen shows an entry line; else empty."""
    needed = (name for name in fields(kind) if not hasattr(kind, name))
    said = ((name, spoken(fields(kind)[name])) for name in needed)
    return next((name for name, arg in said if arg is not None and arg.words), "")


def help_of(kind: type[Operation[Any]]) -> str:
    """Return the first line of the operation's docstring, in the form of a help text."""
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
    """An operation that acts on no existing run."""

    def target(self, state: State) -> None:
        return None


class OnRun(Operation["Run"]):
    """An operation on a run that has not ended: the one that is named, else the only one under way."""

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
    """An operation on an iteration."""

    iteration: Annotated[str, ITER]

    def target(self, state: State) -> RunIteration:
        return RunIteration(*iteration_ref(state, self.iteration))

    def answer(self, target: RunIteration) -> dict[str, Any]:
        return {"run": target.run.id, "iteration": target.it.number}


def ended(run: Run, remedy: str = "") -> Refused | None:
    """Return the refusal for a run that has ended; None while it has not."""
    if not run.over:
        return None
    from kpd.text.endings import of_run

    return Refused(f"{run.id} has ended: {of_run(run)}", remedy or f"kpd run {run.task} queues another run")


def pruned(place: RunIteration) -> Refused | None:
    """Return the refusal for an iteration whose files were removed; None while they are there."""
    if place.it.number not in place.run.pruned:
        return None
    return Refused(f"the files of {place.ref} were pruned", "kpd log shows what it was; its events are all kept")


def under_way(place: RunIteration) -> Refused | None:
    """Return the refusal for an iteration that has no outcome yet; None when it has one."""
    return Refused(f"{place.ref} is still under way") if place.it.outcome is None else None
