"""Children that compute for the runner, and the processes of a contest that are forked from one."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from kpd.measure.bench import CheckFailed
from kpd.measure.python.host.ahead import AHEAD, computed
from kpd.measure.python.host.harness import HarnessError
from kpd.measure.python.host.problems import KernelProblem
from kpd.measure.python.host.turns import LATE
from tests.support.measure.measured import local_host
from tests.support.measure.python_tasks import RIGHT, built, ready, small_task
from tests.support.patience import PATIENCE_S


@pytest.mark.parametrize("forks", [False, True])
def test_results_come_in_order_and_errors_where_they_belong(forks: bool) -> None:
    def one(number: int) -> tuple[int, bool]:
        if number == 2 * AHEAD:
            raise KernelProblem("wrong", "b", output="y", index=number)
        return number, os.getpid() == here

    here = os.getpid()
    found = computed([lambda number=number: one(number) for number in range(2 * AHEAD + 1)], forks)
    assert [next(found) for _ in range(2 * AHEAD)] == [(number, not forks) for number in range(2 * AHEAD)]
    with pytest.raises(KernelProblem) as caught:
        next(found)
    assert (caught.value.report["who"], caught.value.report["index"]) == ("candidate", 2 * AHEAD)


def test_a_child_that_is_killed_is_told_of() -> None:
    with pytest.raises(HarnessError, match="ended with -9"):
        next(computed([lambda: os.kill(os.getpid(), signal.SIGKILL)], True))


@pytest.mark.parametrize("taken", [0, 1])
def test_children_whose_results_nobody_wants_are_killed(taken: int) -> None:
    others = psutil.Process().children()
    found = computed([lambda number=number: time.sleep(number and 600) for number in range(2 * AHEAD)], True)
    for _ in range(taken):
        next(found)
    assert len(psutil.Process().children()) > len(others)
    found.close()
    assert psutil.Process().children() == others


CONTEST = f"""
import json, os, sys, time
from pathlib import Path
from kpd.measure.python.host.turns import MEASURED, STARTED, contest
there, last, short = Path(sys.argv[1]), 5, sys.argv[2] == "short"
def one(turn):
    turn.tell(STARTED)
    (there / f"ready{{turn.number}}").touch()
    turn.wait()
    begun, deadline = time.monotonic_ns(), time.monotonic() + {PATIENCE_S}
    many = 1 if short and turn.number == 0 else 2
    ahead = [there / f"ready{{number}}" for number in range(turn.number + 1, min(turn.number + many + 1, last))]
    while not all(path.exists() for path in ahead) and time.monotonic() < deadline:
        time.sleep(0.001)
    if not all(path.exists() for path in ahead):
        return 1
    found = (there / f"ready{{turn.number + many + 1}}").exists()
    measured = time.monotonic_ns()
    turn.tell(MEASURED)
    turn.wait()
    print(json.dumps([turn.number, begun, measured, found]))
    return 0
sys.exit(contest(last, one, short=0 if short else None))
"""


@pytest.mark.parametrize("first", ["short", "usual"])
def test_two_processes_of_a_contest_get_ready_while_one_measures(tmp_path: Path, first: str) -> None:
    """Each waits in its turn for the next two to be ready: where these began only after it, it would wait for ever.

    A first one with short batches waits for one.
    """
    run = [sys.executable, "-c", CONTEST, tmp_path, first]
    done = subprocess.run(run, capture_output=True, text=True, check=False, timeout=2 * PATIENCE_S)
    assert (done.returncode, done.stderr) == (0, "")
    numbers, begun, measured, too_early = zip(*map(json.loads, done.stdout.splitlines()), strict=True)
    assert numbers == (0, 1, 2, 3, 4), "they report in their order"
    assert not any(too_early), "no more get ready"
    assert all(end < begin for end, begin in zip(measured, begun[1:], strict=False)), "one measures at a time"


FIRST = """
import json, sys, time
from pathlib import Path
from kpd.measure.python.host.turns import MEASURED, STARTED, First, contest
there, how, holds, limit_s = Path(sys.argv[1]), sys.argv[2], sys.argv[3] == "holds", float(sys.argv[4])
processes = int(sys.argv[5])
def first(turn):
    if how == "unloaded":
        return 2
    turn.tell(STARTED)
    wanted = [there / "context"] if holds else [there / "ready0", there / "ready1"]
    while processes and not all(path.exists() for path in wanted):
        time.sleep(0.001)
    early = (there / "ready0").exists()
    if how == "fails":
        return 1
    if how == "hangs":
        time.sleep(600)
    turn.tell(MEASURED)
    turn.wait()
    print(json.dumps(["first", early]), flush=True)
    return 0
def one(turn):
    if turn.follows:
        (there / "context").touch()
        turn.wait()
    (there / f"ready{turn.number}").touch()
    turn.tell(STARTED)
    turn.wait()
    turn.tell(MEASURED)
    turn.wait()
    print(json.dumps([turn.number, turn.follows]), flush=True)
    return 0
sys.exit(contest(processes, one, First(first, limit_s, holds)))
"""


@pytest.mark.parametrize("holds", ["holds", "lets"])
@pytest.mark.parametrize(("how", "status"), [("passes", 0), ("fails", 1), ("unloaded", 2), ("hangs", LATE)])
def test_a_process_of_a_contest_gets_ready_while_a_command_before_it_is_at_work(
    tmp_path: Path, holds: str, how: str, status: int
) -> None:
    """One that holds the contest sees no more than a context of it, another two processes; nothing of it is left."""
    limit_s = 1.0 if how == "hangs" else PATIENCE_S
    run = [sys.executable, "-c", FIRST, str(tmp_path), how, holds, str(limit_s), "2"]
    done = subprocess.run(run, capture_output=True, text=True, check=False, timeout=2 * PATIENCE_S)
    assert (done.returncode, done.stderr) == (status, "")
    said = [json.loads(line) for line in done.stdout.splitlines()]
    assert said == ([] if status else [["first", holds == "lets"], [0, holds == "holds"], [1, False]])
    assert not [one for one in psutil.process_iter(["cmdline"]) if str(tmp_path) in (one.info["cmdline"] or [])]


@pytest.mark.parametrize("holds", ["holds", "lets"])
def test_no_process_is_begun_for_a_contest_that_has_none(tmp_path: Path, holds: str) -> None:
    """An audit that times no kernel alone is such a command: there is no line that the process could read."""
    run = [sys.executable, "-c", FIRST, str(tmp_path), "passes", holds, str(PATIENCE_S), "0"]
    done = subprocess.run(run, capture_output=True, text=True, check=False, timeout=2 * PATIENCE_S)
    assert (done.returncode, done.stderr) == (0, "")
    assert [json.loads(line) for line in done.stdout.splitlines()] == [["first", False]]
    assert not list(tmp_path.iterdir())


@pytest.mark.asyncio
async def test_processes_that_are_forked_from_one_time_as_others_do(tmp_path) -> None:
    async with local_host(tmp_path / "host") as host:
        bench = await ready(host, small_task(tmp_path))
        object.__setattr__(bench.harness, "forks", True)
        own, slow = (
            await built(bench),
            await built(bench, {"kernel.py": "def kernel(a, b):\n    return a + b + a + a - a"}),
        )
        samples = [one async for one in bench.time(own, slow, "several", 0, 3, print)]
        assert [one.process for one in samples] == [0, 1, 2]
        assert all(one.spent["run"] > 0 for one in samples)
        assert len({tuple(one.spent.items()) for one in samples}) == 3
        wrong = await built(bench, {"kernel.py": "def kernel(a, b):\n    return a + b"})
        with pytest.raises(CheckFailed, match=r"out.* should be"):
            _ = [one async for one in bench.time(own, wrong, "wrong", 0, 3, print)]


@pytest.mark.asyncio
@pytest.mark.parametrize(("number", "incumbent"), [(0, True), (1, False)])
async def test_half_of_the_processes_call_the_candidate_first(tmp_path, number: int, incumbent: bool) -> None:
    """Both kernels raise, so who is called first is blamed."""
    async with local_host(tmp_path / "host") as host:
        bench = await ready(host, small_task(tmp_path))
        raises = [
            await built(bench, {"kernel.py": f"def kernel(a, b):\n    raise ValueError({which!r})"}) for which in "ab"
        ]
        with pytest.raises(CheckFailed) as caught:
            _ = [one async for one in bench.time(*raises, "time", number, 1, print)]
        assert caught.value.wrong.by_incumbent == incumbent


@pytest.mark.asyncio
@pytest.mark.parametrize("forks", [False, True])
async def test_with_one_kernel_on_both_sides_nobody_is_blamed_for_the_other(tmp_path, forks: bool) -> None:
    """An incumbent alone is not looked at, as it was accepted before; a candidate alone is the candidate."""
    async with local_host(tmp_path / "host") as host:
        bench = await ready(host, small_task(tmp_path))
        object.__setattr__(bench.harness, "forks", forks)
        own = await built(bench)
        wrong = await built(bench, {"kernel.py": "def kernel(a, b):\n    return (a + b).astype(a.dtype)"})
        found = await bench.audit(wrong, own, "audit", print)
        assert len(found.alone) >= 4
        with pytest.raises(CheckFailed) as caught:
            _ = [one async for one in bench.time(wrong, wrong, "same", 0, 1, print)]
        assert not caught.value.wrong.by_incumbent


@pytest.mark.asyncio
async def test_a_forked_worker_has_neither_locks_nor_the_folder_of_others(tmp_path) -> None:
    looks = (
        "import os, stat\n"
        "for number in range(3, 1024):\n"
        "    try: found = os.fstat(number)\n"
        "    except OSError: continue\n"
        "    assert found.st_size or not stat.S_ISREG(found.st_mode), number\n"
        "assert all(name.startswith('kernel') for name in os.listdir('.')), os.listdir('.')\n"
    )
    async with local_host(tmp_path / "host") as host:
        bench = await ready(host, small_task(tmp_path))
        object.__setattr__(bench.harness, "forks", True)
        own, curious = await built(bench), await built(bench, {"kernel.py": f"{looks}{RIGHT}"})
        assert len([one async for one in bench.time(own, curious, "curious", 0, 3, print)]) == 3
