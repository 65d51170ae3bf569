"""What must hold before an acceptance, in a whole run: an honest gain is audited and told, a kept result is refused."""

from kpd.workspace.paths import Workspace
from tests.support.daemon.real_daemon import RealDaemon, daemon, workspace
from tests.support.e2e.kernels import kernel, save

__all__ = ["daemon", "workspace"]

KEEPS = """\
static float seen[2][4096], kept[2][4096];
void scale(const float *x, volatile float *y, long n) {
    int at = n == 4096;
    for (long i = 0; i < n; i++) {
        if (seen[at][i] != x[i])
            for (volatile int r = 0; r < 8; r++) kept[at][i] = 2.0f * (seen[at][i] = x[i]);
        y[i] = kept[at][i];
    }
}
"""


def test_a_gain_is_audited_before_it_is_accepted(daemon: RealDaemon, workspace: Workspace) -> None:
    daemon.start()
    daemon.command("run", task="scale", agent="operator")
    daemon.until_event("folder_known")
    honest = kernel(workspace).read_text().replace("REPEAT 8", "REPEAT 4")
    save(kernel(workspace), KEEPS)
    refused = daemon.until_event("iteration_ended", iteration=1)["body"]
    assert refused["outcome"] == "rejected"
    assert refused["cause"]["kind"] == "gain_not_held", refused["reason"]
    assert refused["cause"]["audit"] == "fresh"
    assert "when every call has new inputs" in refused["reason"]
    assert "verdict" in daemon.query("show", iteration="r1.1")["iteration"]
    save(kernel(workspace), honest)
    daemon.until_event("iteration_ended", iteration=2, outcome="accepted")
    audited = daemon.query("show", iteration="r1.2")["detail"]["judged"]["audited"]
    assert audited["fresh"]["low"] <= audited["fresh"]["pct"] <= audited["fresh"]["high"]
    assert audited["fresh"]["high"] > 20, "half the work is left, however busy the machine is"
    assert "calls of each kernel on fresh inputs" in audited["text"]
    assert daemon.query("show", iteration="r1.2")["detail"]["judged"]["repeats"] >= 6
    assert (workspace.iteration_folder("scale", "r1", 2) / "repeats.json").is_file()
    assert (workspace.iteration_folder("scale", "r1", 2) / "audit.json").is_file()
    assert (workspace.iteration_folder("scale", "r1", 1) / "audit.json").is_file()
    assert not daemon.events("faulted"), "it is never sent back"
