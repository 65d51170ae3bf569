"""A report says the same through NVIDIA's reader and through what ncu exports; a broken one harms nobody."""

import pytest
from hypothesis import given, strategies as st

from kpd.profile.ncu import pages
from kpd.profile.ncu.advice import clean
from kpd.profile.ncu.child import UnreadableReport, launches
from kpd.profile.ncu.launches import ProfiledLaunch, base, factor
from kpd.profile.ncu.metrics import SOURCES
from kpd.profile.ncu.read import has_reader
from tests.support.profile import ncu_reports
from tests.support.profile.ncu_reports import CASES, recorded

needs_reader = pytest.mark.skipif(not has_reader(), reason="ncu-report, the extra `ncu`, is not installed")


async def of_report(name: str) -> tuple[ProfiledLaunch, ...]:
    return await launches({"report.ncu-rep": recorded(f"{name}.ncu-rep")})


@needs_reader
async def test_both_ways_to_read_a_report_agree() -> None:
    native, exported = await of_report("baseline"), await launches(ncu_reports.pages())
    assert len(native) == len(exported) == len(CASES)
    for one, other in zip(native, exported, strict=True):
        assert (one.kernel, one.ranges, one.grid, one.block) == (other.kernel, other.ranges, other.grid, other.block)
        assert one.metrics.keys() == other.metrics.keys()
        for name, value in one.metrics.items():  # ncu prints two decimals
            assert other.metrics[name] == pytest.approx(value, rel=1e-9, abs=0.0051), name
        said, told = (
            {(a.rule, a.level, clean(a.text), a.scope): a.speedup_pct for a in side.advice} for side in (one, other)
        )
        assert said.keys() == told.keys()
        for key, speedup in said.items():
            assert told[key] == (pytest.approx(speedup, abs=0.0051) if speedup is not None else None)


async def test_what_the_pages_hold() -> None:
    first, *_, last = found = await launches(ncu_reports.pages())
    what = (first.kernel, first.ranges, first.grid, first.block)
    assert what == ("transpose_squares", ("square_4096",), (65536, 1, 1), (256, 1, 1))
    assert first.metrics["gpu__time_duration.sum"] == 287_488  # ns
    assert first.metrics["dram__bytes_read.sum"] == 71_284_224
    assert first.metrics["sm__cycles_elapsed.avg.per_second"] == pytest.approx(1.97652334158e9)
    assert last.ranges == ("odd",)
    drain = next(said for said in first.advice if said.rule == "CPIStall" and said.level == "OPT")
    assert (drain.speedup_pct, drain.scope, "stalled after EXIT" in drain.text) == (44.28, "local", True)
    (waves,) = (said for launch in found for said in launch.advice if said.rule == "LaunchConfiguration")
    assert (waves.speedup_pct, waves.scope) == (25, "global")


@needs_reader
async def test_only_what_is_known_by_name_is_read_of_a_full_report() -> None:
    found = await of_report("baseline_full")
    assert [launch.ranges for launch in found] == [(case,) for case in CASES]
    assert all(set(launch.metrics) <= SOURCES for launch in found)


@pytest.mark.parametrize(
    "files",
    [
        {"report.ncu-rep": b"not a report"},
        {"report.ncu-rep": recorded("baseline.ncu-rep")[:100_000]},
        {"raw.csv": b""},
        {"raw.csv": b"==ERROR== nothing here\n"},
        {"raw.csv": b'"ID","Kernel Name"\n"",""\n"0","k"\n'},
        {"raw.csv": b'"ID",\xff\xfe"\n'},
        {},
    ],
    ids=["garbage", "cut", "empty", "an error", "no columns", "bytes", "nothing"],
)
async def test_what_is_no_report_is_said_in_a_line(files: dict[str, bytes]) -> None:
    with pytest.raises(UnreadableReport) as refused:
        await launches(files)
    assert refused.value.args[0]
    assert "\n" not in refused.value.args[0]


async def test_a_reader_that_takes_too_long_is_ended() -> None:
    with pytest.raises(UnreadableReport, match="longer than 0 s"):
        await launches(ncu_reports.pages(), limit_s=0)


async def test_warnings_before_the_table_and_values_that_are_none() -> None:
    raw = (
        "==WARNING== something\n"
        '"ID","Kernel Name","Block Size","Grid Size","thread Domain:Push/Pop_Range:PL_Type:PL_Value:CLR_Type:Color'
        ':Msg_Type:Msg","dram__bytes_read.sum","gpu__time_duration.sum",'
        '"l1tex__t_sector_hit_rate.pct","lts__t_sector_hit_rate.pct"\n'
        '"","","","","","Kbyte","usecond","%","%"\n'
        '"0","void ns::k<float, (int)4>(float *)","(256, 1, 1)","(2, 1, 1)","7  ""<default domain>:outer'
        ':none:none:none:none:none:none"" ""<default domain>:wide: 1k ""q"":none:none:none:none:none:none"" ",'
        '"1,234.5","n/a","nan","12,5 (3)"\n'
    )
    (found,) = await launches({"raw.csv": raw.encode()})
    assert found.kernel == "k"
    assert found.ranges == ("outer", 'wide: 1k "q"')
    assert found.metrics == {"dram__bytes_read.sum": 1_234_500}
    assert found.advice == ()


@pytest.mark.parametrize(
    ("unit", "by"),
    [
        ("%", 1), ("", 1), ("sector", 1), ("inst/cycle", 1), ("register/thread", 1), ("byte/block", 1),
        ("ns", 1), ("nsecond", 1), ("usecond", 1e3), ("us", 1e3), ("ms", 1e6), ("second", 1e9), ("s", 1e9),
        ("byte", 1), ("Kbyte", 1e3), ("Mbyte", 1e6), ("Gbyte", 1e9), ("Kbyte/block", 1e3),
        ("hz", 1), ("Ghz", 1e9), ("GHz", 1e9), ("cycle/second", 1), ("cycle/nsecond", 1e9), ("cycle/usecond", 1e6),
        ("Gbyte/second", 1e9), ("byte/ns", 1e9), ("pass", 1), ("sectors", 1), ("SM", 1), ("Kinst", 1),
    ],
)  # fmt: skip
def test_units(unit: str, by: float) -> None:
    assert factor(unit) == pytest.approx(by)


@given(st.floats(allow_nan=True, allow_infinity=True), st.text(max_size=12))
def test_a_value_in_any_unit_is_finite_or_none(value: float, unit: str) -> None:
    found = base(value, unit)
    assert found is None or abs(found) < float("inf")


@given(st.floats(min_value=-1e12, max_value=1e12))
def test_a_number_with_commas_is_read_as_it_was_written(value: float) -> None:
    assert pages.number(f"{value:,.2f}") == pytest.approx(value, abs=0.0051)


@given(st.text(max_size=40))
def test_any_text_is_a_number_or_none(text: str) -> None:
    assert isinstance(pages.number(text), float)
    assert isinstance(pages.function(text), str)


@pytest.mark.parametrize(
    ("signature", "name"),
    [
        ("naive(const float *, float *, int, int)", "naive"),
        ("void at::native::elementwise_kernel<4, at::native::FillFunctor<float>, std::array<char *, 1>>(int, T2)",
         "elementwise_kernel"),
        ("void ns::f<(ns::E)1, &ns::g<int>>(void (*)(int))", "f"),
        ("rmsnorm_silu_kernel", "rmsnorm_silu_kernel"),
        ("", ""),
    ],
)  # fmt: skip
def test_the_bare_name_of_a_kernel(signature: str, name: str) -> None:
    assert pages.function(signature) == name
