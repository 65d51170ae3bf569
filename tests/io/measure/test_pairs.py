"""The shell that starts the processes of a driver that does not fork, on a GPU: their order, and what each is asked."""

import subprocess
from pathlib import Path, PurePosixPath
from types import SimpleNamespace
from typing import cast

import pytest

from kpd.hosts.host import Host, LeaseRequest
from kpd.measure.driver.harness import OBJECT, Harness
from kpd.measure.driver.pairs import CASE_LIMIT_MS, FRESH, pair_spec
from kpd.measure.run_context import RunContext
from kpd.workspace.specs import BenchSpec, CheckSpec

DRIVER = """\
#!/bin/sh
echo "$KPD_TURN begins" >>log
{first}
read -r seed
echo "$KPD_TURN $seed $*"
"""
SLOW = '[ "$KPD_TURN" != 1 ] || { sleep 0.3; echo "1 has its context" >>log; touch turn; }'
LINES = f"5eed\n901 a {FRESH} 7 8 9\n902 a a 7 8 9\n903 b b 7 8 9\n"
REPEATS = ("repeat", "b.so", "no", "400", "5000")


def ran(folder: Path, first: str, earlier: tuple[str, ...], lines: str) -> subprocess.CompletedProcess[str]:
    """What comes of the shell in a folder, with a driver that does this `first`."""
    for job in ("mine", "other"):
        (folder / "jobs" / job / "out").mkdir(parents=True)
        (folder / "jobs" / job / "out" / OBJECT).write_text(job)
    (folder / "bench").write_text(DRIVER.format(first=first))
    (folder / "bench").chmod(0o755)
    host = cast("Host", SimpleNamespace(root=PurePosixPath(folder)))
    check, where = CheckSpec(rtol=1e-5, atol=0.0, distributions=("normal",)), LeaseRequest("gpu", gpu=True)
    spec = pair_spec(
        host, Harness(str(folder / "bench"), "", ()), "mine", "other", "job", BenchSpec(quads=3), check,
        RunContext(lease=where), None, "", b"", 20.0, 700, earlier,
    )  # fmt: skip
    return subprocess.run(
        ["/bin/sh", "-c", spec.script], cwd=folder, input=lines, capture_output=True, text=True, check=False, timeout=60
    )


def test_what_comes_earlier_has_the_first_line_and_the_first_turn(tmp_path: Path) -> None:
    ended = ran(tmp_path, SLOW, REPEATS, LINES)
    assert (ended.returncode, ended.stderr) == (0, "")
    settings = "inputs=normal compare=elementwise rtol=1e-05 atol=0.0"
    assert sorted(ended.stdout.splitlines()) == [
        f"1 5eed {settings} repeat b.so no 400 5000",
        f"2 901 {settings} fresh a2.so b2.so a 700 {CASE_LIMIT_MS}",
        f"3 902 {settings} alone a3.so b3.so a 3 {CASE_LIMIT_MS}",
        f"4 903 {settings} solo a4.so b4.so b 3 {CASE_LIMIT_MS}",
    ]


@pytest.mark.parametrize("earlier", [REPEATS, ()])
def test_no_process_begins_before_the_first_one_has_its_context(tmp_path: Path, earlier: tuple[str, ...]) -> None:
    ran(tmp_path, SLOW, earlier, LINES if earlier else LINES.partition("\n")[2])
    begun = (tmp_path / "log").read_text().splitlines()
    assert begun[:2] == ["1 begins", "1 has its context"]
    assert sorted(begun[2:]) == [f"{number} begins" for number in range(2, 5 if earlier else 4)]


@pytest.mark.parametrize("earlier", [REPEATS, ()])
def test_one_that_ends_without_a_context_ends_the_job(tmp_path: Path, earlier: tuple[str, ...]) -> None:
    ended = ran(tmp_path, "exit 2", earlier, LINES if earlier else LINES.partition("\n")[2])
    assert (ended.returncode, ended.stdout) == (2, "")
