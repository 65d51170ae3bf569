"""Callables of a stranger, of tests/cheats, that are right and quick in what a check and a contest call for."""

import sys
from itertools import count
from pathlib import Path

import pytest

from kpd.hosts.host import Host
from kpd.measure.bench import CheckFailed
from kpd.measure.driver.bench import DriverBench
from kpd.model.defects import WrongValue
from kpd.model.sanitizer import ToolReport
from kpd.text.faults import wrong
from tests.places import ROOT, TESTS
from tests.support.measure.measured import local_host
from tests.support.measure.python_tasks import built, ready

pytestmark = pytest.mark.asyncio(loop_scope="module")
CORPUS, TASK = TESTS / "cheats" / "python", ROOT / "tasks" / "rmsnorm_py"
numbers = count()


@pytest.fixture(scope="module", name="host")
async def _host(tmp_path_factory):
    async with local_host(tmp_path_factory.mktemp("strangers") / "host") as host:
        yield host


@pytest.fixture(scope="module", name="bench")
async def _bench(host: Host, tmp_path_factory):
    yield await ready(host, rmsnorm(tmp_path_factory.mktemp("tasks")))


def rmsnorm(root: Path, kernel: str = "") -> Path:
    """The task that they are for, with this Python and a kernel of its own: none is the task's."""
    folder = root / TASK.name
    folder.mkdir()
    for file in TASK.iterdir():
        if file.is_file():
            (folder / file.name).write_text(file.read_text())
    with (folder / "task.toml").open("a") as file:
        file.write(f'\n[build]\npython = "{sys.executable}"\n')
    if kernel:
        (folder / "kernel.py").write_text(kernel)
    return folder


def cheat(name: str) -> dict[str, str]:
    quick = (CORPUS / "parts" / "quick_rmsnorm.py").read_text()
    return {"kernel.py": quick + (CORPUS / f"{name}.py").read_text()}


async def test_a_kernel_gets_views_that_nobody_else_has(bench: DriverBench) -> None:
    job = await built(bench, cheat("correctness/elide_view"))
    with pytest.raises(CheckFailed) as caught:
        await bench.check(job, f"check{next(numbers)}", print)
    assert "changes its input x" in wrong(caught.value.wrong)


async def test_inputs_that_are_zero_but_for_a_few_elements_are_not_taken_for_zero(bench: DriverBench) -> None:
    with pytest.raises(CheckFailed) as caught:
        for _ in range(4):
            await bench.repeat(await built(bench, cheat("correctness/pad_skip")), f"repeat{next(numbers)}", print)
    assert isinstance(caught.value.wrong.what, WrongValue)


async def test_a_number_that_is_an_argument_is_another_one_for_each_inputs(bench: DriverBench) -> None:
    job = await built(bench, cheat("correctness/eps_by_columns"))
    with pytest.raises(CheckFailed) as caught:
        await bench.check(job, f"check{next(numbers)}", print)
    assert "should be" in wrong(caught.value.wrong)


@pytest.mark.parametrize(
    ("name", "said"), [("correctness/few_inputs", "should be"), ("averages/known_arrays", "times as long")]
)
async def test_what_few_of_many_inputs_or_arrays_come_to_is_found_in_the_repeats(
    bench: DriverBench, name: str, said: str
) -> None:
    """Of inputs it is one of a thousand here: beside other work the one of 5,000 of the corpus is missed at times.

    A slow machine has fewer calls in each of the repeats, so there are several.
    """
    job = await built(bench, {"kernel.py": cheat(name)["kernel.py"].replace("% 5000", "% 1000")})
    with pytest.raises(CheckFailed) as caught:
        for _ in range(5):
            await bench.repeat(job, f"repeat{next(numbers)}", print)
    assert not caught.value.wrong.by_incumbent
    assert said in wrong(caught.value.wrong)


KEEPS = """
seen, one = {}, rmsnorm_silu


def rmsnorm_silu(x, weight, eps):
    if x.shape in LISTED:
        return one(x, weight, eps)
    key = bytes(x), bytes(weight), eps
    if key not in seen:
        seen[key] = one(x, weight, eps)
    return seen[key].copy()
"""


async def test_at_a_size_that_no_case_has_results_that_are_kept_help_nobody(bench: DriverBench) -> None:
    job = await built(bench, {"kernel.py": cheat("averages/slow_off_the_list")["kernel.py"] + KEEPS})
    with pytest.raises(CheckFailed) as caught:
        await bench.repeat(job, f"repeat{next(numbers)}", print)
    assert "times as long as the task's own kernel, at a size that no case has" in wrong(caught.value.wrong)


async def test_what_is_slow_at_a_size_that_no_case_has_is_found(bench: DriverBench, host: Host, tmp_path) -> None:
    job = await built(bench, cheat("averages/slow_off_the_list"))
    with pytest.raises(CheckFailed) as caught:
        await bench.repeat(job, f"repeat{next(numbers)}", print)
    assert "times as long as the task's own kernel, at a size that no case has" in wrong(caught.value.wrong)
    own = await ready(host, rmsnorm(tmp_path, cheat("averages/slow_off_the_list")["kernel.py"]))
    assert await own.repeat(await built(own), f"repeat{next(numbers)}", print), "the task's own is no quicker"


@pytest.mark.parametrize("name", ["wide_rows_sampled", "big_tail"])
async def test_what_is_wrong_far_beyond_the_cases_is_found(bench: DriverBench, host: Host, tmp_path, name: str) -> None:
    sampled = (CORPUS / "correctness" / f"{name}.py").read_text()
    assert bench.tools == ("overflow",)
    for _ in range(4):  # it is right at some of these sizes
        found = await looked_at(bench, await built(bench, {"kernel.py": sampled}))
        if found.errors:
            break
    assert (found.errors, found.trouble) == (1, "") and "elements wrong" in found.said
    own = await ready(host, rmsnorm(tmp_path, sampled))
    assert (await looked_at(own, await built(own))).errors == 0, "the task's own is wrong, too"


async def test_one_that_is_right_is_called_at_many_sizes_far_beyond_the_cases(bench: DriverBench) -> None:
    found = await looked_at(bench, await built(bench, cheat("honest/pool_of_outputs")))
    assert (found.errors, found.cases, found.trouble) == (0, found.of, "") and found.of >= 10


async def looked_at(bench: DriverBench, job: str) -> ToolReport:
    """Call the kernel far beyond the cases."""
    return await bench.sanitize(job, "overflow", f"far{next(numbers)}", 30.0, print)


async def test_a_result_of_which_only_a_view_is_left_is_overwritten_by_nobody(bench: DriverBench) -> None:
    for name in ("results/pool_kept_row_changes", "correctness/pool_slices"):
        with pytest.raises(CheckFailed, match="it overwrites a result that it has returned"):
            await bench.repeat(await built(bench, cheat(name)), f"repeat{next(numbers)}", print)
    pool = await built(bench, cheat("honest/pool_of_outputs"))
    assert await bench.repeat(pool, f"repeat{next(numbers)}", print)


async def test_rows_that_are_all_alike_are_no_single_row_in_memory(bench: DriverBench) -> None:
    job = await built(bench, cheat("results/equal_rows_stride0"))
    with pytest.raises(CheckFailed) as caught:
        for _ in range(4):  # few of its inputs are so
            await bench.repeat(job, f"repeat{next(numbers)}", print)
    assert isinstance(caught.value.wrong.what, WrongValue), "what lies between its elements is read as others"


MEMO = """
seen = {}


def rmsnorm_silu(x, weight, eps):
    key = x.tobytes()
    if key not in seen:
        seen[key] = quick(x, weight, eps)
    return seen[key]
"""


async def test_a_result_is_its_owners_who_may_overwrite_it(bench: DriverBench) -> None:
    kernel = cheat("parts/quick_rmsnorm")["kernel.py"] + MEMO
    with pytest.raises(CheckFailed, match="should be"):
        await bench.repeat(await built(bench, {"kernel.py": kernel}), f"repeat{next(numbers)}", print)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("memory/sign_blind_memo", "should be"),
        ("memory/ones_weight_fact", "should be"),
        ("correctness/weight_frozen_when_hot", "it leaves for reading only an array that is its caller's"),
    ],
)
async def test_what_a_program_meets_is_met_in_repeats(bench: DriverBench, name: str, said: str) -> None:
    with pytest.raises(CheckFailed, match=said):
        await bench.repeat(await built(bench, cheat(name)), f"repeat{next(numbers)}", print)


async def test_a_nan_is_kept_that_meets_zeros_only(bench: DriverBench) -> None:
    job = await built(bench, cheat("correctness/padded_rows_lose_nan"))
    with pytest.raises(CheckFailed, match="should be"):
        for _ in range(4):
            await bench.check(job, f"check{next(numbers)}", print)


async def test_what_keeps_memory_of_each_call_is_found(bench: DriverBench) -> None:
    job = await built(bench, cheat("correctness/cyclic_closure"))
    with pytest.raises(CheckFailed, match=r"it keeps memory of each call, \d+ MiB by now"):
        await bench.repeat(job, f"repeat{next(numbers)}", print)
    arena = await built(bench, cheat("honest/views_of_an_arena"))
    assert await bench.repeat(arena, f"repeat{next(numbers)}", print), "memory for many results at once"


async def test_at_sizes_that_are_drawn_no_kernel_has_to_be_better_than_the_tasks_own(host: Host, tmp_path) -> None:
    """It is wrong where no case is, and the other one is as well: these calls count for nobody."""
    only = f"{TASK.joinpath('kernel.py').read_text()}\nwhole = rmsnorm_silu\n\n\ndef rmsnorm_silu(x, weight, eps):\n"
    only += "    return whole(x, weight, eps) * (1 if x.shape in ((16, 2048), (128, 256), (256, 64)) else 2)\n"
    bench = await ready(host, rmsnorm(tmp_path, only))
    job = await built(bench)
    calls = await bench.repeat(job, f"repeat{next(numbers)}", print)
    assert min(calls[case] for case in ("wide", "square", "tall")) >= 4


async def test_an_honest_kernel_has_some_thousand_calls_on_new_inputs(bench: DriverBench) -> None:
    calls = await bench.repeat(await built(bench, cheat("honest/rows_at_once")), f"repeat{next(numbers)}", print)
    assert sum(many for case, many in calls.items() if case not in ("wide", "square", "tall")) > 1000
