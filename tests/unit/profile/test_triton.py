"""What the runner for Python writes about Triton's kernels."""

import json

import pytest

from kpd.measure.bench import LaunchFilter
from kpd.model.codec import CodecError
from kpd.profile.gpu import concluded
from kpd.profile.triton import metrics, parse

KERNEL = {"name": "sums", "registers": 40, "local_bytes": 0, "shared_bytes": 512, "warps": 4, "stages": 3}
TWO = [{**KERNEL, "ptx": ".visible"}, {**KERNEL, "registers": 24, "local_bytes": 16, "warps": 8}]


def told(kernels: list[dict[str, object]], cases: dict[str, list[int]]) -> bytes:
    return json.dumps({"kernels": kernels, "cases": cases}).encode()


def test_the_largest_of_each_figure_is_the_metric() -> None:
    found = parse(told(TWO, {"a": [0], "b": [0, 1]}))
    profile = concluded((), "no ncu", (), {}, (), LaunchFilter(), found)
    assert profile.metrics == {
        "ptxas_registers": 40, "local_bytes": 16, "triton_shared_bytes": 512, "triton_warps": 8, "triton_stages": 3,
    }  # fmt: skip
    assert metrics(parse(told([], {}))) == {}


@pytest.mark.parametrize("raw", [told(TWO, {"a": [2]}), told(TWO, {"a": [-1]}), b"{}", b"["])
def test_what_is_no_such_file_is_refused(raw: bytes) -> None:
    with pytest.raises(CodecError):
        parse(raw)
