"""Samples of a contest for the tests of audits."""

from collections.abc import Sequence

from kpd.measure.samples import CaseSample, ProcessSample


def contested(*times: tuple[int, int], weights: Sequence[float] = (1.0, 1.0)) -> list[ProcessSample]:
    """Two processes of a contest: what a call of either kernel takes in the cases `same` and `half`."""
    cases = {
        name: CaseSample(1, (a, a), (b, b), weight=weight)
        for name, (a, b), weight in zip(("same", "half"), times, weights, strict=False)
    }
    return [ProcessSample(number, cases) for number in range(2)]
