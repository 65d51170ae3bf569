"""The table of observed launches, hostile until checked, and the configurations that stand for all of them."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st

from kpd.onboarding.launch_configs import representative, workload
from kpd.onboarding.observed import ObservedError, joined, parse_table, read_table
from kpd.source.values import Dim3
from tests.support.onboarding.observed import table

LAUNCH = {"grid_x": 4, "block_x": 64, "n": 200}


def test_a_table_is_read() -> None:
    row = {"grid_x": 4, "grid_y": 2, "block_x": 32, "block_y": 8, "n": 200, "ratio": 0.5, "inject": True}
    found = parse_table(table({**row, "duration_us": 12}, captured_at="2026-04-19T15:59:21"))
    [launch] = found.launches
    assert (found.kernel, found.captured_at) == ("k", "2026-04-19T15:59:21")
    assert (launch.grid, launch.block, launch.grid_axes, launch.block_axes) == (Dim3(4, 2), Dim3(32, 8), 2, 2)
    assert launch.scalars == {"n": 200, "ratio": 0.5, "inject": 1}
    assert launch.duration_us == 12


@pytest.mark.parametrize(
    ("keys", "grid", "block", "flat"),
    [
        ({"grid": 7, "block": 256}, Dim3(7), Dim3(256), True),
        ({"grid": [7, 3], "block": [32, 4, 2]}, Dim3(7, 3), Dim3(32, 4, 2), False),
        ({"grid_x": 7, "grid_z": 5, "block_x": 32}, Dim3(7, 1, 5), Dim3(32), False),
    ],
)
def test_sizes_are_named_in_two_ways(keys: dict[str, Any], grid: Dim3, block: Dim3, flat: bool) -> None:
    [launch] = parse_table(table(keys)).launches
    assert (launch.grid, launch.block, launch.flat_block) == (grid, block, flat)


def test_durations_have_units_and_counters_their_own_names() -> None:
    rows = [{**LAUNCH, "duration_ns": 2500}, {**LAUNCH, "duration_ns": 5e3}]
    assert [launch.duration_us for launch in parse_table(table(*rows)).launches] == [2.5, 5.0]
    [launch] = parse_table(table({**LAUNCH, "gpu__time_duration.sum": 1000, "dram__bytes.sum": 4096})).launches
    assert (launch.duration_us, launch.counters, launch.scalars) == (1.0, {"dram__bytes.sum": 4096.0}, {"n": 200})


WRONG = {
    "not JSON": (b"{", "is not JSON"),
    "not text": (b"\xff\xfe\x00", "is not JSON"),
    "nested without end": (b"[" * 100_000, "nested too deeply"),
    "an endless number": (b'{"kernel": "k", "launches": [{"grid_x": ' + b"1" * 5000 + b"}]}", "is not JSON"),
    "a list": (b"[]", "must be an object"),
    "another key": (table(LAUNCH, launch=[]), "unknown key 'launch'; known are kernel, captured_at, launches"),
    "a key twice": (b'{"kernel": "k", "kernel": "j", "launches": []}', "the key 'kernel' appears twice"),
    "no kernel": (b'{"launches": []}', "'kernel' must be a kernel's name, not None"),
    "a kernel that is no name": (table(LAUNCH, kernel="k; rm -rf"), "'kernel' must be a kernel's name"),
    "a kernel with an escape": (table(LAUNCH, kernel="k\x1b[2J"), r"not 'k\x1b[2J'"),
    "a time that is none": (table(LAUNCH, captured_at="yesterday"), "'captured_at' must be a time"),
    "no launches": (table(), "'launches' must be a list of launches, not empty"),
    "launches that are none": (b'{"kernel": "k", "launches": [3]}', "launches[0] must be an object, not 3"),
    "no grid": (table({"block_x": 1}), "launches[0]: has no 'grid_x'; give grid_x (and grid_y, grid_z), or grid"),
    "no block": (table({"grid_x": 1}), "launches[0]: has no 'block_x'"),
    "a grid in both ways": (table({**LAUNCH, "grid": 4}), "has both 'grid' and 'grid_x'"),
    "a grid of text": (table({**LAUNCH, "grid_x": "4"}), "'grid_x' must be a whole number from 1 on, not '4'"),
    "a grid of nothing": (table({**LAUNCH, "grid_x": 0}), "'grid_x' must be a whole number from 1 on, not 0"),
    "a grid of truth": (table({**LAUNCH, "grid_x": True}), "'grid_x' must be a whole number"),
    "four sizes": (table({"grid": [1, 1, 1, 1], "block": 1}), "'grid' has 4 sizes; give one to three"),
    "a block too large": (table({**LAUNCH, "block_x": 2048}), "CUDA cannot launch a block of 2048 x 1 x 1"),
    "a block too large in all": (table({"grid": 1, "block": [64, 32]}), "a block of 64 x 32 x 1"),
    "a grid too high": (table({"grid": [1, 70_000], "block": 1}), "a grid of 1 x 70000 x 1"),
    "a duration without a unit": (table({**LAUNCH, "duration": 3}), "'duration' does not say its unit; write"),
    "two durations": (table({**LAUNCH, "duration_us": 3, "duration_ns": 3}), "'duration_us' and 'duration_ns'"),
    "no time at all": (table({**LAUNCH, "duration_us": 0}), "'duration_us' must be above 0"),
    "a scalar of text": (table({**LAUNCH, "mode": "fast"}), "'mode' must be a number, true or false, not 'fast'"),
    "a scalar of nothing": (table({**LAUNCH, "mode": None}), "'mode' must be a number, true or false, not None"),
    "a scalar of a list": (table({**LAUNCH, "mode": [1]}), "'mode' must be a number"),
    "a scalar that is huge": (table({**LAUNCH, "n": 2**70}), "'n' must be a number"),
    "a scalar that is none": (b'{"kernel": "k", "launches": [{"n": NaN}]}', "NaN is not a JSON number"),
    "a name that is none": (table({**LAUNCH, "a b": 1}), "'a b' is not a name"),
    "a counter below nothing": (table({**LAUNCH, "dram__bytes.sum": -1}), "'dram__bytes.sum' must not be below 0"),
    "a key too few": (table({**LAUNCH, "m": 1}, LAUNCH), "launches[1] has no 'm', and others have"),
    "a key too many": (table(LAUNCH, {**LAUNCH, "m": 1}), "launches[0] has no 'm', and others have"),
    "too many keys": (table({**LAUNCH, **{f"s{i}": i for i in range(80)}}), "has 83 keys; keep at most 64"),
}  # fmt: skip


@pytest.mark.parametrize(("raw", "why"), WRONG.values(), ids=WRONG)
def test_a_table_that_is_wrong_is_refused_with_its_key_and_a_remedy(raw: bytes, why: str) -> None:
    with pytest.raises(ObservedError) as refused:
        parse_table(raw)
    assert why in str(refused.value)
    assert refused.value.remedy
    assert str(refused.value).isprintable()


def test_the_file_is_named(tmp_path: Path) -> None:
    path = tmp_path / "k.observed.json"
    path.write_text("{}")
    with pytest.raises(ObservedError, match=rf"^{path}: 'kernel' must be"):
        read_table(path)
    with pytest.raises(ObservedError, match="cannot be read"):
        read_table(tmp_path)


@given(st.binary(max_size=200) | st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(
        st.sampled_from(["kernel", "launches", "grid", "grid_x", "block_x", "n", "captured_at"]), inner, max_size=5),
    max_leaves=20,
).map(lambda value: json.dumps(value).encode()))  # fmt: skip
def test_no_table_does_anything_but_be_read_or_refused(raw: bytes) -> None:
    try:
        found = parse_table(raw)
    except ObservedError:
        return
    assert found.launches


def rows(count: int, us: float | None = None, **keys: Any) -> list[dict[str, Any]]:
    return [{**LAUNCH, **keys, **({} if us is None else {"duration_us": us})} for _ in range(count)]


def test_launches_are_grouped_by_geometry_and_counted() -> None:
    found = representative(parse_table(table(*rows(3), *rows(6, grid_x=8), *rows(1, block_x=32))))
    assert [(one.name, one.grid.x, one.block.x, one.count, one.share) for one in found] == [
        ("top1", 8, 64, 6, 0.6), ("top2", 4, 64, 3, 0.3), ("top3", 4, 32, 1, 0.1)
    ]  # fmt: skip


def test_with_durations_shares_are_of_the_time() -> None:
    found = representative(parse_table(table(*rows(9, us=1.0), *rows(1, us=91.0, grid_x=8))))
    assert [(one.grid.x, one.share, one.target_us) for one in found] == [(8, 0.91, 91.0), (4, 0.09, 1.0)]


def test_slow_launches_of_a_geometry_are_apart_from_fast_ones() -> None:
    mixed = [*rows(8, us=400.0, n=100), *rows(8, us=1300.0, n=900)]
    found = representative(parse_table(table(*mixed)))
    assert [(one.name, one.count, one.scalars["n"], one.target_us) for one in found] == [
        ("top1_slow", 8, 900, 1300.0), ("top2_fast", 8, 100, 400.0)
    ]  # fmt: skip
    alike = [*rows(8, us=600.0), *rows(8, us=1300.0)]
    assert [one.name for one in representative(parse_table(table(*alike)))] == ["top1"]


def test_the_scalars_are_those_of_one_real_launch() -> None:
    mixed = [{**LAUNCH, "n": 1, "m": 2}, {**LAUNCH, "n": 3, "m": 4}, {**LAUNCH, "n": 3, "m": 4}]
    [found] = representative(parse_table(table(*mixed)))
    assert (found.scalars, found.varies) == ({"n": 3, "m": 4}, ("n", "m"))


@given(
    st.lists(
        st.tuples(st.integers(1, 4), st.sampled_from([32, 64]), st.floats(0.1, 1000), st.integers(0, 9)),
        min_size=1, max_size=40,
    ),
    st.integers(1, 6),
)  # fmt: skip
def test_configurations_cover_the_most_and_nothing_twice(
    given_rows: list[tuple[int, int, float, int]], top: int
) -> None:
    launches = [{"grid_x": g, "block_x": b, "duration_us": us, "n": n} for g, b, us, n in given_rows]
    found = representative(parse_table(table(*launches)), top=top)
    every = representative(parse_table(table(*launches)), top=1000)
    assert len(found) == min(top, len(every))
    assert sum(one.count for one in every) == len(launches)
    assert sum(one.share for one in every) == pytest.approx(1.0)
    assert [one.share for one in every] == sorted((one.share for one in every), reverse=True)
    assert len({one.name for one in found}) == len(found)
    real = [(g, b, n) for g, b, _, n in given_rows]
    assert all((one.grid.x, one.block.x, one.scalars["n"]) in real for one in every)


def test_work_of_a_thread_by_the_counters() -> None:
    counters = {"dram__bytes_read.sum": 3000, "dram__bytes_write.sum": 1096, "smsp__inst_executed.sum": 80}
    [config] = representative(parse_table(table({"grid": 4, "block": 64, **counters})))
    found = workload(config)
    assert (found.threads, found.bytes, found.instructions) == (256, 16.0, 10.0)
    [config] = representative(parse_table(table({"grid": 4, "block": 64, "smsp__thread_inst_executed.sum": 512})))
    assert (workload(config).bytes, workload(config).instructions) == (None, 2.0)


def test_the_nth_observed_launch_has_the_duration_of_the_nth_timed_one() -> None:
    seen = parse_table(table({"grid_x": 4, "block_x": 32, "n": 13}, {"grid_x": 8, "block_x": 32, "n": 127}))
    rows = [{"grid": [4, 1, 1], "block": [32, 8, 1], "duration_us": 2.0}, {"grid": 8, "block": 256, "duration_us": 9.0}]
    timed = parse_table(table(*rows))
    assert [(one.scalars, one.duration_us) for one in joined(seen, timed).launches] == [
        ({"n": 13}, 2.0),
        ({"n": 127}, 9.0),
    ]
    for wrong, why in (
        (parse_table(table(*reversed(rows))), "launches\\[0\\] has grid"),
        (parse_table(table(rows[0])), "2 launches were observed, and 1 timed"),
        (seen, "to have them"),
    ):
        with pytest.raises(ObservedError, match=why):
            joined(seen, wrong)
    with pytest.raises(ObservedError, match="to lack durations"):
        joined(timed, timed)
