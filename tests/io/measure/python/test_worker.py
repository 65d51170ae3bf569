"""The process of kernels and its watcher: what a kernel that answers by itself, or not at all, comes to."""

import contextlib
import gc
import os
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from kpd.measure.python.host.batching import CPU, OWN_SHARE, batch_ns, delayed_by_others, without_request
from kpd.measure.python.host.calling import CallSets
from kpd.measure.python.host.harness import PythonHarness
from kpd.measure.python.host.kept import CACHES
from kpd.measure.python.host.problems import Failed, KernelProblem, NotStarted
from kpd.measure.python.host.process import MANY, RequestCost, Worker
from kpd.measure.python.host.spare import fork
from kpd.measure.python.host.watched import scheduled_ns
from kpd.measure.python.host.worker import Kernels

LIMIT_MS = 20_000.0
ANSWERS = """
import json, os, struct, sys, threading, time
def reach():
    frame = sys._getframe()
    while "channel" not in frame.f_locals: frame = frame.f_back
    return frame.f_locals["channel"], frame.f_locals["request"]["id"]
def packed(body): return struct.pack("!I", len(body)) + body
def kernel():
    channel, id = reach()
"""
HARNESS = """
CASES, OUTPUTS = {"one": {"n": 1}}, ("y",)
def inputs(dims, draw): return {}
def truth(): return 0.0
"""
Start = Callable[[str], Worker]


@pytest.fixture(name="start")
def _start(tmp_path: Path) -> Iterator[Start]:
    workers = []
    gc.freeze()  # a worker looks for cycles before it is ready, and in a fork of pytest at all of pytest's objects

    def started(body: str) -> Worker:
        (tmp_path / "kernel.py").write_text(ANSWERS + body)
        workers.append(Worker(fork(), 1 << 20, [], None, False, sys.path))
        workers[0].start()
        workers[0].ask(LIMIT_MS, what="load", side="b", folder=str(tmp_path), entry="kernel", compiled="")
        workers[0].ask(LIMIT_MS, what="prepare", base=0, sets=[[]], size=0)
        return workers[0]

    yield started
    for worker in workers:
        worker.end()


def run(worker: Worker) -> int:
    return worker.timed(LIMIT_MS, what="run", side="b", base=0, count=1, rounds=1)[1]


def test_the_clock_runs_until_the_last_byte_of_an_answer(start: Start) -> None:
    sends = """
    answer = packed(json.dumps({"id": id, "at": [1]}).encode())
    channel.sendall(answer[:9])
    time.sleep(0.2)
    channel.sendall(answer[9:])
    time.sleep(60)
"""
    assert run(start(sends)) > 2e8


@pytest.mark.parametrize(
    "sends",
    [
        "channel.sendall(packed(b'{}'))",
        "channel.sendall(packed(json.dumps({'id': id - 1}).encode()))",
        "channel.sendall(packed(b'[' * 200_000))",
        "channel.sendall(packed(b'[]'))",
        "channel.sendall(b'\\xff' * 9)",
    ],
)
def test_an_answer_that_is_not_the_workers_own_is_forged(start: Start, sends: str) -> None:
    worker = start(f"    {sends}")
    with pytest.raises(Failed) as caught:
        run(worker)
    assert caught.value.kind == "forged"


def test_a_batch_lasts_long_beside_what_its_worker_does_itself(start: Start) -> None:
    cost = start("").request(MANY)
    assert 0 < cost.own_ns < cost.ns
    assert cost.own_ns < 10 * CPU.ns  # a batch of its length, OWN_SHARE times as long, is still short
    assert batch_ns(False, RequestCost(ns=100, own_ns=CPU.ns)) == OWN_SHARE * CPU.ns


def test_an_answer_in_the_workers_place_does_not_go_on_with_the_call_for_free(start: Start) -> None:
    worker = start('    channel.sendall(packed(json.dumps({"id": id}).encode()))\n    time.sleep(0.05)')
    run(worker)
    with pytest.raises(Failed) as caught:
        worker.ask(LIMIT_MS, what="idle")
    assert caught.value.kind == "forged"


@pytest.mark.parametrize(
    ("spent", "waited", "ran", "own", "delayed"),
    [(900, 200, 500, 100, 200), (900, 301, 500, 100, 300), (900, 200, 500, 400, 0), (900, 200, 500, 401, 0)],
)
def test_what_is_neither_the_kernels_time_nor_the_runners_is_that_of_others(
    spent: int, waited: int, ran: int, own: int, delayed: int
) -> None:
    assert delayed_by_others(spent, waited, ran, own) == delayed


def test_a_process_that_waits_while_its_answer_is_read_has_no_time_given_back(start: Start) -> None:
    """It wants the CPU all along, which the runner has, as that reads the answer byte by byte."""
    sends = """
    for byte in packed(json.dumps({"id": id, "at": [1] * 300}).encode()):
        channel.sendall(bytes([byte]))
        os.sched_yield()
    while True: os.sched_yield()
"""
    cpus = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(cpus)})
    try:
        worker = start(sends)
        before = scheduled_ns(worker.pid)
        spent = run(worker)
        waited, ran = (now - then for now, then in zip(scheduled_ns(worker.pid), before, strict=True))
        assert waited > worker.own_ns / 2 > 500_000
        assert waited - delayed_by_others(spent, waited, ran, worker.own_ns) > worker.own_ns / 2
    finally:
        os.sched_setaffinity(0, cpus)


def test_a_process_that_runs_while_it_should_not_is_found_out(start: Start) -> None:
    worker = start("threading.Thread(target=lambda: [sum(range(999)) for _ in iter(int, 1)], daemon=True).start()")
    worker.ask(LIMIT_MS, what="idle")
    os.kill(worker.pid, signal.SIGCONT)
    time.sleep(0.1)
    os.kill(worker.pid, signal.SIGSTOP)
    with pytest.raises(Failed, match="ran while it was stopped"):
        worker.ask(LIMIT_MS, what="idle")


def test_nor_is_it_let_go_on_for_a_moment(start: Start) -> None:
    worker = start("")
    for _ in range(100):
        worker.ask(LIMIT_MS, what="idle")
    os.kill(worker.pid, signal.SIGCONT)
    with pytest.raises(Failed, match="ran while it was stopped"):
        worker.ask(LIMIT_MS, what="idle")


def test_a_request_that_no_socket_holds_is_read_before_it_is_sent_to_the_end(start: Start) -> None:
    assert start("").ask(LIMIT_MS, what="prepare", base=0, sets=[[{"value": "x" * 3_000_000}]], size=0) == {}


def test_the_first_call_of_a_case_may_take_longer_and_how_long_is_told_in_seconds(
    start: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "harness.py").write_text(HARNESS)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "harness", raising=False)
    worker = start("    time.sleep(0.5)\n")
    calls = CallSets(PythonHarness(), {"b": worker}, "one", "normal", {})
    monkeypatch.delitem(sys.modules, "harness")
    worker.first_ms = LIMIT_MS
    calls.run("b", 1, 1, 100)
    with pytest.raises(KernelProblem, match=r"no answer within 0\.1 s") as caught:
        calls.run("b", 1, 1, 100)
    assert caught.value.report["kind"] == "timeout"


def test_a_process_that_was_ended_between_two_requests_has_crashed(start: Start) -> None:
    worker = start("")
    worker.ask(LIMIT_MS, what="idle")
    os.kill(worker.pid, signal.SIGKILL)
    for what in ("idle", "prepare"):
        with pytest.raises(Failed) as caught:
            worker.ask(LIMIT_MS, what=what)
        assert (caught.value.kind, caught.value.number) == ("crash", signal.SIGKILL)


def test_a_worker_that_cannot_start_is_no_kernels_fault() -> None:
    worker = Worker(fork(), 1 << 20, ["no_library_is_called_so"], None, False, sys.path)
    with pytest.raises(NotStarted, match="no_library_is_called_so"):
        worker.start()
    worker.end()


def test_what_a_kernel_writes_for_a_while_goes_where_it_may_write(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(tempfile, "tempdir", tempfile.gettempdir())  # a worker changes it, and nothing changes it back
    for name in (*CACHES, "TMPDIR"):
        monkeypatch.setenv(name, "")
    assert tempfile.gettempdir() != str(tmp_path / "compiled/tmpdir")  # torch has asked before
    (tmp_path / "kernel.py").write_text("import tempfile\nPLACE = tempfile.mkdtemp()\nkernel = print\n")
    (tmp_path / "compiled").mkdir()
    kernels = Kernels(memoryview(b""), False)
    kernels.entry = "kernel"
    kernels.keep("b", "compiled")
    kernels.load("b", str(tmp_path))
    assert os.path.dirname(sys.modules["kernel_0"].PLACE) == str(tmp_path / "compiled/tmpdir")  # noqa: PTH120
    monkeypatch.delitem(sys.modules, "kernel_0")


@pytest.mark.parametrize(("into", "written"), [("own", True), ("anothers", False)])
def test_a_kernel_writes_in_the_folders_of_its_own_worker_alone(tmp_path: Path, into: str, written: bool) -> None:
    for name in ("own", "anothers"):
        (tmp_path / name).mkdir()
    (tmp_path / "kernel.py").write_text(
        f"def kernel():\n    open({str(tmp_path / into / 'compiled')!r}, 'w').close()\n"
    )
    worker = Worker(fork(), 1 << 20, [], [str(tmp_path / "own")], False, [*sys.path, str(tmp_path)])
    worker.start()
    worker.ask(LIMIT_MS, what="load", side="b", folder=str(tmp_path), entry="kernel", compiled="")
    worker.ask(LIMIT_MS, what="prepare", base=0, sets=[[]], size=0)
    with contextlib.suppress(Failed):
        run(worker)
    worker.end()
    assert (tmp_path / into / "compiled").exists() is written


@pytest.mark.parametrize(("spent", "left"), [(5000, 4000), (2000, 1000), (1998, 999), (900, 450), (1, 1)])
def test_at_least_half_of_a_batch_is_left_without_its_request(start: Start, spent: int, left: int) -> None:
    worker = start("")
    worker.idle = RequestCost(1000, 0), RequestCost(0, 0)
    assert without_request(worker, 1, spent) == left
