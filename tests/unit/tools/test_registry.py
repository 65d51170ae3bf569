"""A version comes into the registry once, and only where that changes nothing that a person has decided."""

from dataclasses import replace
from pathlib import Path

import pytest

from kpd.model import events as e
from kpd.model.toolbox import ToolVersion
from kpd.tools.files import BadTool, shelf
from kpd.tools.manifest import read_manifest
from kpd.tools.registry import register
from kpd.workspace.paths import Workspace
from tests.support.tools.built import SKILL, as_bytes

FILES = as_bytes(SKILL)


def registered(root: Path, *known: ToolVersion, task: str = "scale") -> tuple[str, list[e.Fact]]:
    facts: list[e.Fact] = []
    tools = {one.ref: one for one in known}
    ref = register(Workspace(root), FILES, read_manifest(FILES), task, tools, facts.append)
    return ref, facts


def test_a_version_is_recorded_once(tmp_path: Path) -> None:
    ref, facts = registered(tmp_path)
    assert [fact.kind() for fact in facts] == ["tool_built"]
    name, _, version = ref.partition("@")
    assert registered(tmp_path, ToolVersion(name, version, "scale", 0.0)) == (ref, [])


def test_what_is_of_another_task_or_stopped_is_refused_before_anything_is_kept(tmp_path: Path) -> None:
    name, _, version = registered(tmp_path / "first")[0].partition("@")
    known = ToolVersion(name, version, "scale", 0.0)
    with pytest.raises(BadTool, match="for runs of scale"):
        registered(tmp_path, known, task="other")
    with pytest.raises(BadTool, match="is there already, and retired"):
        registered(tmp_path, replace(known, stopped="retired"))
    assert not shelf(Workspace(tmp_path), name, version).exists()
