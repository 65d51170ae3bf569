"""What a program logs of its launches is read strictly: it may write anything."""

import json

import pytest
from hypothesis import given, strategies as st

from kpd.onboarding.observed import LARGEST
from kpd.production.logged.lines import LONGEST, NothingLogged, logged
from kpd.production.observe.observation import Observation, as_json, configs
from kpd.source.kernels import Kernel, kernels
from kpd.source.source import Source

SOURCE = """namespace imaging {
__global__ void scale(float *out, const int n, float by, bool fast) {}
template <typename T> __global__ void cast(T *out, int n) {}
}
"""
SCALE, CAST = kernels(Source.of(SOURCE, "k.cu"))


def line(x: int = 2, **scalars: object) -> bytes:
    given = {"n": 64, "by": 0.5, "fast": 1, **scalars}
    return json.dumps({"grid": [x, 1, 1], "block": [32, 8, 1], "shared": 128, "scalars": given}).encode() + b"\n"


def read(*lines: bytes, kernel: Kernel = SCALE, limit: int = 100) -> Observation:
    return logged(b"".join(lines), kernel, limit, "2026-11-27T23:00:00", "key")


def test_the_table_is_what_was_logged() -> None:
    seen = read(line(), line(), line(4, n=128))
    table = as_json(seen)
    assert (table["kernel"], table["capture"]["seen_by"], table["capture"]["timed"]) == ("imaging::scale", "source", 0)
    sizes = {"grid_x": 4, "grid_y": 1, "grid_z": 1, "block_x": 32, "block_y": 8, "block_z": 1}
    assert table["launches"][2] == {**sizes, "n": 128, "by": 0.5, "fast": 1}
    assert table["details"][2]["shared_bytes"] == 128
    assert [(one.grid.x, one.count, round(one.share, 3)) for one in configs(seen)] == [(2, 2, 0.667), (4, 1, 0.333)]
    assert ["no durations" in problem for problem in seen.problems] == [True]


HOSTILE = [
    b"\xff\xfe\n", b"[" * 3000 + b"\n", b"{}\n", b"null\n", b"1\n",
    b'{"grid":[2,1,1],"block":[32,8,1],"scalars":{},"more":1}\n',
    b'{"grid":[2,1],"block":[32,8,1],"scalars":{}}\n',
    b'{"grid":[2,1,0],"block":[32,8,1],"scalars":{}}\n',
    b'{"grid":[2,1,1.5],"block":[32,8,1],"scalars":{}}\n',
    b'{"grid":[2,1,1],"block":[1024,8,1],"scalars":{}}\n',
    b'{"grid":[2,1,1],"block":[32,8,1],"shared":-1,"scalars":{}}\n',
    line(n="64"), line(n=True), line(n=None), line(n=[1]), line(out=1), line(**{"\x1b[2J": 1}),
    line(n=LARGEST * 2), line(by=float("nan")), line(by=float("inf")), line().replace(b"0.5", b"1e999"),
    line().replace(b"64", b"9" * 1000), line()[:-9] + b"\n", line().replace(b"64", b"64" + b" " * LONGEST),
]  # fmt: skip


@pytest.mark.parametrize("bad", HOSTILE, ids=range(len(HOSTILE)))
def test_a_line_that_is_no_launch_is_counted_and_not_used(bad: bytes) -> None:
    seen = read(line(), bad, line())
    assert seen.coverage.counted == 2
    assert "1 line of the log cannot be read" in seen.problems
    with pytest.raises(NothingLogged, match="1 line of its log, of which none is a launch"):
        read(bad)


@given(st.binary(max_size=400))
def test_any_bytes_are_read(raw: bytes) -> None:
    assert read(line(), raw, b"\n").coverage.counted >= 1


def test_what_is_missing_is_told() -> None:
    some = line().replace(b'"by": 0.5, ', b"")
    seen = read(line(), some)
    assert "by" not in as_json(seen)["launches"][0]
    assert "not logged, or not as numbers: by" in seen.problems
    assert "the log was full: later launches are not counted" in read(line(), line(), limit=2).problems
    cast = read(b'{"grid":[1,1,1],"block":[1,1,1],"scalars":{"n":1}}', kernel=CAST)
    assert any("template" in problem for problem in cast.problems)
    with pytest.raises(NothingLogged, match="its log is empty"):
        read(b"\n\n")
