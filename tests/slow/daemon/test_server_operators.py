"""Several people at one daemon: who did what, who may only look, and how much output each of them wants."""

from kpd.client import ask
from kpd.model.codec import encode, fact_from
from kpd.model.events import Event
from tests.support.daemon.real_daemon import RealDaemon, daemon, workspace
from tui.format.operator_acts import operator_act

__all__ = ["daemon", "workspace"]


def test_deeds_of_a_real_run(daemon: RealDaemon) -> None:
    """What the engine records is what the sentences are made of."""
    daemon.start()
    socket = daemon.workspace.socket

    def does(by: str, verb: str, **args: object) -> None:
        ask(socket, "command", verb, args, by=by)

    does("ada", "run", task="scale", agent="mailbox")
    daemon.until_event("step_started", step="propose", iteration=1)
    does("bob", "steer", run="r1", text="use AVX")
    does("bob", "skip", run="r1")
    daemon.until_event("step_started", step="propose", iteration=2)
    does("ada", "memo", iteration="r1.1", text="why?")
    does("eve", "stop", run="r1")
    daemon.until_event("run_ended")
    raws = daemon.events()
    events = (Event(one["seq"], one["at"], fact_from(one["kind"], encode(one["body"]))) for one in raws)
    assert [str(found) for event in events if (found := operator_act(event.fact))] == [
        "ada queues r1 of scale, by mailbox", "bob steers r1: use AVX", "bob skips r1.1",
        "ada writes the memo of r1.1: why?", "eve stops r1",
    ]  # fmt: skip
