"""A check and a contest on a GPU, in one job, with libraries that pass for torch and for CUDA's driver."""

import json
from pathlib import Path
from typing import Any

import pytest

from kpd.measure.python.host.fresh import FEWEST_ON_A_GPU, PAIRS_ON_A_GPU
from kpd.measure.python.host.held import OVERWRITES
from kpd.measure.python.host.quick import AT_ONCE, QUADS
from tests.support.measure.on_a_gpu import OUT, RIGHT, environment, job

ALSO_RIGHT = RIGHT.replace("2 * a.array + b.array", "b.array + a.array + a.array")
COUNTS = "count = [0]\n\n\ndef kernel"
WRONG_LATER = "    count[0] += 1\n    if count[0] > 60:\n        out.array[0] += 1\n    return out\n"
CHECK, CONTEST = ("check", "b.zip", "1", "20000"), ("times", "a.zip", "b.zip", "1", "20000", "3")
LINES = "".join(f"{seed:x} {'ab'[seed % 2]} -\n" for seed in range(901, 904))


@pytest.fixture(name="environment", scope="module")
def _environment(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    return environment(tmp_path_factory.mktemp("cuda")) | {"KPD_IMPORTS": "numpy torch"}


def reports(folder: Path, environment: dict[str, str], candidate: str) -> list[dict[str, Any]]:
    """What the job prints."""
    ended = job(folder, environment, candidate, (*CHECK, "then", *CONTEST), "77\n" + LINES)
    assert not ended.stderr, ended.stderr
    return [json.loads(line) for line in ended.stdout.splitlines()]


def test_each_process_of_a_contest_times_both_kernels_and_finds_them_right(
    tmp_path: Path, environment: dict[str, str]
) -> None:
    check, *contest = reports(tmp_path, environment, ALSO_RIGHT)
    assert check["problem"] is None
    assert [one["problem"] for one in contest] == [None] * 3
    for one in contest:
        assert list(one["cases"]) == ["small", "large"]
        assert all(min(case["a_ns"] + case["b_ns"]) > 0 for case in one["cases"].values())
        assert {"context", "lay", "turn", "refresh", "results"} <= set(one["spent"])


def test_a_candidate_that_is_wrong_in_a_contest_ends_it(tmp_path: Path, environment: dict[str, str]) -> None:
    """It counts its calls: the check makes fewer than a process of a contest."""
    text = RIGHT.replace("def kernel", COUNTS).replace("    return out\n", WRONG_LATER)
    check, *contest = reports(tmp_path, environment, text)
    assert check["problem"] is None
    assert contest[-1]["problem"]["kind"] == "wrong"
    assert contest[-1]["problem"]["who"] == "candidate"


def test_a_candidate_that_overwrites_results_on_the_device_is_refused(
    tmp_path: Path, environment: dict[str, str]
) -> None:
    """More arrays in turn than a batch has calls: the repeats find it."""
    makes = f"def make(a, b):\n{OUT}    return out\nrings = {{}}\n"
    takes = """
    if a.shape not in rings:
        rings[a.shape] = itertools.cycle([make(a, b) for _ in range(40)])
    out = next(rings[a.shape])
"""
    text = "import itertools\n" + makes + RIGHT.replace(OUT, takes)
    ended = job(tmp_path, environment, text, ("repeat", "b.zip", "no", "200", "20000"), "77\n")
    problem = json.loads(ended.stdout)["problem"]
    assert (problem["message"], problem["who"]) == (OVERWRITES, "candidate")


def test_quick_processes_time_both_kernels_by_their_own_clock(tmp_path: Path, environment: dict[str, str]) -> None:
    """The last one is no quick one, and looks at results."""
    text = ALSO_RIGHT.replace("def kernel", COUNTS).replace("    return out\n", WRONG_LATER)
    lines = "".join(f"{seed:x} {'ab'[seed % 2]} {'q' if seed < 903 else '-'}\n" for seed in range(901, 904))
    ended = job(tmp_path, environment, text, (*CHECK, "then", *CONTEST), "77\n" + lines)
    check, *quick, last = [json.loads(line) for line in ended.stdout.splitlines()]
    assert [one["problem"] for one in (check, *quick)] == [None] * 3
    for one in quick:
        for case in one["cases"].values():
            assert case["quick"]
            assert 2 * AT_ONCE <= len(case["a_ns"]) == len(case["b_ns"]) <= 2 * QUADS
            assert min(case["a_ns"] + case["b_ns"]) > 0
            assert all(ns > 0 for ns in case["host_ns"])
        assert "results" not in one["spent"]
    assert (last["problem"]["kind"], last["problem"]["who"]) == ("wrong", "candidate")


@pytest.mark.parametrize(
    "said",
    [
        "[[10**12, 1]] * (2 * many)", "[[1, 1]]", "[[0, 0]] * (2 * many)", "'times'", "[[1, 10**400]] * (2 * many)",
        "[[9, 10]] * (2 * many)", "[[9, -1]] * (2 * many)", "[[9.0, 1]] * (2 * many)", "[[9, 1e999]] * (2 * many)",
        "[[True, True]] * (2 * many)", "['99'] * (2 * many)", "[[[9], 1]] * (2 * many)", "[[9, 1]] * (1 << 20)",
    ],
)  # fmt: skip
def test_times_that_cannot_be_are_the_candidate_s_fault(tmp_path: Path, environment: dict[str, str], said: str) -> None:
    forges = f"""
from kpd.measure.python.host import worker
worker.Kernels.quads = lambda self, gpu, order, base, count, rounds, many: dict.fromkeys(order, {said})
"""
    ended = job(tmp_path, environment, forges + ALSO_RIGHT, CONTEST, LINES.replace("-", "q"))
    problem = json.loads(ended.stdout.splitlines()[0])["problem"]
    assert (problem["kind"], problem["who"]) == ("forged", "candidate")


@pytest.mark.parametrize(("ms", "is_quick"), [(0.2, True), (150, False)])
def test_calls_that_take_long_are_timed_by_the_runner(
    tmp_path: Path, environment: dict[str, str], ms: float, is_quick: bool
) -> None:
    """All quads of a request would take longer than a batch may, which no call does here."""
    text = "import time\n" + ALSO_RIGHT.replace("    return out\n", f"    time.sleep({ms / 1000})\n    return out\n")
    commands = ("times", "b.zip", "b.zip", "1", "2000", "1")
    ended = job(tmp_path, environment, text, commands, LINES.splitlines()[0].replace("-", "q") + "\n")
    (report,) = map(json.loads, ended.stdout.splitlines())
    assert report["problem"] is None
    assert {case.get("quick", False) for case in report["cases"].values()} == {is_quick}


AUDIT = ("then", "times", "a.zip", "b.zip", "1", "20000", "3", "100", "1", "0", "3")
AUDITS = "901 a fresh\n902 a apart\n903 b apart\n"


def test_repeats_and_the_audits_after_them_import_once(tmp_path: Path, environment: dict[str, str]) -> None:
    repeats = ("repeat", "b.zip", "auto", "200", "20000")
    ended = job(tmp_path, environment, ALSO_RIGHT, (*repeats, *AUDIT), "77\n" + AUDITS)
    assert not ended.stderr, ended.stderr
    calls, fresh, *apart = map(json.loads, ended.stdout.splitlines())
    assert set(calls["calls"]) == {"small", "large"} and min(calls["calls"].values()) > 4
    assert "import" in calls["spent"]
    assert all(case["anew"] and case["compared"] for case in fresh["cases"].values())
    assert "mix" in fresh["spent"]
    assert [set(one["cases"]) for one in apart] == [{"small", "large"}] * 2
    assert not any("import" in one["spent"] or one["problem"] for one in (fresh, *apart))


@pytest.mark.parametrize("how", ["no", "auto"])
def test_audits_stand_among_the_processes_of_a_contest(tmp_path: Path, environment: dict[str, str], how: str) -> None:
    """That its own kernel would repeat its bits is asked of the task's only where results differ: here they do."""
    text = "import itertools\ncalls = itertools.count()\n" + RIGHT.replace(
        "    return out\n", "    out.array[0] *= 1 + 1e-6 * (next(calls) % 3)\n    return out\n"
    )
    among = ("then", "times", "a.zip", "b.zip", "1", "20000", "5", "100", "1", "1", "4", how, "200", "20000")
    lines = "77\n900 a -\n901 b repeat\n902 a fresh\n903 a apart\n904 b -\n"
    own = (f"own={tmp_path}/a.zip",)
    ended = job(tmp_path, environment, text, (*own, "check", "b.zip", "1", "20000", *among), lines)
    check, first, repeats, *rest = map(json.loads, ended.stdout.splitlines())
    assert check["comparisons"] and first["cases"]
    if how == "auto":
        assert "differ from call to call" in repeats["problem"]["message"] and not rest and ended.returncode == 1
        return
    fresh, apart, last = rest
    assert min(repeats["calls"].values()) > 4
    assert "mix" in fresh["spent"] and all(case["anew"] for case in fresh["cases"].values())
    assert [set(one["cases"]) for one in (apart, last)] == [{"small", "large"}] * 2
    assert not any(one["problem"] for one in (first, repeats, fresh, apart, last))


def test_a_kernel_finds_the_other_one_beside_it_unless_they_are_apart(
    tmp_path: Path, environment: dict[str, str]
) -> None:
    slows = """
others = [module.kernel for name, module in sys.modules.items() if name.startswith("kernel_")]
for other in (one for one in others if one is not kernel):
    other.__code__ = (lambda a, b: (time.sleep(0.01), own(a, b))[1]).__code__
    other.__globals__.update(time=time, own=kernel)
"""
    text = "import sys, time\n" + RIGHT + slows
    lines = "901 a -\n902 a apart\n903 b apart\n"
    ended = job(
        tmp_path, environment, text, ("times", "a.zip", "b.zip", "4", "20000", "3", "100", "4", "0", "3"), lines
    )
    assert not ended.stderr, ended.stderr
    together, *apart = map(json.loads, ended.stdout.splitlines())
    assert not any(one["problem"] for one in (together, *apart)) and len(apart) == 2
    for case in together["cases"].values():
        assert min(case["a_ns"]) > 5 * min(case["b_ns"])
    for case in (case for one in apart for case in one["cases"].values()):
        assert min(case["a_ns"]) < 3 * min(case["b_ns"])


def test_nothing_is_audited_of_what_is_wrong_in_the_repeats(tmp_path: Path, environment: dict[str, str]) -> None:
    repeats = ("repeat", "b.zip", "no", "5000", "20000")
    text = RIGHT.replace("def kernel", COUNTS).replace("    return out\n", WRONG_LATER)
    ended = job(tmp_path, environment, text, (*repeats, *AUDIT), "77\n" + AUDITS)
    (report,) = map(json.loads, ended.stdout.splitlines())
    assert (report["problem"]["kind"], report["problem"]["when"], ended.returncode) == ("wrong", "repeats", 1)


@pytest.mark.parametrize(("how", "told"), [("yes", True), ("no", False), ("auto", True)])
def test_bits_that_differ_are_refused_where_the_tasks_own_kernel_repeats_its_own(
    tmp_path: Path, environment: dict[str, str], how: str, told: bool
) -> None:
    """Only then is that one loaded."""
    text = "import itertools\ncalls = itertools.count()\n" + RIGHT.replace(
        "    return out\n", "    out.array[0] *= 1 + 1e-6 * (next(calls) % 3)\n    return out\n"
    )
    own = () if how != "auto" else (f"baseline={tmp_path}/a.zip",)
    ended = job(tmp_path, environment, text, (*own, "repeat", "b.zip", how, "200", "20000"), "77\n")
    problem = json.loads(ended.stdout)["problem"]
    assert (problem is not None and "differ from call to call" in problem["message"]) == told


@pytest.mark.parametrize("pieces", [3, 8])
def test_a_kernel_takes_memory_for_several_outputs_at_once(
    tmp_path: Path, environment: dict[str, str], pieces: int
) -> None:
    """Were one of them held in a contest, none of it would be given back, and later ones lay in other memory."""
    takes = f"""
    if not left.get(a.shape):
        left[a.shape] = [torch.Tensor(one, True) for one in torch.empty(({pieces}, *a.shape), a.dtype, 'cuda').array]
    out = left[a.shape].pop()
"""
    check, *contest = reports(tmp_path, environment, "left = {}\n" + RIGHT.replace(OUT, takes))
    assert check["problem"] is None
    assert [one["problem"] for one in contest] == [None] * 3


def test_an_audit_on_fresh_inputs_takes_as_many_pairs_as_there_is_time_for_on_a_gpu(
    tmp_path: Path, environment: dict[str, str]
) -> None:
    ended = job(tmp_path, environment, ALSO_RIGHT, ("fresh", "a.zip", "b.zip", "a", "100", "20000"), "77\n")
    report = json.loads(ended.stdout)
    assert report["problem"] is None
    for case in report["cases"].values():
        assert not case["apart"]
        assert FEWEST_ON_A_GPU <= len(case["a_ns"]) <= PAIRS_ON_A_GPU


@pytest.mark.parametrize("most_mib", [1, 4])
def test_a_device_that_is_full_is_told_as_that(tmp_path: Path, environment: dict[str, str], most_mib: int) -> None:
    """It has no room for what shows that memory can be shared, or for that and not for the inputs of a contest."""
    ended = job(tmp_path, environment | {"STANDIN_MOST": str(most_mib << 20)}, ALSO_RIGHT, CONTEST, LINES)
    full = "the GPU's driver refuses what a measurement needs: cuMemAlloc_v2: CUDA_ERROR_OUT_OF_MEMORY (2)"
    assert full in ended.stderr
    assert (ended.stdout, ended.returncode) == ("", 2)
