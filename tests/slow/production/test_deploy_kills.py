"""kill -9 of a deployment in each phase: the program is as before, or wholly deployed, and history tells which."""

from pathlib import Path

import pytest

from kpd.model.deployments import Deployment, Phase
from kpd.production.deploy.settle import settle
from tests.support.hosts.local import until
from tests.support.production.killing import PHASES, killed
from tests.support.production.provers import place_at
from tests.support.production.sleepers import FAST, content, read


def told(one: Deployment, phase: Phase) -> bool:
    """Whether the history says of a deployment that was killed what has happened."""
    if one.state == "deployed":
        return phase == "commit"
    unchanged = phase in ("gate", "integrate", "begin")
    return one.state in (("rolled_back", "failed") if unchanged else ("rolled_back",)) and one.phase == phase


@pytest.mark.parametrize("phase", PHASES)
async def test_the_next_command_restores_and_tells(tmp_path: Path, phase: Phase) -> None:
    before, journal = await killed(tmp_path, phase)
    assert [one.state for one in journal.all()] == ["open"]
    async with place_at(read(tmp_path), tmp_path) as place:
        [one] = await settle(place, journal)
    assert told(one, phase)
    source, binary = content(tmp_path / "program")
    whole = source == FAST and FAST in binary
    assert whole if one.state == "deployed" else (source, binary) == before


async def test_the_host_restores_by_itself(tmp_path: Path) -> None:
    before, _ = await killed(tmp_path, "time", lease_s=8.0)

    def restored() -> bool:
        return content(tmp_path / "program") == before

    await until(restored)
