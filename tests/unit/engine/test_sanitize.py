"""Winners are provisional until compute-sanitizer has seen them: the state, the plan, and who is to blame."""

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest
from msgspec.structs import replace as replaced

from kpd.engine import confirm
from kpd.engine.plan import End, Iterate, Sanitize, next_action
from kpd.engine.sanitize import LEAST_S, MOST_S, Try, look, not_run, wants_sanitizer
from kpd.model import events as e
from kpd.model.budget import Budget
from kpd.model.causes import IterationsUsed
from kpd.model.codec import encode, fact_from
from kpd.model.defects import BadAccess, WrongResult
from kpd.model.detail import detail
from kpd.model.faults import BreaksMeasurement, CandidateFault, Incorrect
from kpd.model.fold import fold_all
from kpd.model.headline import headline
from kpd.model.iteration import Override
from kpd.model.notices import NoSanitizer, Unlooked
from kpd.model.run import Run
from kpd.model.sanitizer import TOOLS, Tool, ToolReport
from kpd.model.state import State
from kpd.model.status import Ended, Running
from kpd.model.verdicts import Gain, Verdict
from kpd.model.waits import ForSanitizer
from kpd.operations.runs import SkipIteration
from kpd.text import signs
from kpd.text.faults import wrong
from kpd.text.headlines import headline as told
from kpd.text.notices import told as told_notice
from kpd.text.sanitizer import provisional, reports
from kpd.workspace.specs import BenchSpec, CheckSpec
from tests.support.model.samples import done, run_of, task_of

CLEAN = tuple(ToolReport(tool, 2, 2, 1.0) for tool in TOOLS)
NOTHING = tuple(ToolReport(tool, 0, 2, 10.0) for tool in TOOLS)
RACE = ToolReport("racecheck", 2, 2, 1.0, 1, "Race reported")
FAULT = Incorrect(WrongResult(BadAccess("Race reported", 1, "racecheck")))
FASTER = Verdict("faster", Gain(10.0, 9.0, 11.0), 7, True, "confirmed", 1.0)


def log(*facts: e.Fact, present: bool = True) -> list[e.Event]:
    """A run whose iterations 1 and 2 were accepted, and then these facts."""
    begun: list[e.Fact] = [e.RunQueued("r1", "task", "sweep", "local", Budget(2, 9)), e.RunStarted("r1", "gpu")]
    begun += [e.SanitizerFound("r1", True)] if present else []
    for number in range(3):
        begun.append(e.IterationStarted("r1", number, "sweep" if number else "baseline", max(0, number - 1)))
        begun.append(e.Judged("r1", number, 0.0, 0.0, FASTER))
        begun.append(e.Accepted("r1", number, {"k": str(number)}))
        begun.append(e.IterationEnded("r1", number, "accepted" if number else "baseline", IterationsUsed(0)))  # type: ignore[arg-type]
    return [e.Event(seq, float(seq), fact) for seq, fact in enumerate((*begun, *facts), start=1)]


def folded(*facts: e.Fact, present: bool = True) -> Run:
    return fold_all(log(*facts, present=present)).runs["r1"]


def seen(number: int, found: tuple[ToolReport, ...] = CLEAN, fault: CandidateFault | None = None) -> e.Sanitized:
    return e.Sanitized("r1", number, found, fault)


def test_winners_are_provisional_where_the_tool_is_and_the_baseline_is_not() -> None:
    assert [it.provisional for it in folded().iterations] == [False, True, True]
    assert not any(it.provisional for it in folded(present=False).iterations), "as in older logs"
    gone = folded(e.SanitizerFound("r1", False), e.Accepted("r1", 0, {}, Override("me")))
    assert not gone.iterations[0].provisional and not gone.sanitizes


def test_it_is_marked_wherever_its_number_is_shown() -> None:
    run = folded()
    found = headline(run)
    assert found is not None and told(found).endswith(", chained, provisional")
    assert signs.of_iteration(run.iterations[2]).word == "provisional"
    assert provisional(run.iterations[2]) == "provisional until it has passed its last checks"
    run = folded(seen(2))
    found = headline(run)
    assert found is not None and told(found).endswith(", chained")
    assert signs.of_iteration(run.iterations[2]).word == "accepted"
    assert provisional(run.iterations[2]) == ""


def test_one_of_which_memcheck_has_not_seen_every_case_stays_provisional() -> None:
    it = folded(seen(2, NOTHING)).iterations[2]
    assert (it.provisional, it.unsanitized) == (True, False)
    assert provisional(it).startswith("provisional: memcheck saw 0 of 2 cases; memcheck: no error in 0 of 2")
    assert provisional(it).endswith("[check] sanitizer = false in task.toml asks for no look")
    memcheck, *others = CLEAN
    for found in (
        replaced(memcheck, cases=1),
        replaced(memcheck, trouble="broke off"),
        *not_run(TOOLS, "skipped by me"),
    ):
        it = folded(seen(2, (found, *others))).iterations[2]
        assert (it.provisional, it.unsanitized) == (True, False), found
    assert "memcheck: did not run: skipped by me" in provisional(it)
    both = replaced(memcheck, trouble="no registers left", baseline=True)
    assert folded(seen(2, (both, *others))).iterations[2].provisional, "the baseline's trouble is no pass"
    assert not folded(seen(2, (memcheck, *NOTHING[1:]))).iterations[2].provisional, "the others need not see all"


def test_one_with_a_fault_is_refused_and_keeps_its_verdict() -> None:
    run = folded(seen(2, (RACE,), FAULT), e.GaveWay("r1", 1, {"k": "1"}, 2, "sanitizer"))
    it = run.iterations[2]
    assert (it.outcome, it.cause, it.provisional, it.verdict) == ("rejected", FAULT, False, FASTER)
    assert signs.of_iteration(it).word == "incorrect"
    assert run.incumbent == 1


def test_a_person_who_accepts_it_again_is_not_asked_again() -> None:
    run = folded(seen(2, (RACE,), FAULT), e.Accepted("r1", 2, {"k": "2"}, Override("me")))
    assert not run.iterations[2].provisional and confirm.chosen(run)


def test_what_it_gives_way_to_has_no_known_fault() -> None:
    run = folded()
    assert getattr(confirm.before(run, 2), "number", None) == 1
    run = folded(seen(1, (RACE,), FAULT))
    assert run.incumbent == 2, "each stands for itself"
    assert getattr(confirm.before(run, 2), "number", None) == 0


def test_no_run_ends_before_its_winners_were_seen() -> None:
    assert next_action(folded()) == Sanitize(1)
    assert next_action(folded(seen(1))) == Sanitize(2)
    assert next_action(folded(seen(1), seen(2))) == Iterate(3, "again", of=2, confirming="end")
    assert next_action(folded(seen(1, NOTHING), seen(2))) == Iterate(3, "again", of=2, confirming="end")
    going = replace(folded(), reopened=Ended("improved", IterationsUsed(2), 0.0))
    assert next_action(going) == Sanitize(1)
    assert next_action(replace(folded(), budget=Budget(9, 9))) == Iterate(3, "sweep"), "it goes on meanwhile"
    vain = run_of(folded().iterations[0], replace(folded().iterations[1], status=done("rejected"), provisional=False))
    assert isinstance(next_action(replace(vain, budget=Budget(1, 9))), End)


def test_the_fact_is_in_the_detail_and_survives_the_log() -> None:
    fact = seen(2, (RACE,), FAULT)
    found = detail([one for one in log(fact) if getattr(one.fact, "iteration", None) == 2])
    assert found.sanitized == fact
    assert fact_from("sanitized", encode(fact)) == fact
    old = fact_from("gave_way", b'{"run": "r1", "iteration": 0, "files": {}, "unheld": 1}')
    assert isinstance(old, e.GaveWay) and old.why == "contest"


def looked(
    tools: tuple[Tool, ...] = TOOLS, **answers: dict[Try, ToolReport]
) -> tuple[tuple[ToolReport, ...], object, list[tuple[str, float]]]:
    """What is found where the tools answer so; by default they see no error, in a second."""
    asked: list[tuple[str, float]] = []

    async def run(tool: Tool, of: Try, limit_s: float) -> ToolReport:
        asked.append((f"{tool}{of}", limit_s))
        return answers.get(tool, {}).get(of, ToolReport(tool, 2, 2, 1.0))

    found, fault = asyncio.run(look(run, tools))
    return found, fault, asked


def error(tool: Tool, count: int = 1) -> ToolReport:
    return ToolReport(tool, 2, 2, 1.0, count, "it strays")


def trouble(tool: Tool) -> ToolReport:
    return ToolReport(tool, 0, 2, 1.0, trouble="no registers left")


def test_the_tool_that_is_needed_has_the_time_that_it_needs_and_the_others_share_the_rest() -> None:
    found, fault, asked = looked()
    assert (found, fault) == (CLEAN, None)
    assert asked == [
        ("memcheck", MOST_S - 3 * LEAST_S), ("overflow", pytest.approx(29.0 / 3)),
        ("initcheck", 14.0), ("racecheck", 27.0),
    ]  # fmt: skip


def test_a_fault_at_a_very_large_size_is_not_told_as_compute_sanitizers() -> None:
    assert wrong(WrongResult(BadAccess("n=9: y[3] is 1", 2, "overflow"))) == "another size: n=9: y[3] is 1 (2 errors)"
    assert wrong(WrongResult(BadAccess("it strays", 1, ""))) == "compute-sanitizer: it strays (1 error)"


def test_a_tool_that_asks_nothing_of_a_task_has_no_report() -> None:
    found, fault, asked = looked(overflow={"": ToolReport("overflow", 0, 0, 0.0)})
    assert fault is None and len(asked) == len(TOOLS)
    assert [report.tool for report in found] == [tool for tool in TOOLS if tool != "overflow"]


def test_a_tool_that_is_the_only_one_decides_and_has_all_the_time() -> None:
    """As on a CPU, where winners are called at sizes far beyond the cases."""
    found, fault, asked = looked(("overflow",))
    assert (fault, asked) == (None, [("overflow", MOST_S)])
    assert reports(found) == "other sizes: no error in 2 of 2, 1.0 s"
    assert not folded(seen(2, found)).iterations[2].provisional
    _, fault, asked = looked(("overflow",), overflow={"": trouble("overflow"), "-again": trouble("overflow")})
    assert isinstance(fault, BreaksMeasurement)
    assert [name for name, _ in asked] == ["overflow", "overflow-again", "overflow-baseline"]


def test_where_no_larger_size_is_allowed_none_is_provisional_afterwards() -> None:
    found, fault, _ = looked(("overflow",), overflow={"": ToolReport("overflow", 0, 0, 0.1)})
    assert (found, fault) == ((), None)
    it = folded(seen(2, ())).iterations[2]
    assert (it.provisional, it.unsanitized) == (False, False)


def test_the_time_of_all_is_limited() -> None:
    took = dict(zip(TOOLS, (27.0, 1.0, 1.0, 1.0), strict=True))
    slow: dict[str, dict[Try, ToolReport]] = {tool: {"": ToolReport(tool, 1, 2, took[tool])} for tool in TOOLS}
    found, fault, asked = looked(**slow)
    assert fault is None and [limit for _, limit in asked] == list(took.values())
    assert sum(report.seconds for report in found) <= MOST_S
    late: dict[str, dict[Try, ToolReport]] = {"memcheck": {"": ToolReport("memcheck", 1, 2, 31.0)}}
    assert looked(**late)[2][1] == ("overflow", LEAST_S)


@pytest.mark.parametrize("tool", TOOLS)
def test_an_error_is_the_candidates_unless_the_baseline_has_it(tool: Tool) -> None:
    before = TOOLS[: TOOLS.index(tool)]
    found, fault, asked = looked(**{tool: {"": error(tool, 3)}})
    assert fault == Incorrect(WrongResult(BadAccess("it strays", 3, tool)))
    assert [name for name, _ in asked] == [*before, tool, f"{tool}-baseline"], "no more is asked for"
    found, fault, asked = looked(**{tool: {"": error(tool, 3), "-baseline": error(tool)}})
    assert fault is None and found[len(before)].baseline and len(found) == len(TOOLS)
    assert "the baseline has the same" in reports(found)
    assert asked[len(before) + 1][1] == MOST_S, "the baseline may be slower"
    _, fault, _ = looked(**{tool: {"": error(tool), "-baseline": trouble(tool)}})
    assert (fault is not None) == (tool == "memcheck"), "what was not seen may hold the same race"


@pytest.mark.parametrize("tool", TOOLS[1:])
def test_trouble_with_a_tool_that_is_not_needed_is_told(tool: Tool) -> None:
    found, fault, asked = looked(**{tool: {"": trouble(tool)}})
    assert fault is None and trouble(tool) in found and len(asked) == len(TOOLS), "nothing is asked again"
    assert "it need not see all" in reports(found)


@pytest.mark.parametrize(("again", "own", "blamed"), [(False, False, False), (True, True, False), (True, False, True)])
def test_trouble_with_a_tool_is_the_candidates_if_it_stays_and_the_baseline_has_none(
    again: bool, own: bool, blamed: bool
) -> None:
    answers: dict[Try, ToolReport] = {"": trouble("memcheck")}
    answers |= {"-again": trouble("memcheck")} if again else {}
    answers |= {"-baseline": trouble("memcheck")} if own else {}
    found, fault, _ = looked(memcheck=answers)
    assert isinstance(fault, BreaksMeasurement) == blamed
    assert found[0].baseline == own


def test_none_is_looked_at_before_its_iteration_has_ended() -> None:
    """As where the daemon died between the two: the iteration goes on first, and its end is known."""
    begun = log()[:-1]
    run = fold_all(begun).runs["r1"]
    assert run.iterations[2].provisional and run.current == run.iterations[2]
    assert [it.number for it in run.unsanitized] == [1]


def test_trouble_is_told() -> None:
    told_of = told_notice(Unlooked("r1", 2, "no device"))
    assert told_of == "the last checks of r1.2 could not run, and are tried again before the run ends: no device"
    assert "no compute-sanitizer answers on gpu1" in told_notice(NoSanitizer("r1", "gpu1"))


def test_it_is_wanted_of_a_cuda_task_that_kpd_measures(tmp_path: Path) -> None:
    task = replace(task_of(tmp_path, {}), language="cuda")
    assert wants_sanitizer(task) and not wants_sanitizer(replace(task, language="c"))
    assert not wants_sanitizer(replace(task, check=CheckSpec(sanitizer=False)))
    assert not wants_sanitizer(replace(task, bench=BenchSpec(command="./bench")))


def test_a_person_may_skip_the_wait_for_it() -> None:
    run = folded()
    assert SkipIteration().why_not(State(), run) is not None
    waits = replace(run, status=Running(ForSanitizer("r1", 1)))
    assert SkipIteration().why_not(State(), waits) is None
