"""From launches to metrics: the values, whose they are, and what is not known."""

import math
from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given, strategies as st

from kpd.measure.bench import LaunchFilter
from kpd.model.metrics import GPU_METRICS, PER_CASE, describe
from kpd.model.profiles import Advice
from kpd.profile.ncu import cases
from kpd.profile.ncu.child import launches
from kpd.profile.ncu.launches import ProfiledLaunch
from kpd.profile.ncu.metrics import CURATED, DURATION, NAMES, SOURCES, STALLS, asked
from kpd.profile.ncu.read import RAW
from tests.support.profile.ncu_reports import BASELINE_US, CASES, pages, recorded

BY_NAME = {counter.name: counter for counter in CURATED}
WEIGHTS = dict(zip(CASES, BASELINE_US, strict=True))
UNMARKED, MARKED = LaunchFilter(marked=False), LaunchFilter()
LD, ST = "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum", "l1tex__t_requests_pipe_lsu_mem_global_op_st.sum"
LATENCY = "smsp__average_warp_latency_per_inst_issued.ratio"


def assigned(
    launches: Sequence[ProfiledLaunch], names: Sequence[str], asked: LaunchFilter = UNMARKED
) -> tuple[dict[str, list[ProfiledLaunch]], tuple[Advice, ...]]:
    return cases.assigned(launches, names, asked)


async def baseline() -> tuple[ProfiledLaunch, ...]:
    return await launches({RAW: pages()[RAW]})


def launch(kernel: str = "k", us: float = 1.0, ranges: tuple[str, ...] = (), **metrics: float) -> ProfiledLaunch:
    """A launch that took so long, with these metrics."""
    return ProfiledLaunch(kernel, ranges, metrics={DURATION: us * 1e3, **metrics})


async def test_the_figures_of_the_recording() -> None:
    by_case, odd = assigned(await baseline(), CASES)
    metrics, missing = cases.read(by_case, WEIGHTS)
    assert odd == ()
    assert missing == {}
    assert {name for name in metrics if "[" not in name} == set(NAMES)
    assert {f"{name}[{case}]" for name in NAMES for case in CASES} <= metrics.keys()
    expected = {
        "duration_us[square_4096]": 287.488, "sm_ghz[square_4096]": 1.976523, "sm_pct[square_4096]": 9.61,
        "l2_pct[square_4096]": 86.7, "dram_read_mb[square_4096]": 71.284224, "sectors_per_load[square_4096]": 4,
        "coalescing_store_pct[tall]": 12.5, "coalescing_load_pct[odd]": 82.02, "registers[tall]": 16,
        "stall_long_scoreboard[square_4096]": 42.49 / 127.48, "stall_drain[square_1024]": 49.59 / 109.58,
        "waves[square_1024]": 3.88, "shared_conflict_pct[wide]": 0, "local_requests[wide]": 0, "grid[odd]": 48222,
        "limit_warps[tall]": 8,
    }  # fmt: skip
    assert {name: metrics[name] for name in expected} == pytest.approx(expected, rel=1e-5)
    whole = sum(BASELINE_US)
    l2 = (86.70, 77.27, 84.24, 78.76, 86.24)
    assert metrics["l2_pct"] == pytest.approx(sum(a * b for a, b in zip(l2, BASELINE_US, strict=True)) / whole)
    assert metrics["duration_us"] == pytest.approx(287.488 + 20.416 + 295.904 + 316.512 + 214.048)
    assert metrics["sectors_per_store"] == pytest.approx(32, rel=0.001)
    assert metrics["grid"] == 65536  # the case that takes longest


async def test_the_stalls_of_a_warp_are_shares_of_its_time() -> None:
    by_case, _ = assigned(await baseline(), CASES)
    metrics, _ = cases.read(by_case, WEIGHTS)
    for case in CASES:
        assert sum(metrics[f"stall_{name}[{case}]"] for name in STALLS) == pytest.approx(1, abs=0.02)


def test_the_catalogue_has_every_metric_and_the_names_are_ncus() -> None:
    assert set(NAMES) <= GPU_METRICS
    assert set(NAMES) <= set(PER_CASE)
    assert all(describe(name) for name in NAMES)
    known = set(recorded("gh100_metrics.txt").decode().split())
    strangers = {name for name in asked("sm_90") if name.split(".")[0] not in known}
    assert {name.split("__")[0] for name in strangers} == {"launch", "sm"}  # properties of a launch, no counters
    assert strangers - {name for name in strangers if name.startswith("launch__")} == {
        "sm__maximum_warps_per_active_cycle_pct"
    }


@pytest.mark.parametrize(
    "arch", ["sm_80", "sm_86", "sm_89", "sm_90", "sm_90a", "sm_100", "sm_103", "sm_120", "sm_121", ""]
)
def test_each_architecture_is_asked_for_a_way_to_every_metric(arch: str) -> None:
    names = set(asked(arch))
    assert names <= SOURCES
    ways = {
        name: [way for way in counter.ways if {*way.top, *way.bottom} <= names] for name, counter in BY_NAME.items()
    }
    lacking = {name for name, found in ways.items() if not found}
    only_some_have = {
        "stall_gmma": arch in ("sm_90", "sm_90a"),
        **dict.fromkeys(("dram_pct", "dram_read_mb", "dram_write_mb"), arch != "sm_121"),
        "stall_imc_miss": arch not in ("sm_100", "sm_103", "sm_120", "sm_121"),
    }
    assert lacking == {name for name, has in only_some_have.items() if not has}
    assert ("sm__pipe_tc_cycles_active.avg.pct_of_peak_sustained_active" in names) == (arch in ("sm_100", "sm_103"))


def test_older_names_and_other_forms_give_the_same_metrics() -> None:
    stall = BY_NAME["stall_barrier"]
    forms = (
        {"smsp__average_warps_issue_stalled_barrier_per_issue_active.ratio": 3.0, LATENCY: 12.0},
        {"smsp__average_warp_latency_issue_stalled_barrier.ratio": 1000.0, "smsp__average_warp_latency.ratio": 4000.0},
        {"smsp__warp_issue_stalled_barrier_per_warp_active.pct": 25.0},
    )
    assert [cases.value(stall, form) for form in forms] == [0.25, 0.25, 0.25]
    useful = "smsp__sass_average_data_bytes_per_sector_mem_global_op_st"
    assert cases.value(BY_NAME["coalescing_store_pct"], {f"{useful}.ratio": 4.0}) == 12.5
    assert cases.value(BY_NAME["dram_pct"], {"dram__throughput.avg.pct_of_peak_sustained_elapsed": 60.0}) == 60
    tensor = "sm__pipe_{}_cycles_active.avg.pct_of_peak_sustained_active"
    both = {tensor.format("tensor"): 2.0, tensor.format("tc"): 70.0}
    assert cases.value(BY_NAME["tensor_pct"], both) == 70
    assert cases.value(BY_NAME["tensor_pct"], {tensor.format("tensor"): 2.0}) == 2


def test_a_rate_of_nothing_is_not_known() -> None:
    useful = "smsp__sass_average_data_bytes_per_sector_mem_global_op_ld.pct"
    assert cases.value(BY_NAME["coalescing_load_pct"], {useful: 0.0, LD: 0.0}) == cases.NONE
    assert cases.value(BY_NAME["l1_hit_pct"], {"l1tex__t_sector_hit_rate.pct": 0.0, LD: 0.0, ST: 0.0}) == cases.NONE
    assert cases.value(BY_NAME["l1_hit_pct"], {"l1tex__t_sector_hit_rate.pct": 0.0, LD: 0.0, ST: 9.0}) == 0
    sectors = "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum"
    assert cases.value(BY_NAME["sectors_per_load"], {sectors: 0.0, LD: 0.0}) == cases.NONE
    assert "ncu reports no l1tex__t_sectors" in str(cases.value(BY_NAME["sectors_per_load"], {LD: 8.0}))


def test_several_kernels_of_a_case_come_together_by_time_and_by_count() -> None:
    sectors, sm = "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum", "sm__throughput.avg.pct_of_peak_sustained_elapsed"
    grid, read = "launch__grid_size", "dram__bytes_read.sum"
    small = launch("small", 10, ("c",), **{sm: 20.0, sectors: 100.0, LD: 100.0, grid: 7, read: 1e6})
    large = launch("large", 30, ("c",), **{sm: 60.0, sectors: 1600.0, LD: 100.0, grid: 9, read: 2e6})
    by_case, odd = assigned((small, large), ("c",))
    metrics, missing = cases.read(by_case, {"c": 40.0})
    assert odd == ()
    assert metrics["duration_us"] == metrics["duration_us[c]"] == pytest.approx(40)
    assert metrics["sm_pct[c]"] == pytest.approx(50)
    assert metrics["sectors_per_load[c]"] == pytest.approx(8.5)
    assert metrics["dram_read_mb[c]"] == pytest.approx(3)
    assert metrics["grid[c]"] == 9
    assert missing["dram_write_mb"] == "ncu reports no dram__bytes_write.sum"


def test_a_sum_is_not_known_when_a_part_of_it_is_not() -> None:
    read = "dram__bytes_read.sum"
    launches = (launch(ranges=("a",), **{read: 1e6}), launch(ranges=("b",)))
    metrics, missing = cases.read(assigned(launches, ("a", "b"))[0], {"a": 1.0, "b": 1.0})
    assert metrics["dram_read_mb[a]"] == 1
    assert "dram_read_mb" not in metrics
    assert missing["dram_read_mb"] == "b: ncu reports no dram__bytes_read.sum"


def test_launches_without_ranges_belong_to_the_cases_by_their_order() -> None:
    four = (launch("first"), launch("second"), launch("first"), launch("second"))
    by_case, odd = assigned(four, ("a", "b"))
    assert {case: [one.kernel for one in of] for case, of in by_case.items()} == {
        "a": ["first", "second"], "b": ["first", "second"],
    }  # fmt: skip
    assert odd == ()


def test_their_order_tells_nothing_where_the_kernels_of_the_cases_differ() -> None:
    four = (launch("fill"), launch("mine"), launch("mine"), launch("mine"))
    by_case, (odd,) = assigned(four, ("a", "b"))
    assert list(by_case) == [""]
    assert "4 launches for 2 cases, and nothing tells which are whose" in odd.text
    by_case, none = assigned(four, ("a", "b"), MARKED)
    assert [len(of) for of in by_case.values()] == [2, 2], "all that is marked is of the cases"
    assert none == ()


@pytest.mark.parametrize(("third", "whose"), [(("b",), "b"), ((), "a")], ids=["of a case", "of none"])
def test_a_case_that_was_cut_off_has_no_sums(third: tuple[str, ...], whose: str) -> None:
    most = LaunchFilter(most=3)
    sm = "sm__throughput.avg.pct_of_peak_sustained_elapsed"
    launches = tuple(launch("k", 2, ranges, **{sm: 50.0}) for ranges in (("a",), ("a",), third))
    by_case, _ = assigned(launches, ("a", "b", "c"), most)
    assert cases.cut(by_case, launches, most) == whose
    metrics, missing = cases.read(by_case, {"a": 1.0, "b": 1.0, "c": 1.0}, whose)
    assert ("duration_us[a]" in metrics) == (whose == "b")
    assert metrics[f"sm_pct[{whose}]"] == 50, "a rate of what was seen is one all the same"
    assert missing["duration_us"].endswith("ncu stopped before the last launch")
    assert missing["duration_us[c]"] == "ncu stopped before the last launch"
    (warning,) = cases.warnings(launches, most)
    assert warning.text.startswith("ncu stopped after 3 launches")
    assert cases.cut(by_case, launches, LaunchFilter(most=4)) is None


def test_launches_that_were_cut_off_are_not_split_by_their_order() -> None:
    four = (launch("k"),) * 4
    assert list(assigned(four, ("a", "b"), LaunchFilter(most=4))[0]) == [""]
    assert list(assigned(four, ("a", "b"), LaunchFilter(most=5))[0]) == ["a", "b"]


def test_who_takes_every_kernel_is_told() -> None:
    (warning,) = cases.warnings((launch("k"),), UNMARKED)
    assert (warning.level, "name the candidate's with kernel in [profile]" in warning.text) == ("WRN", True)
    assert cases.warnings((launch("k"),), MARKED) == ()
    assert cases.warnings((launch("k"),), LaunchFilter("rms.*", marked=False)) == ()
    assert cases.warnings((), UNMARKED) == ()


def test_launches_whose_case_nothing_tells_count_for_all_cases_only() -> None:
    by_case, (odd,) = assigned((launch("x", 2), launch("y", 1), launch("z", 1)), ("a", "b"))
    metrics, missing = cases.read(by_case, {"a": 1.0, "b": 1.0})
    assert metrics == {"duration_us": pytest.approx(4)}
    assert all("[" not in name for name in missing)
    assert "3 launches for 2 cases" in odd.text
    named, none = assigned((launch("scan_a"), launch("scan_b"), launch("scan_b")), ("a", "b"))
    assert [len(of) for of in named.values()] == [1, 2]
    assert none == ()


def test_a_case_without_a_launch_and_a_launch_without_a_case_are_told() -> None:
    launches = (launch("k", ranges=("outer", "a")), launch("fill"))
    by_case, (odd,) = assigned(launches, ("a", "b"))
    metrics, missing = cases.read(by_case, {"a": 1.0, "b": 9.0})
    assert missing["duration_us[b]"] == "ncu saw no kernel launch in this case"
    assert metrics["duration_us"] == 1
    assert odd.level == "WRN"
    assert "a launch (fill) outside every case" in odd.text


def test_no_launch_at_all_is_a_reason_for_everything() -> None:
    metrics, missing = cases.read({}, {"a": 1.0})
    assert metrics == {}
    assert missing == dict.fromkeys(NAMES, "ncu saw no kernel launch")


def test_kernels_that_are_not_the_candidates_are_told() -> None:
    by_case = {"a": [launch("mine"), launch("theirs\n" + "x" * 99)], "b": [launch("mine")]}
    (warning,) = cases.strangers(by_case, {"mine", "other"})
    assert "also kernels that are not the candidate's own: theirs x" in warning.text
    assert warning.cases == ("a",)
    (warning,) = cases.strangers({"a": [launch("theirs")]}, {"mine"})
    assert "only kernels" in warning.text
    assert cases.strangers(by_case, {"mine", "theirs\n" + "x" * 99}) == ()
    assert cases.strangers(by_case, ()) == ()


numbers = st.floats(min_value=0, max_value=1e12)
some_launches = st.lists(
    st.builds(
        ProfiledLaunch,
        st.sampled_from(["k", "l"]),
        st.sampled_from([(), ("a",), ("b",), ("x",)]),
        metrics=st.dictionaries(st.sampled_from(sorted(SOURCES)), numbers, max_size=20),
    ),
    max_size=6,
)


@given(some_launches)
def test_whatever_a_report_lacks_a_metric_is_finite_or_there_is_a_reason(launches: list[ProfiledLaunch]) -> None:
    by_case, _ = assigned(launches, ("a", "b"))
    metrics, missing = cases.read(by_case, {"a": 1.0, "b": 3.0})
    assert all(math.isfinite(value) for value in metrics.values())
    assert set(NAMES) <= metrics.keys() | missing.keys()
    assert not metrics.keys() & missing.keys()
    assert all(missing.values())
    assert all(describe(name) for name in {*metrics, *missing})


@given(some_launches)
def test_the_order_of_ranged_launches_does_not_matter(launches: list[ProfiledLaunch]) -> None:
    ranged = [
        replace(one, ranges=("a",), metrics={**one.metrics, DURATION: 1.0 + at}) for at, one in enumerate(launches)
    ]
    weights = {"a": 2.0}
    there, _ = cases.read(assigned(ranged, ("a",))[0], weights)
    back, _ = cases.read(assigned(ranged[::-1], ("a",))[0], weights)
    assert there.keys() == back.keys()
    for name, value in there.items():
        assert back[name] == pytest.approx(value, rel=1e-6)
