"""An audit whose job was ended from outside: it is read only where it has measured what an audit needs."""

from contextlib import aclosing
from dataclasses import replace
from pathlib import Path

import pytest

from kpd.hosts.host import OutputChunk
from kpd.measure import jobs
from kpd.measure.audits import FEWEST_ALONE
from kpd.measure.driver.audits import Audited, audit, begun
from tests.support.measure.measured import CPU, FEW, LOOP, QUICK, kernel, lab

SLOW = kernel(f"for (volatile int r = 0; r < 1500; r++) {{ {LOOP} }}")
"""So slow that the job is ended before it has taken many more processes."""


@pytest.mark.parametrize(
    ("reports", "again"), [(1, True), (FEWEST_ALONE, True), (1 + FEWEST_ALONE, False)]
)  # the first one is that of the calls on fresh inputs
async def test_what_has_too_few_processes_is_measured_again(tmp_path: Path, reports: int, again: bool) -> None:
    async with lab(tmp_path) as ready:
        built = (await ready.build(SLOW)).job
        what = Audited(ready.host, ready.harness, built, built, FEW, QUICK, replace(ready.where, lease=CPU))
        said = b""
        async with aclosing(ready.host.follow(begun(what, "cut").spec)) as pieces:
            async for piece in pieces:
                assert isinstance(piece, OutputChunk), "it is not over yet"
                said += piece.data if piece.stream == "stdout" else b""
                if said.count(b"\n") >= reports:
                    break
        assert len((await audit(begun(what, "cut"))).alone) >= FEWEST_ALONE
        printed = Path(jobs.out(ready.host, "cut", "")).parent / "stdout"
        assert printed.read_bytes().startswith(said) is not again
