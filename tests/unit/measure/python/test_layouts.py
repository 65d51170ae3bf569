"""Layouts that a worker tells of outputs: which are believed."""

import pytest

from kpd.measure.python.host.arrays import APART, Layout, described


def said(shape, strides, itemsize=4):
    return ["numpy", "float32", shape, strides, itemsize, 0]


@pytest.mark.parametrize("step", [0, -4, 1 << 70])
def test_any_step_will_do_where_there_is_one_element(step: int) -> None:
    assert described(said([3, 1], [1, step])) == Layout("numpy", "float32", (3, 1), (1, 1), 4)


def test_who_reads_an_output_need_not_read_much_more_than_its_elements() -> None:
    rows = APART // 4096 // 4
    assert described(said([rows, 8], [4096, 1])).span < APART
    with pytest.raises(ValueError, match=rf"its {8 * rows} elements lie 127 MiB apart"):
        described(said([rows, 8], [8192, 1]))
    many = APART // 4
    assert described(said([many, 2], [16, 1])).span > APART
    with pytest.raises(ValueError, match="apart"):
        described(said([many, 2], [17, 1]))
    with pytest.raises(ValueError, match="apart"):
        described(said([2, 1], [1 << 70, 1]))


@pytest.mark.parametrize(
    ("shape", "steps", "one"),
    [
        ([3, 4], [4, 1], False), ([3, 4], [3, 1], True), ([3, 4], [0, 1], True), ([3, 4], [1, 3], False),
        ([3, 4], [1, 2], True), ([3, 4], [9, 2], False), ([1, 4], [0, 1], False), ([3, 1], [0, 1], True),
        ([0, 4], [0, 0], False), ([2, 3, 4], [12, 4, 1], False), ([2, 3, 4], [11, 4, 1], True),
    ],
)  # fmt: skip
def test_elements_of_a_result_are_not_one_in_memory(shape: list[int], steps: list[int], one: bool) -> None:
    if not one:
        assert described(said(shape, steps)).shape == tuple(shape)
        return
    with pytest.raises(ValueError, match="elements are one in memory"):
        described(said(shape, steps))
