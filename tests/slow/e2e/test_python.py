"""A whole run of a task in Python: a real daemon, kpd's own runner, real measurements."""

from kpd.workspace.paths import Workspace
from tests.support.daemon.real_daemon import RealDaemon, daemon, workspace
from tests.support.measure.python_tasks import TOML, small_task

__all__ = ["daemon", "workspace"]

SLOW = """\
import numpy as np

BLOCK = 64


def kernel(a, b):
    out = np.empty_like(a)
    for start in range(0, a.size, BLOCK):
        out[start : start + BLOCK] = 2 * a[start : start + BLOCK] + b[start : start + BLOCK]
    return out
"""


def test_a_sweep_over_a_constant_of_a_module_is_judged_by_kpds_own_runner(
    daemon: RealDaemon, workspace: Workspace
) -> None:
    folder = small_task(workspace.tasks, SLOW, toml=TOML + "\n[budget]\niterations = 1\n")
    daemon.start()
    daemon.command("run", task="double")
    ended = daemon.until_event("run_ended")
    iterations = [event["body"] for event in daemon.events("iteration_ended")]
    assert ended["body"]["outcome"] == "improved", [one["cause"] for one in iterations]
    assert [one["outcome"] for one in iterations][:2] == ["baseline", "accepted"]
    assert "BLOCK = 65536" in (folder / "kernel.py").read_text()
    shown = daemon.query("show", iteration="r1.1")
    assert shown["detail"]["judged"]["verdict"]["gain"]["pct"] > 50
