"""Which versions of a built tool an operation means."""

from dataclasses import replace

import pytest

from kpd.model.state import State
from kpd.model.toolbox import ToolVersion
from kpd.operations.operation import Refused, UnknownName
from kpd.operations.tools import QualifyTool, QuarantineTool, RestoreTool

OLD = ToolVersion("lint", "a" * 64, "scale", 1.0)
NEW = ToolVersion("lint", "b" * 64, "scale", 2.0)
ELSEWHERE = ToolVersion("lint", "c" * 64, "other", 3.0)


def state_of(*tools: ToolVersion) -> State:
    return State(tools={one.ref: one for one in tools})


def test_a_name_stops_all_versions_and_checks_the_newest() -> None:
    state = state_of(OLD, NEW)
    assert QuarantineTool(tool="lint").target(state) == (NEW, OLD)
    assert QualifyTool(tool="lint").target(state) == NEW
    assert QuarantineTool(tool=OLD.shown).target(state) == (OLD,) == QuarantineTool(tool=OLD.ref).target(state)


def test_a_name_of_tools_of_several_tasks_is_refused() -> None:
    with pytest.raises(Refused, match="other and scale have a tool lint"):
        QuarantineTool(tool="lint").target(state_of(OLD, ELSEWHERE))
    with pytest.raises(UnknownName):
        QuarantineTool(tool="lin").target(state_of(OLD))


def test_a_beginning_that_several_versions_share_stops_all_and_restores_none() -> None:
    twin = replace(NEW, version="a" * 12 + "d" * 52)
    state = state_of(OLD, twin)
    assert set(QuarantineTool(tool=OLD.shown).target(state)) == {OLD, twin}
    with pytest.raises(Refused, match="name one"):
        QualifyTool(tool=OLD.shown).target(state)


def test_what_is_stopped_already_is_refused_only_where_all_are() -> None:
    stopped = replace(OLD, stopped="quarantined")
    operation, state = QuarantineTool(tool="lint"), state_of(stopped, NEW)
    assert operation.why_not(state, operation.target(state)) is None
    assert operation.why_not(state, (stopped,)) is not None


def test_a_name_restores_the_one_that_is_stopped() -> None:
    stopped = replace(OLD, stopped="retired")
    assert RestoreTool(tool="lint").target(state_of(stopped, NEW)) == stopped
    with pytest.raises(Refused, match="name one"):
        RestoreTool(tool="lint").target(state_of(stopped, replace(NEW, stopped="quarantined")))
