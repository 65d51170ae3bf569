"""Samples as they lie in timing.json: back as they were, and nothing else taken for samples."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kpd.measure.samples import CaseSample, ProcessSample, samples_from_json, samples_to_json
from kpd.model.codec import CodecError

TIMES = st.integers(1, 2**62)


@st.composite
def cases(draw: st.DrawFn) -> CaseSample:
    count = 2 * draw(st.integers(1, 4))
    batches = st.lists(TIMES, min_size=count, max_size=count).map(tuple)
    return CaseSample(draw(st.integers(1, 10**9)), draw(batches), draw(batches))


PROCESSES = st.builds(ProcessSample, st.integers(0, 99), st.dictionaries(st.text(), cases(), max_size=3), st.text())


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
        ({"reps": 1, "a_ns": [1], "b_ns": [1]}, "quads"),
        ({**GOOD, "b_ns": [0, 4]}, "no time"),
        ({**GOOD, "b_ns": [-1, 4]}, "no time"),
        ({**GOOD, "b_ns": [True, 4]}, "int"),
        ({**GOOD, "b_ns": [1.5, 4]}, "int"),
        ({"reps": 1, "a_ns": [1, 2]}, "b_ns"),
    ],
)
def test_batches_that_are_no_quads_are_refused(case: dict[str, object], said: str) -> None:
    frame = {"version": 1, "samples": [{"process": 0, "cases": {"c": case}}]}
    with pytest.raises(CodecError, match=said):
        samples_from_json(json.dumps(frame))


@pytest.mark.parametrize("raw", [b"", b"[]", b'{"version": 2, "samples": []}', b"\xff"])
def test_other_files_are_refused(raw: bytes) -> None:
    with pytest.raises(CodecError):
        samples_from_json(raw)
