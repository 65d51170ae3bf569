"""Which CPUs are kept for the process that measures on a GPU."""

import os

import pytest

from kpd.measure.python.host.cores import FEWEST, NONE, divided, move


@pytest.mark.parametrize("count", [FEWEST - 1, FEWEST])
def test_cpus_are_divided_where_there_are_enough(count: int) -> None:
    mine = frozenset(range(1000, 1000 + count))  # of which no system tells the siblings
    found = divided(mine)
    assert found == NONE if count < FEWEST else (found.measuring | found.others, len(found.others)) == (mine, 4)
    assert not found.measuring & found.others


def test_cpus_of_one_core_are_on_one_side(monkeypatch: pytest.MonkeyPatch, tmp_path) -> None:
    for cpu in range(8):
        (tmp_path / f"cpu{cpu}").write_text(f"{cpu % 4},{cpu % 4 + 4}\n")
    monkeypatch.setattr("kpd.measure.python.host.cores.TOPOLOGY", str(tmp_path / "cpu{}"))
    assert divided(frozenset(range(8))) == ({0, 4, 1, 5}, {2, 6, 3, 7})


def test_a_process_that_has_ended_is_not_moved() -> None:
    own = frozenset(os.sched_getaffinity(0))
    move(2**22 + 1, own)
    move(os.getpid(), frozenset())
    assert os.sched_getaffinity(0) == own
