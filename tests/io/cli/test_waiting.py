"""What `run --wait` and `log -f` say of a run that waits, how long they wait, and when they do not wait at all."""

from kpd.model import events as e
from kpd.model.status import Queued, Running
from kpd.model.waits import AtHost, ForDevice, ForLease, HostTrouble, PausedBy
from tests.support.cli.served import Served, ended, heard, served

__all__ = ["served"]

LEASED = ForLease("local: ada measures on the CPU since 12:00, with kpd in /home/ada/kpd")


async def test_a_followed_log_tells_each_wait_and_each_pause_with_its_reason(served: Served) -> None:
    served.queue("r1")
    served.journal.emit(e.RunStarted("r1", "cpu"))
    served.journal.emit(e.RunWaits("r1", LEASED))
    following = await served.start("log", "-f")
    await heard(following, "stderr", "r1 waits: local: ada measures on the CPU")
    served.journal.emit(e.RunWaits("r1", None))
    served.journal.emit(e.RunPaused("r1", PausedBy("eve"), "eve"))
    await heard(following, "stderr", "r1 is paused by eve; kpd resume r1 goes on")
    served.journal.emit(e.RunResumed("r1", "eve"))
    await heard(following, "stderr", "r1 goes on")
    served.journal.emit(e.RunPaused("r1", HostTrouble("disk", "the disk is full", "make room"), infra=True))
    await heard(following, "stderr", "r1 is paused: infrastructure: the disk is full; make room; kpd resume r1 goes on")
    following.kill()
    await following.wait()


async def test_the_end_of_the_waiting_is_not_the_end_of_the_run(served: Served) -> None:
    waiting = await served.start("run", "scale", "--wait", "--timeout", "1s")
    await heard(waiting, "stdout", "r1")
    served.journal.emit(e.RunStarted("r1", "cpu"))
    code, _, err = await ended(waiting)
    assert (code, err.splitlines()[-1]) == (4, "kpd: r1 is not over after 1 s, and goes on; kpd log -f r1 watches it")
    assert isinstance(served.journal.state.runs["r1"].status, Running)
    code, _, err = await served.kpd("log", "-f", "--timeout", "0.5s")
    assert code == 4 and "r1 is not over after 0.5 s, and goes on" in err


async def test_a_limit_needs_something_to_wait_for(served: Served) -> None:
    assert (await served.kpd("run", "scale", "--timeout", "1h"))[0] == 64
    assert not served.commands
    code, _, err = await served.kpd("run", "scale", "--wait", "--timeout", "soon")
    assert code == 64 and "must be a duration like 90s, 20m or 1.5h, not 'soon'" in err


async def test_a_run_that_no_host_can_take_is_not_waited_for(served: Served) -> None:
    waiting = await served.start("run", "scale", "--wait")
    await heard(waiting, "stdout", "r1")
    unfit = AtHost("local", "unfit", "GPU that is a H100")
    served.journal.emit(e.RunWaits("r1", ForDevice("r1", (unfit, AtHost("box", "down", "it does not answer")))))
    await heard(waiting, "stderr", "r1 waits: local: no GPU that is a H100; box: it does not answer")
    stuck = AtHost("box", "down", "its key is not trusted", stuck=True)
    served.journal.emit(e.RunWaits("r1", ForDevice("r1", (unfit, stuck))))
    code, _, err = await ended(waiting)
    assert code == 3
    assert "no host can take r1: local: no GPU that is a H100; box: its key is not trusted; kpd hosts shows" in err
    assert isinstance(served.journal.state.runs["r1"].status, Queued)
