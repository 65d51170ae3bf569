"""Reports on canned answers: what an operator reads of a run and an iteration."""

from dataclasses import asdict, replace
from typing import Any

import pytest

from kpd.cli import hosts, log, status
from kpd.cli.events import brief
from kpd.cli.report import advice, report
from kpd.cli.terminal_text import width
from kpd.model import events as e
from kpd.model.deployments import Deployment, DeploymentCard
from kpd.model.detail import Detail
from kpd.model.hosts import Device, HostCard
from kpd.model.iteration import Iteration, Override
from kpd.model.kinds import Told
from kpd.model.notices import Notice, Said
from kpd.model.profiles import Advice, Scope
from kpd.model.session import AgentSession
from kpd.model.state import TaskCard
from kpd.model.status import Paused, Queued, Stepping
from kpd.model.waits import DiskTrouble
from kpd.text import json_views
from tests.support.cli.shown import ACCEPTED, AT, DETAIL, OWN, RUN, as_json, brief_run, shown
from tests.support.model import compared
from tests.support.model.samples import done
from tests.support.tui import gpu as tui_gpu


def test_an_accepted_iteration_in_full() -> None:
    assert (
        "\n".join(report(shown(), 100, colour=False))
        == """\
r3.3  ▲ accepted
task        transpose_cpu on local, proposed by sweep, against r3.0
memo        wider tiles ␛[2J
expected    memory traffic up, 5.0 % less time: it went up, 8 → 12, as expected
point       TILE = 32
verdict     faster beyond doubt, by at least 2 %
            1.032× [1.025, 1.040] the incumbent's speed (99 % interval, 7 processes)
score       12.50 µs, 78 % of the roofline (the incumbent 67 % in the same contest), as measured
            then
speed-up    1.032× [1.017, 1.047], chained, over the baseline
bottleneck  memory
flagged     a removed loop

CASE     µs  INCUMBENT µs  SPEED-UP  ROOFLINE µs  OF ROOFLINE
wide     10            12     1.20×            8         80 %
tall  15.60         15.50    0.994×

‼ far-from-roofline (high): far below bandwidth
    → block it

METRIC          ITERATION 0  NOW  UNIT
memory traffic            8   12  GB/s

✗ attempt 1, build: kernel.c:3: expected ';'
– not measured: last-level cache misses a 1000 instructions, instructions a cycle (no perf)

files       build.json, kernel.c in /ws/runs/transpose_cpu/r3/iter_0003"""
    )


def of_a_gpu(denied: bool = False) -> dict[str, Any]:
    """The answer of `show` for an accepted iteration on a recorded GPU."""
    timed, (profiled, explained) = tui_gpu.cases("tiled"), tui_gpu.profiled(3, "tiled", denied)
    own = replace(
        DETAIL, timed=e.Timed(*OWN, 32.75, 7, timed, 0, 87.35), profiled=profiled, explained=explained, faults=()
    )
    answer = shown(replace(ACCEPTED, bottleneck="launch bound: a call takes 9.8 µs"), own)
    return answer | {"run": answer["run"] | {"device": "NVIDIA H100 80GB HBM3 (recorded)"}}


def test_an_iteration_on_a_gpu() -> None:
    lines = report(of_a_gpu(), 80, colour=False)
    assert "device      NVIDIA H100 80GB HBM3 (recorded)" in lines
    assert "bottleneck  launch bound: a call takes 9.8 µs" in lines
    at = lines.index("CASE         EVENT µs  DEVICE µs  LAUNCH  WARM µs  INCUMBENT  SPEED-UP  ROOF")
    assert lines[at + 4] == "wide            51.07      48.90     4 %    51.10      330.3     6.47×  93 %"
    at = lines.index("NVIDIA's advice; ✓ where a rule says the same")
    assert lines[at + 1] == "  OPT TheoreticalOccupancy up to 62 % ✓ register_limited"
    assert "  OPT SOLBottleneck ✓ severe_memory_bound [wide]" in lines[at:]
    assert any("smem_bank_conflicts (high)" in text for text in lines[:at])
    whole = " ".join(" ".join(lines).split())
    assert "dependency on a L1TEX (local, global, surface, texture) operation. OPT" in whole, "cut at a sentence's end"


def test_sixty_missing_counters_are_one_reason() -> None:
    told = " ".join(report(of_a_gpu(denied=True), 80, colour=False))
    assert told.count("ERR_NVGPUCTRPERM") == 1
    assert "not measured: 55 metrics: counters, speed of light, memory, warp stalls," in told
    assert "NVIDIA's advice" not in told


def test_a_piece_of_advice_is_whole_when_it_was_asked_for() -> None:
    piece = asdict(Advice("R", "OPT", "One. " * 80, None, ("a",)))
    assert advice(piece, 2, 80)[0] == "  OPT R [a]"
    assert " ".join(advice(piece, 2, 80)).count("One.") == 80
    assert " ".join(advice(piece, 2, 80, most=20)).count("One.") == 5


@pytest.mark.parametrize(
    ("scope", "told"), [("global", "up to 62 % less time"), ("local", "local: up to 62 %"), ("", "up to 62 %")]
)
def test_an_estimate_says_what_it_is_of(scope: Scope, told: str) -> None:
    piece = asdict(Advice("R", "OPT", "It is.", 62.4, agrees="low_ipc", scope=scope))
    assert advice(piece, 2, 80)[0] == f"  OPT R {told} ✓ low_ipc"
    assert advice({**piece, "speedup_pct": 0.4}, 2, 80)[0] == f"  OPT R {told.replace('62', '0.4')} ✓ low_ipc"


@pytest.mark.parametrize("limit", [40, 64, 80, 120])
def test_no_line_is_wider_than_the_terminal_but_paths(limit: int) -> None:
    lines = report(shown(), limit, colour=False)
    assert all(width(text) <= max(limit, 62) for text in lines), max(lines, key=width)
    if limit >= 64:
        assert all(width(text) <= limit for text in lines)


def test_colour_only_where_it_is_wanted_and_never_alone() -> None:
    assert not any("\x1b" in text for text in report(shown(), 80, colour=False))
    assert report(shown(), 80, colour=True)[0] == "r3.3  \x1b[32m▲ accepted\x1b[0m"


def test_an_iteration_that_has_only_begun() -> None:
    begun = Iteration(4, "sweep", 3, AT, status=Stepping("build"))
    lines = report(shown(begun, Detail()), 80, colour=False)
    assert lines[0] == "r3.4  … build"
    assert lines[2] == "memo        none"
    assert not any(text.startswith(("verdict", "score", "CASE")) for text in lines)


def test_a_rejected_one_and_one_by_hand() -> None:
    wrong = replace(ACCEPTED, status=done("rejected", Told("incorrect: out[3] is nan")), verdict=None, score=None)
    lines = report(shown(wrong, Detail()), 80, colour=False)
    assert lines[0] == "r3.3  ✗ rejected"
    assert "reason      incorrect: out[3] is nan" in lines
    by_hand = replace(ACCEPTED, status=done("rejected"), override=Override("ada", "reads better"))
    assert report(shown(by_hand), 80, colour=False)[0] == "r3.3  ▲ by hand"


OLDER = Deployment(1, "r1", 2, AT - 9000, "refused", cause="not_approved")
GATED = Deployment(2, "r3", 3, AT - 90, "gated", "gate", "gate")
BUILDING = Deployment(3, "r3", 3, AT - 60, phase="build")


def canned_status(**changes: Any) -> dict[str, Any]:
    runs = {"r3": RUN, "r4": replace(RUN, id="r4", status=Queued(), incumbent=None, iterations=())}
    return {
        "version": "0.1.0", "pid": 4242, "workspace": "/ws", "seq": 9, "at": AT, "held": "",
        "active": brief_run(RUN), "begun": [brief_run(RUN)], "queued": [],
        "runs": {name: brief_run(run) for name, run in runs.items()},
        "hosts": {"local": as_json(HostCard("local", "local", device="Some CPU", compiler="gcc 12"))},
        "tasks": {"bad": as_json(TaskCard("bad", error="tasks/bad/task.toml:3: unknown key"))},
        "deployments": [json_views.deployment(DeploymentCard("prover", one)) for one in (OLDER, GATED, BUILDING)],
        "notices": [json_views.noticed(Notice(AT - 60, "warning", Said("r2 lost its host")))],
    } | changes  # fmt: skip


def test_status() -> None:
    assert (
        "\n".join(status.report(canned_status(), AT, None, colour=False))
        == """\
● kpd 0.1.0, process 4242, /ws
● local: Some CPU, gcc 12

RUN  STATE      TASK           AGENT  HOST   ITER  BEST                            NOW
r3   … running  transpose_cpu  sweep  local   1/6  1.032× [1.017, 1.047], chained  between iterations
r4   ○ queued   transpose_cpu  sweep  local   0/6

… deploying prover #3, r3.3: building it with the new kernel
✗ task bad: tasks/bad/task.toml:3: unknown key
! r2 lost its host (1 min ago)"""
    )


def test_status_names_the_step_what_is_held_and_that_no_daemon_runs() -> None:
    at_work = Iteration(4, "sweep", 3, AT, status=Stepping("time", AT - 12, attempt=2))
    running = replace(RUN, iterations=(*RUN.iterations, at_work))
    told = "\n".join(status.report(canned_status(runs={"r3": brief_run(running)}), AT, None, colour=False))
    assert "iteration 4: time for 12 s, attempt 2" in told
    held = "\n".join(status.report(canned_status(held="the daemon was killed"), AT, 50, colour=False))
    assert "‖ held: the daemon was killed; kpd resume releases\nthe queue" in held
    cards = [DeploymentCard("prover", BUILDING, cut=True), DeploymentCard("prover", GATED)]
    told = list(status.report(canned_status(deployments=[*map(json_views.deployment, cards)]), AT, None, colour=False))
    assert any(line.startswith("! CUT OFF prover #3, r3.3, in phase build: its host restores") for line in told)
    assert "≈ NO GAIN prover #2, r3.3: the gain alone is not surely large enough" in told
    gone = list(status.report(canned_status(pid=None, runs={}), AT, None, colour=False))
    assert gone[0].startswith("○ no daemon; kpd start")
    assert "no runs; kpd run TASK queues one" in gone
    paused = replace(RUN, status=Paused(DiskTrouble("disk full")))
    assert "infrastructure: disk full" in "\n".join(status.runs_table([brief_run(paused)], {}, AT, None))


def test_a_row_of_the_log_lines_up_with_its_head() -> None:
    head = log.row(log.HEAD, None)
    made = log.row(log.cells("r3", as_json(json_views.iteration(ACCEPTED)), True), None)
    assert made == "r3.3*     ▲ accepted                 12.50  1.032× [1.025, 1.040]       sweep      wider tiles ␛[2J"
    assert head.index("SPEED-UP") == made.index("1.032×")
    assert width(log.row(log.cells("r3", as_json(json_views.iteration(ACCEPTED)), True), 50)) == 50
    broken = replace(ACCEPTED, status=done("failed", Told("does not build")), verdict=None, score=None)
    assert log.row(log.cells("r3", as_json(json_views.iteration(broken)), False), None).endswith("does not build")


def test_an_event_in_a_line() -> None:
    entry = {
        "seq": 7,
        "at": AT,
        "kind": "judged",
        "body": {"run": "r3", "iteration": 3, "word": "a\x1b\nb", "none": []},
    }
    assert brief(entry, None).endswith("judged              r3.3      word=a␛ b")
    assert width(brief(entry, 30)) == 30


def test_a_host() -> None:
    card = HostCard("local", "local", device="Some CPU", cpu=1, bandwidth_gbs=11.5, peak_gflops=50.0, counters="none")
    assert hosts.report(as_json(card), 80) == [
        "● local (local, up)",
        "  device     Some CPU",
        "  pinned to  CPU 1",
        "  counters   none",
        "  roofline   11.50 GB/s, 50 GFLOP/s",
    ]
    gpu = Device("GPU-1", "gpu", "H100", bandwidth_gbs=2900.0, peak_gflops=52_000.0)
    both = hosts.report(as_json(replace(card, devices=(gpu, replace(gpu, id="GPU-2", bandwidth_gbs=None)))), 80)
    assert both[-2:] == [
        "  roofline   11.50 GB/s, 50 GFLOP/s; H100 2,900 GB/s, 52,000 GFLOP/s; H100",
        "  52,000 GFLOP/s",
    ]
    only = hosts.report(as_json(replace(card, bandwidth_gbs=None, peak_gflops=None, devices=(gpu,))), 80)
    assert only[-1] == "  roofline   H100 2,900 GB/s, 52,000 GFLOP/s"


def test_a_truth_that_is_the_baselines_is_told() -> None:
    found = replace(DETAIL, checked=e.Checked("r3", 3, 0.0, 0.0, 1000, 0.2, "wide", "baseline"))
    told = "\n".join(report(shown(detail=found), 100, colour=False))
    assert "truth       the outputs of the baseline, as the task has no reference" in told


def test_a_run_of_a_comparison_says_which_one_it_is() -> None:
    rows = status.runs_table([json_views.run(compared.run(1.5, "tools", 3)), json_views.run(RUN)], {}, AT, None)
    assert "task, trial 3 of c1, with tools" in rows[1]
    assert "trial" not in rows[2]


def test_what_an_agent_wanted_to_do_to_its_judges_is_flagged() -> None:
    session = AgentSession("r3.3", turns=1, end="done", judges=("harness.c",), foreign=("task.toml",))
    told = "\n".join(report(shown(replace(ACCEPTED, session=session)), 200, colour=False))
    assert "a removed loop; its agent asked to change harness.c, which judges it, and was refused" in told
    assert "; its agent changed task.toml, which was not taken" in told
