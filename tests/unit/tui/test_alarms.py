"""A warning is shown while its cause lasts, and of a run without a daemon nobody says that it runs."""

from dataclasses import replace

from kpd.model import events as e
from kpd.model.causes import Stopped
from kpd.model.deployments import Deployment, DeploymentCard
from kpd.model.notices import NotOptimised, Said, SettingsRead, SettingsRefused
from tests.support.tui import logs
from tests.support.tui.views import plain, view_of
from tui.actions.action import reason
from tui.actions.table import BY_ID
from tui.model.alarms import alarm
from tui.model.feed import LinkState
from tui.model.outline import TreePosition
from tui.model.view import View
from tui.panes import bars, outline, overview

DOWN = LinkState("down", "no daemon runs for this workspace", "kpd start")


def said(view: View) -> str:
    return plain(bars.banner(view, 120))


def test_a_stalled_step_is_told_until_the_step_ends() -> None:
    log = logs.running()
    it = log.state.runs["r1"].current
    assert it is not None and it.step is not None
    log.emit(e.StepStalled("r1", it.number, it.step, 900.0))
    assert alarm(view_of(log)) is not None
    log.emit(e.StepStarted("r1", it.number, "record"))
    assert alarm(view_of(log)) is None


def test_a_warning_of_a_run_ends_with_its_iteration_and_is_shown_of_no_other_run() -> None:
    log = logs.running().emit(e.Noticed("warning", NotOptimised("r1", "-g")))
    assert alarm(view_of(log)) is not None
    log.emit(e.RunEnded("r1", "stopped", Stopped("op")))
    assert alarm(view_of(log, TreePosition(logs.TASK, "r1"))) is not None, "whoever looks at it sees it still"
    log.run("r2", "transpose_cpu").baseline("r2")
    assert alarm(view_of(log, TreePosition("transpose_cpu", "r2"))) is None
    begun = logs.running().emit(e.Noticed("warning", NotOptimised("r1", "-g"))).begin(7, parent=4)
    assert alarm(view_of(begun)) is None


def test_a_warning_behind_which_another_ended_is_told_again() -> None:
    log = logs.running().emit(e.Noticed("error", SettingsRefused("line 3")))
    log.emit(e.Noticed("warning", NotOptimised("r1", "-g"))).begin(7, parent=4)
    found = alarm(view_of(log))
    assert found is not None
    assert isinstance(found.about, SettingsRefused)
    assert alarm(view_of(log.emit(e.Noticed("info", SettingsRead(True))))) is None


def test_a_deployment_is_on_the_overview_of_its_run_and_an_alarm_while_it_is_cut_off() -> None:
    log, begun = logs.running(), Deployment(1, "r1", 2, 2e9, phase="build")

    def seen(one: Deployment, cut: bool = False) -> View:
        return view_of(log.emit(e.DeploymentSeen(one.run, DeploymentCard("prover", one, cut))))

    view = seen(begun)
    assert alarm(view) is None
    assert "… deploying prover #1, r1.2: building it with the new kernel" in plain(overview.lines(view, 120, 40))
    assert [len(seen(begun, cut=True).state.notices) for _ in range(2)] == [1, 1], "it is told once"
    assert "CUT OFF prover #1, r1.2, in phase build: its host restores" in said(view_of(log))
    view = seen(replace(begun, state="rolled_back", cause="cut"))
    assert alarm(view) is None
    assert "■ ROLLED BACK prover #1, r1.2: the process that deployed was ended in phase build" in plain(
        overview.lines(view, 120, 40)
    )
    failed = replace(begun, number=2, state="failed", cause="conflict", about="src/a.cu")
    assert "FAILED prover #2, r1.2: somebody else has changed the program meanwhile: src/a.cu" in said(seen(failed))
    of_former_log = replace(begun, number=3, at=1.0)
    assert "#3" not in plain(overview.lines(seen(of_former_log), 120, 40))


def test_a_warning_can_be_dismissed_and_a_later_one_is_shown() -> None:
    log = logs.running().emit(e.Noticed("error", Said("the disk is full")))
    view = view_of(log)
    assert "the disk is full · esc dismisses it" in said(view)
    assert reason(BY_ID["clear"], view) == ""
    seen = replace(view, dismissed=view.state.notices[-1].at)
    assert said(seen) == ""
    assert reason(BY_ID["clear"], seen) == "there is no filter, no search and no warning"
    log.emit(e.Noticed("error", Said("the disk is full again")))
    assert "full again" in said(view_of(log, dismissed=seen.dismissed))


def test_without_a_link_no_run_is_said_to_be_running() -> None:
    view = replace(view_of(logs.running()), link=DOWN)
    rows = plain(outline.row_line(view, row, 60) for row in view.outline.rows)
    assert "running" not in rows + plain(bars.header(view, 120))
    assert "r1 sweep ○ no link" in rows
    assert "running" in plain(bars.header(view_of(logs.running()), 120))
