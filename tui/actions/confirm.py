"""Asks for confirmation before an action that cannot simply be undone, and says what is lost."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from kpd.model.agents import EDIT
from kpd.model.deployments import DeploymentCard
from kpd.model.iteration import Iteration
from kpd.model.run import Run
from kpd.operations.deployments import waiting as waiting_deployments
from kpd.operations.iterations import is_outdated
from kpd.operations.operation import Key, OnIteration, Operation, RunIteration, fields, spoken, words_of
from kpd.operations.reviews import waiting
from kpd.operations.runs import prunable
from kpd.operations.sessions import asking
from kpd.text.endings import of_iteration
from kpd.text.numbers import counted
from tui.format import marks, money
from tui.format.text import clean
from tui.model.outline import TreePosition
from tui.model.view import View


@dataclass(frozen=True, slots=True)
class Confirmation:
    """A question before an action. `entry` labels a line to type (None: no line), not to be empty if `required`.

    Where the action `writes` files of the operator, `y` is asked for also after a line. With `scrolls` the keyboard
    scrolls a text that may be longer than the screen. Where it `approves` a diff, only one that is shown can be.
    """

    title: str
    text: tuple[str, ...]
    yes: str
    entry: str | None = None
    value: str = ""
    required: bool = False
    scrolls: bool = False
    writes: bool = False
    approves: bool = False

    @property
    def enter(self) -> str:
        """What enter does in the line."""
        return "go on" if self.writes else self.yes


def stop(view: View) -> Confirmation:
    run = view.run
    assert run is not None
    lost = "Nothing of it has begun."
    if run.open:
        lost = " ".join(
            f"Iteration {it.number} ends as interrupted; its {it.step or 'first'} step is killed with all it started."
            for it in run.open
        )
    kept = f"What was accepted stays: the incumbent is {run.id}.{run.incumbent}." if run.incumbent is not None else ""
    return Confirmation(f"Stop {run.id} now?", tuple(text for text in (lost, kept) if text), "stop the run")


def prune(view: View) -> Confirmation:
    run = view.run
    assert run is not None
    text = (
        f"The files of {counted(len(prunable(run, False)), 'candidate')} are removed from the run's folder for good.",
        "The baseline, what was accepted and what is held keep theirs; the log keeps verdicts, times and memos of all.",
        f"`kpd runs prune {run.id} --archive DIR` writes a bundle of the run first.",
    )
    return Confirmation(f"Prune {run.id}?", text, "remove them", writes=True)


def skip(view: View) -> Confirmation:
    run = view.run
    assert run is not None
    now = view.iteration if view.iteration in run.open else run.current
    assert now is not None
    lost = [f"Iteration {now.number} ends as skipped; its {now.step or 'first'} step is killed with all it started."]
    if now.spend.calls:
        lost.append(f"What it has cost stays spent: {money.cost(now.spend)}.")
    still = "paused" if run.paused else "held" if view.state.held else ""
    lost.append(f"{run.id} stays {still}." if still else f"{run.id} goes on with its next iteration.")
    return Confirmation(f"Skip iteration {now.number} of {run.id}?", tuple(lost), "skip it")


def gate(view: View) -> Confirmation | None:
    """Return the question before the review gate is switched off while a candidate waits for approval; else None."""
    run = view.run
    assert run is not None
    if not run.approve or (now := waiting(run)) is None:
        return None
    text = (
        f"{run.id}.{now.number} waits for you: with the gate off it is built and measured, as if you had approved it."
    )
    return Confirmation(f"Switch the review gate of {run.id} off?", (text,), "switch it off")


def accept(view: View) -> Confirmation:
    it, run = view.iteration, view.run
    assert it is not None
    assert run is not None
    mark = marks.of_iteration(it, run)
    text = [f"The verdict was: {mark.glyph} {marks.gain_of(it)} {mark.word}. {clean(of_iteration(it))}"]
    if is_outdated(RunIteration(run, it)):
        text.append("The incumbent has changed since: it is measured again first, and then its flags count no more.")
        return Confirmation(f"Accept {view.ref}?", tuple(text), "measure it again")
    text.append("It becomes the incumbent, marked as accepted by hand, and kpd writes its files to the task folder.")
    text.append(f"Incumbent now: {run.id}.{run.incumbent}; undo brings it back.")
    return Confirmation(f"Accept {view.ref} by hand?", tuple(text), "accept", entry="Why", writes=True)


def for_review(view: View) -> list[TreePosition]:
    """Return the candidates that wait for a person: only the selected one if it is among them, else all."""
    found = [TreePosition(run.task, run.id, it.number) for run in view.state.begun if (it := waiting(run)) is not None]
    return [view.at] if view.at in found else found


def to_decline(view: View) -> list[TreePosition]:
    """Return the selected winner if it is held, else the candidates that wait for a person, else all held winners."""
    if view.iteration is not None and view.iteration.held:
        return [view.at]
    runs = view.state.runs.values()
    return for_review(view) or [TreePosition(run.task, run.id, it.number) for run in runs for it in run.held]


def asks(view: View) -> RunIteration | None:
    """Return the iteration whose agent waits for an answer: the selected one if it is among them, else the only one."""
    found = asking(view.state)
    chosen = [place for place in found if place.ref == view.ref] or found
    return chosen[0] if len(chosen) == 1 else None


def allow(view: View) -> Confirmation | None:
    """Return the oldest question of an agent in full, so that nobody allows what they have not seen."""
    place = asks(view)
    if place is None or place.it.session is None:
        return None
    oldest = place.it.session.asks[0]
    text = (f"{oldest.tool}: {oldest.about}", f"Why it asks: {oldest.why}.")
    return Confirmation(f"Let the agent of {place.ref} do this once?", text, "allow it once", scrolls=True)


def decline(view: View) -> Confirmation:
    place = to_decline(view)[0]
    ref, run = place.ref, view.state.runs[place.run]
    if any(it.number == place.iteration for it in run.held):
        text = "It never becomes the incumbent. Nothing is learned from it."
    else:
        text = "It ends as rejected and is never built. Its agent reads your reason before it proposes again."
    return Confirmation(f"Decline {ref}?", (text,), "decline", entry="Why not, or what to do instead")


def to_deploy(view: View) -> list[DeploymentCard]:
    """Return the deployments that wait for a person: only that of the selected run if it is among them, else all."""
    found = waiting_deployments(view.state)
    return [card for card in found if view.run is not None and card in view.state.deployments_of(view.run)] or found


def deploy(view: View) -> Confirmation:
    card = to_deploy(view)[0]
    project, one = clean(card.project), card.deployment
    text = (
        f"{one.run}.{one.iteration} goes into {project}: it is built, its result is verified, and it is timed against "
        "the program as it is. It stays only if the program is faster; else everything is put back.",
    )
    return Confirmation(f"Make this change in {project}?", text, "make this change", approves=True)


def keep_program(view: View) -> Confirmation:
    project = clean(to_deploy(view)[0].project)
    text = (f"{project} stays as it is. `kpd project deploy {project} RUN` can bring the winner there later.",)
    return Confirmation(f"Decline the change of {project}?", text, "decline it")


def rollback(view: View) -> Confirmation:
    it, run = view.iteration, view.run
    assert it is not None
    assert run is not None
    text = [*_files(view, run)]
    later = [other for other in run.iterations if other.outcome == "accepted" and other.number > it.number]
    if later:
        text.append(
            f"{counted(len(later), 'later accepted iteration')} will no longer be the incumbent; all stay recorded."
        )
    if run.pending_edit or (run.folder and run.folder != run.files):
        text.append("The task folder holds an edit of yours: kpd will refuse rather than overwrite it.")
    return Confirmation(f"Roll {run.id} back to iteration {it.number}?", tuple(text), "roll back")


def adopt(view: View) -> Confirmation:
    text = ("kpd writes its files to the task folder. The next run of the task begins from them.",)
    return Confirmation(f"Adopt {view.ref}?", text, "adopt it")


def undo(view: View) -> Confirmation:
    run = view.run
    assert run is not None
    text = (
        f"{run.id}.{run.before} becomes the incumbent again, and kpd writes its files to the task folder.",
        f"Incumbent now: {run.id}.{run.incumbent}; undo once more brings it back.",
    )
    return Confirmation(f"Undo the last decision in {run.id}?", text, "undo it")


def trust(view: View) -> Confirmation:
    card = view.host_card
    assert card is not None
    name = clean(card.name)
    text = (
        f"{name}, reached as {clean(card.address)}, shows a key that nobody has trusted yet:",
        clean(card.offered),
        "On the host, ssh-keygen -lf /etc/ssh/ssh_host_ed25519_key.pub prints it; see that the two are the same, "
        "to the last letter. If they differ, another machine may answer in its place.",
    )
    return Confirmation(f"Trust the key of {name}?", text, "trust the key")


def _files(view: View, run: Run) -> list[str]:
    """Return lines that say which files of the task folder change, and which stay the same."""
    proposed = view.shown.detail.proposed
    if proposed is None:
        return [f"Written to the task folder: {', '.join(map(clean, view.editable)) or 'its editable files'}."]
    changed = [clean(name) for name, sha in proposed.files.items() if run.files.get(name) != sha]
    same = [clean(name) for name, sha in proposed.files.items() if run.files.get(name) == sha]
    gone = [clean(name) for name in run.files if name not in proposed.files]
    found = [f"Written to the task folder: {', '.join(changed)}."] if changed else []
    found += [f"Removed from it: {', '.join(gone)}."] if gone else []
    found = found or ["No file changes."]
    return found + ([f"The same in both: {', '.join(same)}."] if same else [])


def overwrite(message: str, remedy: str) -> Confirmation:
    """Return the question after a refused rollback: whether to go on and replace the operator's own edit."""
    lost = (
        "Rolling back anyway replaces what the task folder holds now; kpd keeps a copy of the edit in the run's folder."
    )
    text = tuple(clean(part) for part in (message, remedy, lost) if part)
    return Confirmation("Roll back over the edit?", text, "roll back anyway")


def words(kind: type[Operation[Any]], key: Key) -> Callable[[View], Confirmation] | None:
    """Return a function that asks for the text of an operation; None where the operation takes no text."""
    if not (name := words_of(kind)):
        return None
    said = spoken(fields(kind)[name])
    entry = said.help if said is not None else name

    def ask(view: View) -> Confirmation:
        of = view.ref if issubclass(kind, OnIteration) else view.at.run
        return Confirmation(f"{key.label.capitalize()} of {of}", (), key.label, entry=entry, required=True)

    return ask


def memo(view: View) -> Confirmation:
    ref = memo_target(view)
    run_id, _, number = ref.partition(".")
    run = view.state.runs.get(run_id)
    it = run.iteration(int(number)) if run is not None else None
    has = f"It says now: {clean(it.memo)}" if it is not None and it.memo else "It has no memo yet."
    return Confirmation(f"Memo for {ref}", (has,), "keep the memo", entry="What it tries, and why", required=True)


def memo_target(view: View) -> str:
    """Return the iteration that a memo would be for: the selected one, or an operator's that lacks one.

    While the screen follows the newest iteration, the one that lacks a memo goes first.
    """
    chosen = view.ref if view.iteration is not None else ""
    return (memo_wanted(view) or chosen) if view.following else (chosen or memo_wanted(view))


def memo_wanted(view: View) -> str:
    """Return the newest operator iteration of a begun run, else of the selected run, if it has no memo by a person."""
    for run in view.begun or (view.run,):
        newest = next((it for it in reversed(run.iterations) if it.agent == EDIT), None) if run else None
        if run is not None and newest is not None and lacks_memo(newest):
            return f"{run.id}.{newest.number}"
    return ""


def lacks_memo(it: Iteration) -> bool:
    """Return whether nobody has written a memo for an operator iteration: it has only kpd's own, from the diff."""
    return not it.memo_given
