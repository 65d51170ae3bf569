"""Samples as they lie in timing.json: back as they were, and nothing else taken for samples."""

import json

import pytest
from hypothesis import given, strategies as st

from kpd.measure.samples import CaseSample, ProcessSample, samples_from_json, samples_to_json
from kpd.model.codec import CodecError

TIMES = st.integers(1, 2**53) | st.floats(1e-12, 1e30)


@st.composite
def cases(draw: st.DrawFn) -> CaseSample:
    count = draw(st.sampled_from([1, 2, 4, 8]))
    batches = st.lists(TIMES, min_size=count, max_size=count).map(tuple)
    return CaseSample(draw(st.integers(1, 10**9)), draw(batches), draw(batches))


PROCESSES = st.builds(
    ProcessSample, st.integers(0, 99), st.dictionaries(st.text(), cases(), max_size=3), st.text(), st.none() | cases()
)


@given(st.lists(PROCESSES, max_size=4).map(tuple))
def test_samples_come_back_as_they_were(samples: tuple[ProcessSample, ...]) -> None:
    assert samples_from_json(samples_to_json(samples)) == samples


GOOD = {"reps": 1, "a_ns": [1, 2], "b_ns": [3, 4]}


@pytest.mark.parametrize(
    ("case", "said"),
    [
        ({**GOOD, "reps": 0}, "quads"),
        ({**GOOD, "a_ns": []}, "quads"),
        ({**GOOD, "a_ns": [1]}, "quads"),
        ({"reps": 1, "a_ns": [1, 2, 3], "b_ns": [1, 2, 3]}, "quads"),
        ({**GOOD, "b_ns": [0, 4]}, "no time"),
        ({**GOOD, "b_ns": [-1, 4]}, "no time"),
        ({**GOOD, "b_ns": [True, 4]}, "float"),
        ({**GOOD, "b_ns": ["1.5", 4]}, "float"),
        ({"reps": 1, "a_ns": [1, 2]}, "b_ns"),
    ],
)
def test_batches_that_are_no_quads_are_refused(case: dict[str, object], said: str) -> None:
    for sample in ({"process": 0, "cases": {"c": case}}, {"process": 0, "cases": {}, "score": case}):
        with pytest.raises(CodecError, match=said):
            samples_from_json(json.dumps({"version": 1, "samples": [sample]}))


@pytest.mark.parametrize("raw", [b"", b"[]", b'{"version": 2, "samples": []}', b"\xff"])
def test_other_files_are_refused(raw: bytes) -> None:
    with pytest.raises(CodecError):
        samples_from_json(raw)
