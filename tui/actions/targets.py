"""Makes an operation of the selection, or says why there is none."""

from collections.abc import Callable, Mapping
from typing import Any, Literal

from kpd.model.playback import SPEEDS
from kpd.operations.deployments import AnswerDeployment
from kpd.operations.iterations import AcceptIteration, EditKernel, WriteMemo
from kpd.operations.machines import CheckHosts, PlayRecording, RetryLink, TrustHost
from kpd.operations.operation import Key, OnIteration, OnRun, Operation, words_of
from kpd.operations.reviews import ApproveCandidate, DeclineCandidate, SetReview
from kpd.operations.runs import MoveRun, QueueRun, ResumeRun, SkipIteration
from kpd.operations.sessions import AnswerAgent
from kpd.operations.terms import SetRule
from tui.actions import confirm
from tui.actions.action import Pick
from tui.format.text import clean
from tui.model.selected import findings, source_of
from tui.model.view import View

Op = Operation[Any] | str
NO_RUN, NO_ITERATION = "no run is selected", "no iteration is selected"


def pick_of(kind: type[Operation[Any]], key: Key) -> Pick:
    """Return the function that makes the operation of this key from the selection."""
    if key.id in PICKS:
        return PICKS[key.id]
    words = words_of(kind)

    def pick(view: View, answer: str) -> Op:
        typed = {words: answer} if words else {}
        if issubclass(kind, OnRun):
            return kind(run=view.at.run, **typed, **key.fixed) if view.run is not None else NO_RUN
        assert issubclass(kind, OnIteration), f"{key.id} needs a line in PICKS"
        return kind(iteration=view.ref, **typed, **key.fixed) if view.iteration is not None else NO_ITERATION

    return pick


# ── runs ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def _queue(view: View, answer: str) -> Op:
    if not view.at.task:
        return "there is no task yet: `kpd task new NAME` makes one"
    if view.task is None:
        return f"the task {view.at.task} is gone"
    if view.task.error:
        return f"the task {view.at.task} is refused: its error is in Overview"
    return QueueRun(task=view.at.task)


def _resume(view: View, answer: str) -> Op:
    """Resume the selected run if it is paused; else release a queue that is held, wherever the operator is."""
    if view.run is not None and (view.run.paused or not view.state.held):
        return ResumeRun(run=view.at.run)
    return ResumeRun() if view.state.held else NO_RUN


def _skip(view: View, answer: str) -> Op:
    if view.run is None:
        return NO_RUN
    several = len(view.run.open) > 1 and view.iteration in view.run.open
    return SkipIteration(run=view.ref if several else view.at.run)


def _review(view: View, answer: str) -> Op:
    return SetReview(run=view.at.run, on=not view.run.approve) if view.run is not None else NO_RUN


def _move(to: str) -> Pick:
    def pick(view: View, answer: str) -> Op:
        if view.run is None:
            return NO_RUN
        queue = [run.id for run in view.state.queue]
        if queue and view.at.run == queue[0 if to == "up" else -1]:
            return f"{view.at.run} is the {'first' if to == 'up' else 'last'} in the queue already"
        return MoveRun(run=view.at.run, to="up" if to == "up" else "down")

    return pick


# ── iterations ────────────────────────────────────────────────────────────────────────────────────────────────────


def _approve(view: View, answer: str) -> Op:
    waits = confirm.for_review(view)
    return ApproveCandidate(iteration=waits[0].ref) if len(waits) == 1 else ApproveCandidate()


def _reply(reply: Literal["allow", "deny"]) -> Pick:
    def pick(view: View, answer: str) -> Op:
        place = confirm.asks(view)
        if place is None or place.it.session is None:
            return AnswerAgent(reply=reply)
        return AnswerAgent(reply=reply, iteration=place.ref, question=place.it.session.asks[0].request)

    return pick


def _decline(view: View, answer: str) -> Op:
    waits = confirm.to_decline(view)
    return DeclineCandidate(iteration=waits[0].ref, reason=answer) if len(waits) == 1 else DeclineCandidate()


def _answer(yes: bool) -> Pick:
    def pick(view: View, answer: str) -> Op:
        waits = confirm.to_deploy(view)
        if not waits:
            return "no change of a production program waits for you"
        if len(waits) > 1:
            refs = " and ".join(clean(card.key) for card in waits)
            return f"{refs} wait: select the run of one, or use `kpd project approve`"
        card = waits[0]
        seen = {"diff": card.deployment.asks} if yes else {}
        return AnswerDeployment(deployment=card.key, yes=yes, **seen)

    return pick


def _accept(view: View, answer: str) -> Op:
    return AcceptIteration(iteration=view.ref, reason=answer) if view.iteration is not None else NO_ITERATION


def _memo(view: View, answer: str) -> Op:
    ref = confirm.memo_target(view)
    return WriteMemo(iteration=ref, text=answer) if ref else NO_ITERATION


def _edit(view: View, answer: str) -> Op:
    if view.run is None:
        return NO_RUN
    if not view.editable:
        return f"the task {view.at.task} is gone"
    if not view.run.over and not source_of(view):
        return f"{view.at.run} has no incumbent yet"
    return EditKernel(run=view.at.run, files={})


def _stand(view: View, answer: str) -> Op:
    """Return an operation on a rule that has fired, or why there is none: the Rules tab puts in the chosen rule."""
    if view.tab != "rules":
        return "choose a rule in the Rules tab"
    if not (fired := findings(view)):
        return "no rule has fired here"
    return SetRule(run=view.at.run, rule=fired[0].rule, stand="plain")


# ── hosts, and a recording ────────────────────────────────────────────────────────────────────────────────────────


def _chosen(make: Callable[[View], Op]) -> Pick:
    return lambda view, answer: make(view) if view.host_card is not None else "no host is known yet"


def _retry(view: View) -> Op:
    up = view.host_card is not None and view.host_card.link == "up"
    return f"the link to {clean(view.host)} is up" if up else RetryLink(host=view.host)


def _trust(view: View) -> Op:
    offered = view.host_card.offered if view.host_card is not None else ""
    if not offered:
        return f"{clean(view.host)} shows no key that waits for trust"
    return TrustHost(host=view.host, fingerprint=offered)


def _play(view: View, answer: str) -> Op:
    playback = view.state.playback
    return PlayRecording(play=playback is None or playback.state != "playing")


def _forward(to: str) -> Pick:
    def pick(view: View, answer: str) -> Op:
        over = view.state.playback is not None and view.state.playback.state == "over"
        if over:
            return "the recording is over: play begins it again"
        return PlayRecording(to="step" if to == "step" else "iteration")

    return pick


def _times(factor: float, limit: int, what: str) -> Pick:
    def pick(view: View, answer: str) -> Op:
        speed = view.state.playback.speed if view.state.playback is not None else 1
        return f"{limit}× is the {what}" if speed == limit else PlayRecording(speed=int(speed * factor))

    return pick


PICKS: Mapping[str, Pick] = {
    "run": _queue,
    "resume": _resume,
    "skip": _skip,
    "review": _review,
    "move_up": _move("up"),
    "move_down": _move("down"),
    "approve": _approve,
    "allow": _reply("allow"),
    "deny": _reply("deny"),
    "decline": _decline,
    "deploy": _answer(True),
    "keep_program": _answer(False),
    "accept": _accept,
    "memo": _memo,
    "edit": _edit,
    "pin": _stand,
    "ban": _stand,
    "check_hosts": _chosen(lambda view: CheckHosts(host=None)),
    "check_host": _chosen(lambda view: CheckHosts(host=view.host)),
    "retry_link": _chosen(_retry),
    "trust": _chosen(_trust),
    "play": _play,
    "to_iteration": _forward("iteration"),
    "to_step": _forward("step"),
    "faster": _times(2, SPEEDS[-1], "fastest"),
    "slower": _times(0.5, SPEEDS[0], "slowest"),
    "to_beginning": lambda view, answer: PlayRecording(to="beginning"),
}
"""Keys whose operation needs more than the selected run or iteration."""
