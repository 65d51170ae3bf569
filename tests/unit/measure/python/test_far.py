"""Who is to blame for a result that is beyond the tolerance."""

import pytest

from kpd.measure.python.host.compare import HOPELESS
from kpd.measure.python.host.many import FAR, far
from kpd.measure.python.host.problems import KernelProblem


@pytest.mark.parametrize(
    ("multiple", "own", "blamed"),
    [
        (1.01, 0.9, False), (FAR * 0.9, 0.9, False), (FAR * 0.9 + 0.01, 0.9, True), (1.01, 0.0, True),
        (FAR, 1.0, False), (FAR + 0.01, 1.0, True), (HOPELESS, 1.01, False), (HOPELESS, HOPELESS, False),
        (FAR, None, False), (FAR + 0.01, None, True),
    ],
)  # fmt: skip
def test_far_is_beyond_so_many_times_the_error_of_the_own_kernel_where_that_is_right(
    multiple: float, own: float | None, blamed: bool
) -> None:
    assert far(KernelProblem("wrong", "b", multiple=multiple), own) == blamed


def test_what_has_another_shape_is_far() -> None:
    problem = KernelProblem("raised", "b", "out has 3 elements, but should have 4")
    assert far(problem, 1.0) and far(problem, None) and not far(problem, HOPELESS)
