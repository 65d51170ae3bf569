"""Several runs at once, and runs that wait: what the header, the banner, the tree and the panes say of them."""

from dataclasses import replace

from kpd.model import events as e
from kpd.model.budget import Budget
from kpd.model.causes import PhaseFailed
from kpd.model.hosts import Device
from kpd.model.kinds import Told
from kpd.model.preparation import PhaseResult, TaskOrder
from kpd.model.side import ComparedRun
from kpd.model.spending import Spend, Usage
from kpd.model.waits import PausedBy
from tests.support.tui import logs, many_hosts
from tests.support.tui.views import plain, view_of
from tui.actions import confirm, forms
from tui.format import marks
from tui.model.outline import TreePosition, newest
from tui.model.view import View
from tui.panes import bars, overview
from tui.panes.next_step import next_lines
from tui.panes.outline import row_line


def header(view: View, width: int = 120) -> str:
    return plain(bars.header(view, width))


def test_the_header_counts_the_runs_and_shows_the_selected_one_else_the_newest() -> None:
    log = many_hosts.two()
    assert "… 2 running  r2.1  time ▮" in header(view_of(log))
    assert "… 2 running  r1.2  check ▮" in header(view_of(log, TreePosition(logs.TASK, "r1", 0)))
    log.emit(e.RunPaused("r1", PausedBy("op"), "op"))
    assert "… 1 running  ‖ 1 paused   …  r2.1  time" in header(view_of(log))
    assert "… 1 running   ‖  r1.2  check" in header(view_of(log, TreePosition(logs.TASK, "r1"))).replace(
        "‖ 1 paused  ", ""
    )
    assert "2 runs   …  r2.1" in header(view_of(log), 60)
    log.emit(e.QueueHeld(Told("the disk is full")))
    assert "‖ 2 held  r2.1" in header(view_of(log))


def test_the_header_shows_every_host_or_counts_them() -> None:
    assert "● gpu1 up  ○ gpu2 down  ○ gpu3 down  ● local up" in header(view_of(many_hosts.troubled()), 140)
    assert "● 14 hosts up  ○ 2 down" in header(view_of(many_hosts.sixteen()), 140)
    assert "● linked  ○ 2 down  " in header(view_of(many_hosts.sixteen()), 80)


def test_the_tree_says_which_side_of_a_comparison_a_run_is_on() -> None:
    log = logs.ended()
    log.emit(
        e.RunQueued("r2", logs.TASK, "mine", "local", Budget(), compared=ComparedRun("c1", 3, "tools", ("lint@1",)))
    )
    log.emit(e.RunStarted("r2", "a cpu", "local"))
    view = view_of(log)
    assert any("r2 c1 tools" in row_line(view, row, 60).plain for row in view.outline.rows)


def test_a_run_that_waits_says_so_everywhere() -> None:
    log = many_hosts.waiting()
    view = view_of(log)
    run, queued = log.state.runs["r1"], log.state.runs["r2"]
    assert marks.of_run(run) is marks.WAITING
    assert marks.of_iteration(run.iterations[-1], run) is marks.WAITING
    assert (marks.of_run(queued).glyph, marks.of_run(queued).word) == (marks.WAITING.glyph, marks.WAITING.word)
    assert "◔ waiting  r1.2  gpu2: connect" in header(view)
    assert plain(next_lines(view, 200)) == f"waits  {many_hosts.LINK_LOST}; it goes on by itself"
    shown = plain(overview.lines(view, 90, 30))
    assert "◔ waiting" in shown
    assert "◔ time" in shown
    in_queue = view_of(log, TreePosition("transpose_cpu", "r2"))
    assert "r2 is queued, and waits: local: busy with another run" in plain(overview.lines(in_queue, 200, 30))
    row = view.outline.index[TreePosition(logs.TASK, "r1")]
    assert row_line(view, view.outline.rows[row], 29).plain == " ▾ r1 ◔ waiting  gpu2: conne…"
    assert row_line(view, view.outline.rows[row], 24).plain == " ▾ r1 ◔ waiting", "a few letters of it say nothing"
    again = view_of(log.emit(e.RunWaits("r1", None)))
    assert "… running" in header(again)
    assert "judge, once time is done" in plain(next_lines(again, 100))


def test_trouble_that_needs_a_person_outranks_waiting() -> None:
    log = many_hosts.waiting()
    assert marks.of_run(log.state.runs["r1"], held=True) is marks.HELD
    log.emit(e.RunPaused("r1", Told("infrastructure: the disk is full"), "kpd", infra=True))
    assert marks.of_run(log.state.runs["r1"]) is marks.PAUSED


def test_a_queued_run_may_have_no_host_yet() -> None:
    log = many_hosts.begin().queued("r1")
    text = plain(overview.lines(view_of(log, TreePosition(logs.TASK, "r1")), 100, 30))
    assert "r1 is queued for any host that fits" in text
    assert "waits  for a device that is free" in plain(next_lines(view_of(log, TreePosition(logs.TASK, "r1")), 100))


def test_the_banner_speaks_of_any_paused_run_and_says_how_to_resume_it() -> None:
    log = many_hosts.two().emit(e.RunPaused("r1", PausedBy("op"), "op"))
    assert "r1 paused by op · select it, then r resumes it" in plain(bars.banner(view_of(log), 120))
    assert "r1 paused by op · r resumes it" in plain(bars.banner(view_of(log, TreePosition(logs.TASK, "r1")), 120))
    log.emit(e.RunPaused("r2", PausedBy("op"), "op"))
    assert "r2 paused by op · r resumes it" in plain(bars.banner(view_of(log), 120))


def test_the_banner_offers_the_key_that_waits_unless_it_is_in_sight() -> None:
    view = view_of(many_hosts.troubled(), host="gpu3")
    text = "! gpu3 shows a key that nobody has trusted yet · 7 shows it, T trusts it"
    assert text in plain(bars.banner(view, 120))
    assert bars.banner(replace(view, tab="hosts"), 120) == []


def test_the_newest_run_is_followed_and_all_that_have_begun_are_open() -> None:
    log = many_hosts.two()
    assert newest(log.state) == TreePosition("transpose_cpu", "r2", 1)
    log.on("r3", log.state.hosts["gpu1"], Device("cpu", "cpu", "x")).emit(e.IterationStarted("r3", 0, "baseline", 0))
    rows = view_of(log).outline.index
    assert {
        TreePosition(logs.TASK, "r1", 2),
        TreePosition("transpose_cpu", "r2", 1),
        TreePosition(logs.TASK, "r3", 0),
    } <= rows.keys()


def test_an_edit_or_a_missing_memo_of_any_run_is_said() -> None:
    log = many_hosts.two().emit(e.OperatorEdited("r1", {"kernel.c": "new"}))
    assert "your edit of kernel.c" in plain(bars.prompt(view_of(log), 120))
    log = many_hosts.two().iteration(3, "operator edit: kernel.c +3 −1", 2.9, "faster", parent=1, agent="operator")
    assert confirm.memo_wanted(view_of(log)) == "r1.3"


def test_a_new_run_is_told_what_is_under_way() -> None:
    assert "under way: r1, r2" in forms.run(view_of(many_hosts.two())).text[0]
    assert forms.run(view_of(many_hosts.begin())).text[0].startswith("It begins at once.")


def test_the_phases_before_a_projects_run_are_drawn_until_they_are_done_and_then_are_a_line() -> None:
    queued = e.RunQueued("r7", "prover", "claude", "gpu1", Budget(), by="ada", deploy="prover", order=TaskOrder())
    log = logs.ended().emit(queued).emit(e.PhaseBegun("r7", "check"))
    log.emit(e.PhaseEnded("r7", "check", PhaseResult(lacks=("ncu: none",)), 2.4)).emit(e.PhaseBegun("r7", "observe"))
    drawn = plain(overview.lines(view_of(log, TreePosition("prover", "r7")), 100, 30))
    assert "r7  … preparing   by claude on gpu1" in drawn
    assert "next  task, once observe is done" in drawn
    assert "✓ check         2.4 s  the project is as it should be; its host lacks ncu: none" in drawn
    assert "… observe " in drawn and "  one run of the program: what it launches" in drawn
    assert "· task" in drawn
    log.emit(e.PhaseEnded("r7", "observe", PhaseResult(failed="no CUPTI", remedy="install it", infra=True), 3.0))
    log.emit(e.RunEnded("r7", "infra", PhaseFailed("observe", "no CUPTI", "install it")))
    drawn = plain(overview.lines(view_of(log, TreePosition("prover", "r7")), 100, 30))
    assert "ended  observe: no CUPTI; install it" in drawn
    assert "✗ observe       3.0 s  failed" in drawn
    done = logs.ended().emit(queued)
    paid = {"harness": Spend().with_call(Usage(10, output=5), 0.25)}
    for phase, spend in (("check", {}), ("observe", {}), ("task", paid)):
        done.emit(e.PhaseBegun("r7", phase)).emit(e.PhaseEnded("r7", phase, PhaseResult(task="prover-2"), 2.0, spend))
    done.emit(e.RunStarted("r7", "Xeon", "local")).baseline("r7")
    drawn = plain(overview.lines(view_of(done, TreePosition("prover-2", "r7")), 60, 30))
    assert "Preparation  6.0 s  harness $0.25  check 2.0 s" in drawn
