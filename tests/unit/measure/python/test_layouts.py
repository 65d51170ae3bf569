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
