"""What no machine can do, and what is no measurement at all: just within, and just beyond."""

import json
from pathlib import Path

import pytest

from kpd.measure.command.result import BadResult, last_object, result
from kpd.measure.command.shape import ResultShape
from kpd.measure.roofline import Roofline, roofline_of, work
from kpd.measure.samples import CaseSample, ProcessSample
from kpd.measure.score import CaseWork, case_times, impossible, score
from kpd.model.codec import CodecError
from kpd.model.profiles import CaseTime
from kpd.workspace import expr
from kpd.workspace.specs import RooflineSpec
from kpd.workspace.task import TaskError
from tests.support.model.samples import task_of

KNOWN = Roofline(bandwidth=((1_000, 200.0), (100_000, 100.0), (10_000_000, 20.0)), peak_gflops=50.0)
SAID = {"bandwidth": [[1_000, 200.0], [100_000, 100.0]], "peak_gflops": 50.0}

# ── faster than the machine can be ────────────────────────────────────────────────────────────────────────────────


def timed(case: str, us: float) -> CaseTime:
    return CaseTime(case, us, 2 * us, 50.0)


@pytest.mark.parametrize(("us", "refused"), [(10.0, False), (9.999, True)])
def test_a_case_may_take_its_least_time_and_no_less(us: float, refused: bool) -> None:
    assert bool(impossible([timed("a", us)], {"a": CaseWork(least_us=10.0)})) is refused
    assert not impossible([timed("a", us)], {"a": CaseWork(roofline_us=20.0), "b": CaseWork(least_us=20.0)})


def case_of(cases: list[CaseTime], work: dict[str, CaseWork]) -> str:
    found = impossible(cases, work)
    assert found is not None
    return found.case


def test_the_case_that_is_furthest_beyond_is_told() -> None:
    needs = {"near": CaseWork(least_us=10.0), "far": CaseWork(least_us=100.0), "well": CaseWork(least_us=1.0)}
    assert case_of([timed("near", 9.0), timed("far", 50.0), timed("well", 2.0)], needs) == "far"
    alike = {"one": CaseWork(least_us=10.0), "other": CaseWork(least_us=10.0)}
    assert case_of([timed("one", 5.0), timed("other", 5.0)], alike) == "one"


@pytest.mark.parametrize(
    ("bytes", "flops", "cached", "streamed"),
    [
        (1_000_000, None, 1e6 / 200 / 1e3 / 2, 1e6 / 60 / 1e3 / 1.25),  # 60 GB/s lie between 100 and 20
        (None, 1_000_000, 1e6 / 50 / 1e3 / 2, None),
        (1_000_000, 1_000_000, 20.0 / 2, 1e6 / 60 / 1e3 / 1.25),  # arithmetic takes longer
        (8_000_000, 1_000_000, 40.0 / 2, None),  # memory takes longer
        (100_000, None, 0.25, 1e5 / 100 / 1e3 / 1.25),
        (None, None, None, None),
    ],
)
def test_the_least_time_is_the_longer_of_both_over_its_margin(
    bytes: float | None, flops: float | None, cached: float | None, streamed: float | None
) -> None:
    assert KNOWN.least_cached(bytes, flops) == (cached and pytest.approx(cached))
    if streamed is not None or not bytes:
        assert KNOWN.least_streamed(bytes, flops) == (streamed and pytest.approx(streamed))


def test_a_task_s_work_has_the_floor_of_where_its_data_lies(tmp_path: Path) -> None:
    """A CPU's may be in any cache; a GPU's comes from memory, and its operations may be a tensor core's."""
    task = task_of(tmp_path, {})
    object.__setattr__(task, "roofline", RooflineSpec(expr.parse("8 * n"), expr.parse("n")))
    cpu, gpu = (work(task, KNOWN, {"n": 1_000_000}, **cached) for cached in ({}, {"cached": False}))
    assert (cpu.bytes, cpu.flops, cpu.compute_us) == (8e6, 1e6, pytest.approx(20.0))
    assert (cpu.roofline_us, cpu.least_us) == (KNOWN.time_floor(8e6, 1e6), KNOWN.least_cached(8e6, 1e6))
    assert (gpu.roofline_us, gpu.least_us) == (pytest.approx(8e6 / 20 / 1e3), KNOWN.least_streamed(8e6, 1e6))
    object.__setattr__(task, "roofline", RooflineSpec(bytes=expr.parse("rows")))
    with pytest.raises(TaskError):
        work(task, KNOWN, {"n": 1})
    assert work(task, KNOWN, {"rows": 1000}).compute_us is None


@pytest.mark.parametrize(
    ("changed", "sensible"),
    [
        ({}, True),
        ({"peak_gflops": 999_999.0}, True),
        ({"peak_gflops": 1e6}, False),
        ({"peak_gflops": 1e-9}, True),
        ({"peak_gflops": 0.0}, False),
        ({"bandwidth": [[1000, 1e6]]}, False),
        ({"bandwidth": [[1000, 0.0], [2000, 1.0]]}, False),
        ({"bandwidth": [[1000, 1.0], [1001, 1.0]]}, True),
        ({"bandwidth": [[1000, 1.0], [1000, 2.0]]}, False),
        ({"bandwidth": [[1000, 1.0], [2000, 2.0], [1500, 3.0]]}, False),
        ({"bandwidth": []}, False),
    ],
)
def test_a_roofline_that_makes_no_sense_is_refused(changed: dict[str, object], sensible: bool) -> None:
    said = json.dumps(SAID | changed).encode()
    if sensible:
        assert roofline_of(said).peak_gflops > 0
    else:
        with pytest.raises(CodecError):
            roofline_of(said)


# ── times and scores ──────────────────────────────────────────────────────────────────────────────────────────────


def test_one_process_has_a_score_and_times() -> None:
    one = [ProcessSample(0, {"a": CaseSample(2, (8000, 8000), (4000, 4000))})]
    assert score(one) == pytest.approx(2.0)
    assert [case.candidate_us for case in case_times(one, {})] == [pytest.approx(2.0)]


@pytest.mark.parametrize(
    ("reps", "a_ns", "b_ns", "whole"),
    [
        (1, 1, 1, True), (1, 2, 2, True), (1, 4, 4, True), (1, 3, 3, False), (1, 0, 0, False), (0, 2, 2, False),
        (1, 2, 1, False), (1, 2, 4, False),
    ],
)  # fmt: skip
def test_batches_are_a_pair_or_whole_quads(reps: int, a_ns: int, b_ns: int, whole: bool) -> None:
    assert CaseSample(reps, (5,) * a_ns, (5,) * b_ns).whole is whole


@pytest.mark.parametrize(("us", "number"), [(1e-15, False), (1.1e-15, True), (9.9e14, True), (1e15, False)])
def test_what_can_be_a_time(us: float, number: bool) -> None:
    said = json.dumps({"us": us, "cases": {"a": us}})
    if number:
        assert result(said, ResultShape("us")).score == us
    else:
        with pytest.raises(BadResult):
            result(said, ResultShape("us"))


@pytest.mark.parametrize(("cases", "name", "fits"), [(256, 80, True), (257, 80, False), (256, 81, False)])
def test_how_many_cases_a_result_may_have_and_how_long_their_names(cases: int, name: int, fits: bool) -> None:
    said = json.dumps({"us": 1.0, "cases": {f"{at:0{name}}": 1.0 for at in range(cases)}})
    if fits:
        assert len(result(said, ResultShape("us")).cases) == cases
    else:
        with pytest.raises(BadResult):
            result(said, ResultShape("us"))


@pytest.mark.parametrize(("behind", "found"), [(199, True), (200, False)])
def test_a_result_is_looked_for_in_the_last_two_hundred_lines_that_could_begin_one(behind: int, found: bool) -> None:
    assert (last_object('{"us": 1}\n' + "{ no json\n" * behind) == {"us": 1}) is found
