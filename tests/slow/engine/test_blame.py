"""On a real daemon: trouble in a measurement that comes with one candidate only is that candidate's fault."""

import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import psutil

from kpd.workspace.paths import Workspace
from tests.support.daemon.real_daemon import RealDaemon, daemon, set_local, workspace
from tests.support.e2e.kernels import kernel, save

__all__ = ["daemon", "workspace"]

SLOW_TO_LOAD = """#include <unistd.h>
__attribute__((constructor)) static void load(void) { usleep(50000); }
"""
LOADS_UNTIL_IT_IS_KILLED = SLOW_TO_LOAD.replace("50000", "5000000")
"""However seldom a busy machine lets `killing` look."""
LOADS_WHILE_IT_IS_THERE = """#include <unistd.h>
__attribute__((constructor)) static void load(void) {
    for (int looks = 0; looks < 500 && !access("@", F_OK); looks++) usleep(10000);
}
"""
KILLS_ITS_PARENT = """#include <signal.h>
#include <unistd.h>
__attribute__((constructor)) static void load(void) { kill(getppid(), SIGKILL); }
"""
STOPS_ITS_PARENT_FOR_GOOD = """#include <signal.h>
#include <unistd.h>
__attribute__((constructor)) static void load(void) { kill(getppid(), SIGSTOP); }
"""
BABBLES = """#include <sys/socket.h>
#include <sys/stat.h>
__attribute__((constructor)) static void load(void) {
    static const char junk[408] = {0x7f, 1, 2, 3};
    struct stat found;
    for (int fd = 3; fd < 64; fd++)
        if (!fstat(fd, &found) && S_ISSOCK(found.st_mode)) send(fd, junk, sizeof junk, MSG_NOSIGNAL);
}
"""


def propose(workspace: Workspace, before: str, repeat: int) -> None:
    text = re.sub(r"REPEAT \d+", f"REPEAT {repeat}", kernel(workspace).read_text().split("/* y = 2 x")[-1])
    save(kernel(workspace), f"{before}/* y = 2 x{text}")


def begun(daemon: RealDaemon) -> None:
    toml = daemon.workspace.tasks / "scale" / "task.toml"
    toml.write_text(toml.read_text().replace("patience = 2", "patience = 9"))
    daemon.start()
    daemon.command("run", task="scale", agent="operator", iterations=9)
    daemon.until_event("folder_known")


@contextmanager
def killing(workspace: Workspace, jobs: str, once: bool = False) -> Iterator[list[str]]:
    """Kill the measuring programs of these jobs, a regular expression, as a host that is out of memory does."""
    killed: list[str] = []
    over = threading.Event()

    def look() -> None:
        while not over.wait(0.01):
            for folder in (workspace.host_root / "jobs").glob("*/pgid"):
                job = folder.parent.name
                if not re.fullmatch(jobs, job) or (folder.parent / "rc").exists() or (once and job in killed):
                    continue
                with suppress(psutil.Error, OSError):
                    script = psutil.Process(int(folder.read_text().split()[0]))
                    for process in (script, *script.children(recursive=True)):
                        if process.name() == "bench" and process.children():
                            killed.append(job)
                            process.kill()

    thread = threading.Thread(target=look)
    thread.start()
    try:
        yield killed
    finally:
        over.set()
        thread.join()


def ended(daemon: RealDaemon, number: int) -> dict[str, Any]:
    found: dict[str, Any] = daemon.until_event("iteration_ended", iteration=number)["body"]
    assert not daemon.events("run_paused"), "the host is not to blame"
    assert not daemon.events("faulted"), "nobody is asked to mend it"
    return found


def test_a_candidate_that_breaks_its_measurement_twice_is_rejected(daemon: RealDaemon, workspace: Workspace) -> None:
    begun(daemon)
    with killing(workspace, r"r1\.1\.1-check"):
        propose(workspace, LOADS_UNTIL_IT_IS_KILLED, 4)
        daemon.until_event("measurement_broken", iteration=1)
        daemon.kill()
        daemon.start()
        daemon.command("resume")
        found = ended(daemon, 1)
    assert (found["outcome"], found["cause"]["kind"], found["cause"]["step"]) == (
        "rejected", "breaks_measurement", "check",
    )  # fmt: skip
    assert str(found["reason"]).startswith("breaks its measurement: the step `check` failed again and again with this ")
    assert len(daemon.events("measurement_broken")) == 1, "the first is not counted again after a restart"
    propose(workspace, "", 1)
    found = ended(daemon, 2)
    assert found["cause"]["kind"] in ("verdict", "gain_not_held"), "the run goes on: the next one was measured"


def test_trouble_that_does_not_come_back_costs_a_candidate_nothing(daemon: RealDaemon, workspace: Workspace) -> None:
    begun(daemon)
    with killing(workspace, r"r1\.1\.1-(time0|audit)", once=True):
        propose(workspace, SLOW_TO_LOAD, 1)
        assert ended(daemon, 1)["outcome"] == "accepted"
    assert [event["body"]["step"] for event in daemon.events("measurement_broken")] == ["time", "judge"]


def test_trouble_that_the_incumbent_has_too_is_the_hosts(daemon: RealDaemon, workspace: Workspace) -> None:
    there = workspace.root / "slow" / "there"
    there.parent.mkdir()
    set_local(workspace, reads=[str(there.parent)])
    loads = LOADS_WHILE_IT_IS_THERE.replace("@", str(there))
    kernel(workspace).write_text(loads + kernel(workspace).read_text())
    begun(daemon)
    there.touch()
    with killing(workspace, r"r1\.1\.1-check.*") as killed:
        propose(workspace, loads, 1)
        cause = daemon.until_event("run_paused", infra=True)["body"]["cause"]
        assert (cause["kind"], cause["trouble"]["trouble"], cause["incumbent"]) == ("incumbent_too", "host", 0)
        jobs = dict.fromkeys(re.sub("-[0-9a-f]{8}$", "", job) for job in killed)  # one may be killed again as it ends
        assert list(jobs) == ["r1.1.1-check", "r1.1.1-check-incumbent"]
    assert not daemon.events("measurement_broken"), "it costs the candidate no try"
    there.unlink()
    daemon.command("resume")
    assert daemon.until_event("iteration_ended", iteration=1)["body"]["outcome"] == "accepted"


def test_what_a_kernel_does_to_its_parent_stops_no_run(daemon: RealDaemon, workspace: Workspace) -> None:
    """Where the sandbox lets such a kernel do nothing, it is one like any other."""
    toml = workspace.tasks / "scale" / "task.toml"
    toml.write_text(toml.read_text().replace("seeds = 1", "seeds = 1\nlimit_s = 5\n[profile]\nlimit_s = 5"))
    begun(daemon)
    for number, attack in enumerate((KILLS_ITS_PARENT, STOPS_ITS_PARENT_FOR_GOOD, BABBLES), start=1):
        propose(workspace, attack, 9 - number)
        assert ended(daemon, number)["outcome"] in ("accepted", "rejected")
    propose(workspace, "", 1)
    assert ended(daemon, 4)["outcome"] == "accepted"
