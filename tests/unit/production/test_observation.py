"""Records of real programs, against what these programs say that they launched."""

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from kpd.onboarding.observed import ObservedError, parse_table, read_table
from kpd.production.observe.launches import JoinError, launches, timed, totals
from kpd.production.observe.observation import as_json, configs, is_current, key, write
from kpd.production.observe.record import HEADER, UnreadableRecord, read_record
from kpd.source.values import Dim3
from tests.support.production.records import kernel, observed, raw, record, table, told, written

KERNELS = ("every_scalar", "by_value", "scale<float, 4>", "scale<double, 2>", "two_phases", "in_clusters",
           "imaging::transpose", "saxpy")  # fmt: skip


@pytest.mark.parametrize("of", ["all", "ptsz"])
@pytest.mark.parametrize("name", KERNELS)
def test_the_table_is_what_the_program_says(of: str, name: str) -> None:
    seen = table(observed(of, name, kernel(name.partition("<")[0])))
    wanted = [one for one in told() if one.kernel == name]
    alone = len(wanted) - (40 if name == "saxpy" else 0)  # the last ones came from two threads, in no one order
    assert seen[:alone] == wanted[:alone]
    assert Counter(seen) == Counter(wanted)


def test_nothing_else_ran_than_the_program_says() -> None:
    wanted = Counter(one.kernel for one in told())
    counted = {observed("all", name).name.symbol: wanted[name] for name in KERNELS}
    assert {one.symbol: one.count for one in totals([record("all")])} == counted


def test_what_has_no_number_is_told_as_it_is() -> None:
    pair, large = (one for one in observed("all", "by_value", kernel("by_value")).parameters if one.kind == "bytes")
    assert (pair.type, pair.values) == ("Pair", ("0x0300000001000000000000000000d03f",))
    assert large.size == 1204 and large.values[0] == f"0x{'00' * 1196}00002040{(11).to_bytes(4, 'little').hex()}"
    *_, mode = observed("all", "every_scalar").parameters
    assert (mode.name, mode.type, mode.kind, mode.values) == ("arg15", "Mode", "bytes", ("0x0700",))


def test_each_way_to_launch_is_marked() -> None:
    flags = {name: [one.flags for one in observed("all", name).launches] for name in KERNELS}
    assert flags["two_phases"] == [("cooperative",)]
    assert flags["in_clusters"] == [("cluster=2x1x1",)]
    assert flags["scale<float, 4>"] == [(), *[("graph",)] * 3]
    assert Counter(flags["saxpy"]) == {("extra",): 1, ("graph",): 8, (): 64}
    assert observed("ptsz", "two_phases").launches[0].flags == ("cooperative", "ptsz")


def test_threads_and_streams_are_told_apart() -> None:
    last = observed("all", "saxpy").launches[-40:]
    assert len({one.thread for one in last}) == len({one.stream for one in last}) == 2
    assert {one.thread for one in observed("all", "imaging::transpose").launches} == {0}


def test_every_launch_has_the_duration_of_its_own_run() -> None:
    for name in KERNELS:
        assert observed("all", name).coverage.timed == len(observed("all", name).launches)
    large, *small = (one.duration_us or 0 for one in observed("all", "imaging::transpose").launches[:4])
    assert large > max(small)
    graph = [one for one in observed("all", "saxpy").launches if one.flags == ("graph",)]
    runs = {run.end - run.start for run in record("all").runs if run.node}
    assert {round(1000 * (one.duration_us or 0)) for one in graph} <= runs


def test_a_program_that_was_killed_leaves_what_it_had() -> None:
    found = record("kill")
    assert not found.ended and not found.unreadable
    assert [one.values for one in observed("kill", "saxpy", kernel("saxpy")).parameters[:1]] == [tuple(range(1, 51))]
    assert (observed("kill", "saxpy").coverage.counted, observed("kill", "saxpy").coverage.timed) == (50, 50)


def test_launches_beyond_the_limit_are_counted() -> None:
    coverage = observed("few", "saxpy").coverage
    assert (coverage.counted, coverage.recorded, coverage.timed) == (50_000, 100, 100)


def test_triton_and_pytorch_are_observed_without_their_source() -> None:
    seen = observed("torch", "scaled_add")
    assert [(one.grid.x, one.duration_us is not None) for one in seen.launches] == [(4, True), (131, True), (391, True)]
    counts = [one for one in seen.parameters if one.size == 4]
    assert [one.values[0] for one in counts] == ["0xe8030000", "0x0000403f"]  # 1000, and 0.75 of a type nobody told
    softmax = observed("torch", "softmax_warp_forward")
    assert [one.values[0] for one in softmax.parameters if one.kind == "number"] == [100, 1000, 1000, -1, 0]
    assert softmax.devices == {0: "NVIDIA H100 80GB HBM3"}


def test_the_file_is_what_a_task_is_made_of(tmp_path: Path) -> None:
    path = tmp_path / "transpose.observed.json"
    seen = observed("all", "imaging::transpose", kernel("imaging::transpose"))
    write(path, seen)
    found = read_table(path)
    assert (found.kernel, found.timed, len(found.launches)) == ("imaging::transpose", True, 12)
    assert found.launches[0].scalars == {"rows": 64, "cols": 8192}
    details = json.loads(path.read_bytes())["details"]
    assert details[0]["shared_bytes"] == 4224 and set(details[0]["pointers"]) == {"out", "in"}
    top, second = configs(seen)
    assert (top.grid, top.count, second.grid, second.count) == (Dim3(3, 2), 9, Dim3(256, 2), 3)
    assert top.share + second.share == pytest.approx(1)
    assert len(configs(seen, top=1)) == 1


def test_a_table_that_could_not_be_read_again_is_not_written(tmp_path: Path) -> None:
    path = tmp_path / "saxpy.observed.json"
    seen = observed("all", "two_phases")
    [one] = seen.launches[:1]
    with pytest.raises(ObservedError, match="1 launches has 16 MiB"):
        write(path, replace(seen, launches=(replace(one, flags=("x" * (16 << 20),)),), parameters=()))
    assert not path.exists()


def test_slow_and_fast_launches_of_one_geometry_are_apart_above_the_ratio_that_is_given() -> None:
    seen = observed("all", "saxpy", kernel("saxpy"))
    names = {one.name.partition("_")[2]: one.scalars["n"] for one in configs(seen, spread=2.5) if "_" in one.name}
    assert names.keys() == {"slow", "fast"} and names["slow"] == 1 << 20
    assert not [one for one in configs(seen, spread=1000) if "_" in one.name]


def test_a_parameter_with_the_name_of_a_size_keeps_its_value() -> None:
    seen = observed("all", "two_phases", kernel("two_phases"))
    n = next(one for one in seen.parameters if one.kind == "number")
    again = as_json(replace(seen, parameters=(replace(n, name="grid"),)))
    assert parse_table(json.dumps(again).encode()).launches[0].scalars == {"grid_parameter": 4096}


def test_an_observation_is_current_while_command_signature_and_source_are_the_same(tmp_path: Path) -> None:
    path = tmp_path / "saxpy.observed.json"
    wanted = key("./prover", "void saxpy(int n)", b"source")
    assert not is_current(path, wanted)
    seen = observed("all", "two_phases")
    write(path, replace(seen, key=wanted))
    assert is_current(path, wanted) and is_current(path, key("./prover", "void  saxpy(int n)", b"source"))
    for other in (("./other", "void saxpy(int n)", b"source"), ("./prover", "void saxpy(long n)", b"source"),
                  ("./prover", "void saxpy(int n)", b"changed")):  # fmt: skip
        assert not is_current(path, key(*other))
    words = ("./prover", "void saxpy(int n)", b"source")
    of = [("gpu1", "~/prover", "", {"N": "1"}), ("gpu1", "~/prover", "", {"N": "2"}), ("gpu2", "~/prover", "", {})]
    assert len({key(*words, surroundings=one) for one in of}) == len(of)
    path.write_text("[")
    assert not is_current(path, wanted)


def test_the_nth_launch_has_the_nth_duration_of_another_run() -> None:
    seen = observed("all", "imaging::transpose").launches
    others = [(one.grid, one.block, 10.0 + at) for at, one in enumerate(seen)]
    assert [one.duration_us for one in timed(seen, others)] == [10.0 + at for at in range(12)]
    with pytest.raises(JoinError, match="12 launches were observed and 11 timed"):
        timed(seen, others[1:])
    with pytest.raises(JoinError, match="launch 0 has grid"):
        timed(seen, [(Dim3(9), Dim3(32), 1.0), *others[1:]])


@given(st.integers(0, 4_000))
def test_a_record_may_end_anywhere(cut: int) -> None:
    whole = raw("kill")
    found = read_record(whole[: HEADER + min(cut, len(whole) - HEADER)])
    assert found.unreadable <= 1 and len(found.launches) <= 50


@given(st.lists(st.text(st.characters(codec="utf-8", exclude_characters="\n"), max_size=60), max_size=8))
def test_lines_that_cannot_be_read_are_counted_and_the_others_used(lines: list[str]) -> None:
    good = "L\t1\t1\t7\t(nil)\t2,1,1\t32,1,1\t0\t\t0\t-"
    found = read_record(written(*(f"?{line}" for line in lines), "K\t1\tk", good))
    assert found.unreadable == len(lines) and len(list(launches(found))) == 1


def test_what_the_library_could_not_have_is_told_of_the_launch() -> None:
    begun = "L\t1\t1\t7\t(nil)\t2,1,1\t32,1,1\t0\t\t0\t"
    missing = ("?driver", "?packed 0:4:05000000", "?missing", "0:8:0000008040527f00,?error 3")
    found = [one.missing for given in missing for one in launches(read_record(written(begun + given)))]
    assert found == ["driver", "packed 0:4:05000000", "missing", "error 3"]


def test_a_file_that_is_no_record_is_refused() -> None:
    for other in (b"", b"kpdobs1\0", bytes(HEADER)):
        with pytest.raises(UnreadableRecord):
            read_record(other)
