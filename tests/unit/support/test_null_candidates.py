"""What the benchmark of verdicts compares: every kind changes the text, and nothing but the text that it is about."""

import pytest

from benchmarks.null_candidates import KERNELS, KINDS, WAYS, Kernel, incumbent, null, wasteful
from kpd.workspace.shipped import shipped

each_task = pytest.mark.parametrize("task", KERNELS)


def made(task: str) -> tuple[Kernel, str]:
    kernel = KERNELS[task]
    return kernel, (shipped("tasks") / task / kernel.file).read_text()


@each_task
@pytest.mark.parametrize("kind", KINDS)
def test_a_null_candidate_is_another_text_with_the_same_kernel(task: str, kind: str) -> None:
    kernel, source = made(task)
    candidates = {null(kind, number, source, kernel) for number in range(8)}
    assert incumbent(source, kernel) not in candidates
    assert candidates == {null(kind, number, source, kernel) for number in range(8)}
    for text in candidates:
        assert text.count(f"{kernel.head} {{") == 1
        assert text.count("noinline)) void inner") == (2 if kind == "other order" else 1)


def test_an_unknown_kind_is_refused() -> None:
    kernel, source = made("transpose_cpu")
    with pytest.raises(ValueError, match="no kind of null candidate is called odd"):
        null("odd", 0, source, kernel)


@each_task
@pytest.mark.parametrize("way", WAYS)
def test_waste_is_data(task: str, way: str) -> None:
    kernel, source = made(task)
    much, none = wasteful(way, source, kernel, 0.25), wasteful(way, source, kernel, 0.0)
    assert much.replace("waste = 0.25000000;", "waste = 0.00000000;") == none
    assert much != none
