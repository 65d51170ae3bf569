"""kill -9 of the client or the helper while a program is changed: its host restores it by itself."""

import asyncio
import contextlib
import random
from pathlib import Path

import msgspec
import psutil
import pytest

from tests.support.hosts.local import until
from tests.support.hosts.sshd import sshd
from tests.support.patience import PATIENCE_S
from tests.support.production.killing import begun, beside
from tests.support.production.provers import BUILD, SOURCE, FarSide, built, content, made

STEPS = ("begin", "put", "build", "hold", "restore")


async def killed(folder: Path, step: str, victim: str, config: str = "") -> str:
    """Kill the victim soon after the client has begun the step; return what is wrong when all has come to its end."""
    project = made(folder / "prover", build=f"sleep 0.3; {BUILD}")
    far = FarSide(project, folder)
    (folder / "project.json").write_bytes(msgspec.json.encode(project))
    client = beside("client", folder, str(folder), config)
    await begun(client, folder, step)
    await asyncio.sleep(random.Random(f"{victim} {step} {config != ''}").uniform(0, 0.4))
    if victim == "client":
        client.kill()
    else:
        with contextlib.suppress(psutil.NoSuchProcess):  # on a quick machine the last step is over by then
            for helper in psutil.Process(client.pid).children():
                helper.kill()
    await asyncio.to_thread(client.wait, PATIENCE_S)
    await until(lambda: far.state() in ("", "restored"))
    change = (await asyncio.to_thread(far.ask, "status"))["ok"]["change"]
    left = [path.name for path in (folder / "prover").rglob("*") if "kpd" in path.name]
    if content(folder / "prover") == built(SOURCE) and not left and not (change or {}).get("conflicts"):
        return ""
    return f"{victim} killed in {step}: {content(folder / 'prover')}, {left}, {change}"


@pytest.mark.parametrize("victim", ["client", "helper"])
async def test_a_client_or_a_helper_that_is_killed(victim: str, tmp_path: Path) -> None:
    found = await asyncio.gather(*(killed(tmp_path / step, step, victim) for step in STEPS))
    assert [one for one in found if one] == []


async def test_a_client_that_is_killed_over_ssh(tmp_path: Path) -> None:
    with sshd(tmp_path / "far", name="box") as server:
        steps = ("put", "build", "hold")
        config = str(server.config)
        found = await asyncio.gather(*(killed(tmp_path / step, step, "client", config) for step in steps))
    assert [one for one in found if one] == []
