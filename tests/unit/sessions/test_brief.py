"""What a coding agent is told of its means: it works with tools, where a model that is asked once has none."""

from pathlib import Path

import pytest

from kpd.sessions import brief
from tests.support.agents.prompted import context


@pytest.mark.parametrize(("trials", "tries"), [(0, False), (1, True)])
def test_a_session_is_told_of_its_tools_and_not_that_it_has_none(tmp_path: Path, trials: int, tries: bool) -> None:
    given = context(tmp_path)
    words = brief.Words("kernel.c", "20 minutes", "TASK.md", "skills", "tmp", brief.kpd_tools(trials))
    told = brief.first_prompt(given, words)
    assert "can run nothing" not in told and "- Reckon first" in told and "`inspect`" in told
    assert ("`try` measures your tree as it stands, 1 time at most" in told) == tries
