"""Every fact survives the log and the wire; what is not a fact does not get in."""

import importlib
import pkgutil

import pytest
from hypothesis import given, strategies as st

from kpd import model
from kpd.model import codec, events as e
from kpd.model.fold import fold_all
from kpd.model.state import State
from tests.support.model.strategies import any_fact, logs


@given(any_fact)
def test_a_fact_survives_its_json(fact: e.Fact) -> None:
    assert codec.fact_from(fact.kind(), codec.encode(fact)) == fact


@given(st.integers(1, 2**53), st.floats(0, 1e10), any_fact)
def test_an_event_survives_its_line(seq: int, at: float, fact: e.Fact) -> None:
    event = e.Event(seq, at, fact)
    line = codec.event_to_json(event)
    assert b"\n" not in line
    assert codec.event_from_json(line) == event


@given(logs)
def test_a_state_survives_its_json(log: list[e.Event]) -> None:
    state = fold_all(log)
    assert codec.decode(codec.encode(state), State) == state


def test_every_concrete_fact_of_the_model_has_a_kind_of_its_own() -> None:
    names = [module.name for module in pkgutil.walk_packages(model.__path__, "kpd.model.")]
    there = [cls for name in names for cls in vars(importlib.import_module(name)).values()]
    facts = {cls for cls in there if isinstance(cls, type) and issubclass(cls, e.Fact)}
    concrete = {cls for cls in facts if not any(cls in other.__bases__ for other in facts)}
    assert set(e.FACTS.values()) == concrete
    assert len(e.FACTS) == len(concrete)
    assert e.FACTS["run_queued"] is e.RunQueued


def test_every_step_fact_belongs_to_a_step() -> None:
    assert set(e.STEP_OF) == {cls for cls in e.FACTS.values() if issubclass(cls, e.StepFact)}
    assert len(set(e.STEP_OF.values())) == len(e.STEP_OF)


@pytest.mark.parametrize(
    ("kind", "body", "says"),
    [
        ("moon_landed", "{}", "unknown kind of event 'moon_landed'"),
        ("queue_held", "{}", "reason"),
        ("queue_held", '{"reason": 3}', "text"),
        ("queue_held", "[]", "object"),
        ("queue_held", '{"reason": "x"', "truncated"),
        ("checked", '{"run":"r1","iteration":1,"seconds":1,"overhead_s":1,"comparisons":1,"worst":null}', "worst"),
        ("noticed", '{"level": "fatal", "text": "x"}', "level"),
    ],
)
def test_what_is_not_a_fact_is_refused_with_the_place(kind: str, body: str, says: str) -> None:
    with pytest.raises(codec.CodecError, match=says):
        codec.fact_from(kind, body)


def test_bytes_that_are_no_text_are_refused() -> None:
    with pytest.raises(codec.CodecError):
        codec.fact_from("queue_held", b'{"reason": "\xff"}')
